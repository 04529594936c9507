import { TextSwitch } from '../blocks/text-switch.tsx'
import { NotIndexed, Stopped } from '../states.tsx'
import { perform } from '../use-keys.ts'
import type { Pane, ConversationViewState } from '../url.ts'
import { brief, count, kindOf, number, placeOf } from '../words.ts'
import type { PathRange } from './path.ts'
import { mayRewindBefore } from './steps.ts'
import type { SearchControls } from './use-finding.ts'
import type { PositionView } from './use-rows.ts'
import type { Sight } from './use-sight.ts'

const paneNames: Readonly<Record<Pane, string>> = { all: 'All', both: 'Both', model: 'Model' }

interface BarOfViewProps {
  readonly sight: Sight
  readonly shown: PositionView
  readonly finding: SearchControls
  readonly isInspected: boolean
  readonly showPane: (pane: Pane) => void
}

/** Describes the current view, and shows the buttons that switch it. */
export const BarOfView = ({ sight, shown, finding, isInspected, showPane }: BarOfViewProps) => (
  <div class="bar-of-view">
    <Stopped connection={sight.connection} />
    {!isStopped(sight) && <NotIndexed {...sight.outline} />}
    <p class="status figures">{statusOf(sight, shown).join(' · ')}</p>
    <div class="switches">
      <Panes view={sight.view} showPane={showPane} />
      <TextSwitch form={sight.view.text} change={() => perform('text')} />
      <Toggle name="Details" isOn={isInspected} press={() => perform('inspector')} />
      <Toggle name="Search" isOn={finding.isOpen} press={finding.isOpen ? finding.close : finding.open} />
    </div>
  </div>
)

const isStopped = ({ connection }: Sight): boolean =>
  connection.state === 'offline' && connection.why !== undefined

const Panes = ({
  view,
  showPane,
}: {
  readonly view: ConversationViewState
  readonly showPane: (pane: Pane) => void
}) => (
  <div class="switch" role="radiogroup" aria-label="Show">
    {(['all', 'both', 'model'] as const).map((pane) => (
      <button
        key={pane}
        type="button"
        role="radio"
        aria-checked={view.pane === pane}
        onClick={() => showPane(pane)}
      >
        {paneNames[pane]}
      </button>
    ))}
  </div>
)

interface ToggleProps {
  readonly name: string
  readonly isOn: boolean
  readonly press: () => void
}
const Toggle = ({ name, isOn, press }: ToggleProps) => (
  <button type="button" class="toggle" aria-pressed={isOn} onClick={press}>
    {name}
  </button>
)

/** Returns the parts of the status line: the kind of the current event, tokens, items and hidden messages. */
const statusOf = (
  { outline, overview, at, value }: Sight,
  { paths, hiddenCount }: PositionView,
): readonly string[] => {
  const index = outline && at !== undefined ? at - outline.from : undefined
  const letter = index === undefined ? undefined : outline?.kinds[index]
  return [
    ...(at !== undefined && at < 0 ? [placeOf(at)] : []),
    ...(letter === undefined ? [] : [kindOf(letter)]),
    ...(index === undefined ? [] : [`about ${brief(outline?.tokens[index] ?? 0)} tokens`]),
    ...(outline?.from === 0 && at !== undefined
      ? [`${count(lengthOf(paths.stretches(at)), 'event')} on path`]
      : []),
    ...(value ? [`${count(value.total, 'item')} seen`] : []),
    ...(value && hiddenCount > 0 ? [`${number(hiddenCount)} hidden`] : []),
    ...(outline && mayRewindBefore(outline.from, overview)
      ? [`branches abandoned before ${number(outline.from)} are not shown`]
      : []),
  ]
}

const lengthOf = (stretches: readonly PathRange[]): number =>
  stretches.reduce((sum, { from, to }) => sum + to - from + 1, 0)
