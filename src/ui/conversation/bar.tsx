import { TextSwitch } from '../blocks/text-switch.tsx'
import { Glyph } from '../head/glyphs.tsx'
import { NotIndexed, Stopped } from '../states.tsx'
import { perform } from '../use-keys.ts'
import type { Pane, ConversationViewState } from '../url.ts'
import { brief, count, number, placeOf } from '../words.ts'
import { mayRewindBefore } from './steps.ts'
import type { SearchControls } from './use-finding.ts'
import type { PositionView } from './use-rows.ts'
import type { Sight } from './use-sight.ts'

const paneNames: Readonly<Record<Pane, string>> = {
  all: 'What happened',
  both: 'Both',
  model: 'What the model sees',
}

interface BarOfViewProps {
  readonly sight: Sight
  readonly shown: PositionView
  readonly finding: SearchControls
  readonly isInspected: boolean
  readonly showPane: (pane: Pane) => void
  readonly reveal: (position: number) => void
}

/** Describes the current view, and shows the buttons that switch it. */
export const BarOfView = ({ sight, shown, finding, isInspected, showPane, reveal }: BarOfViewProps) => (
  <div class="bar-of-view">
    <Stopped connection={sight.connection} />
    {!isStopped(sight) && <NotIndexed {...sight.outline} />}
    <Steps {...{ sight, reveal }} />
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

/** Shows the number of markers and errors, with buttons that select the next and the previous one. */
const Steps = ({ sight, reveal }: Pick<BarOfViewProps, 'sight' | 'reveal'>) => {
  const { outline, overview, view, at = -1 } = sight
  if (!outline) return null
  const isWhole = outline.from === 0 && outline.to >= outline.last
  const totalIn = (own: readonly number[], all: readonly number[] | undefined): number =>
    isWhole ? own.length : Math.max(own.length, all?.reduce((sum, some) => sum + some, 0) ?? 0)
  const markers = outline.markers.map(({ position }) => position)
  const current = view.sel ?? at
  // A marker has its own sign; several have the sign of condensing, unless all were truncated.
  const kinds = outline.markers.filter(({ position }) => position === current)
  const isCut = (kinds.length > 0 ? kinds : outline.markers).every(({ kind }) => kind === 'truncated')
  const sign = isCut && markers.length > 0 ? 'truncated' : 'condensed'
  const parts = [
    ['Marker', sign, markers, totalIn(markers, overview?.markers), 'previousMarker', 'nextMarker'],
    [
      'Error',
      'error',
      outline.failed,
      totalIn(outline.failed, overview?.failed),
      'previousError',
      'nextError',
    ],
  ] as const
  return (
    <div class="steps">
      {parts.map(([name, tone, own, total, previous, next]) => {
        if (total === 0) return null
        const nth = isWhole ? own.indexOf(current) + 1 : 0
        const [first] = own
        return (
          <span key={name} class={`step tone-${tone}`}>
            <button
              type="button"
              aria-label={`previous ${name.toLowerCase()}`}
              onClick={() => perform(previous)}
            >
              ‹
            </button>
            <button
              type="button"
              class="figures"
              title={`go to the first ${name.toLowerCase()}`}
              onClick={() => (isWhole && first !== undefined ? reveal(first) : perform(previous))}
            >
              <Glyph name={tone} />{' '}
              {nth > 0 ? `${name} ${number(nth)} of ${number(total)}` : count(total, name.toLowerCase())}
            </button>
            <button type="button" aria-label={`next ${name.toLowerCase()}`} onClick={() => perform(next)}>
              ›
            </button>
          </span>
        )
      })}
    </div>
  )
}

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

/** Returns the parts of the status line: tokens, items and hidden messages. */
const statusOf = (
  { outline, overview, at, value }: Sight,
  { hiddenCount }: PositionView,
): readonly string[] => {
  const index = outline && at !== undefined ? at - outline.from : undefined
  return [
    ...(at !== undefined && at < 0 ? [placeOf(at)] : []),
    ...(index === undefined ? [] : [`about ${brief(outline?.tokens[index] ?? 0)} tokens`]),
    ...(value ? [`${count(value.total, 'item')} seen`] : []),
    ...(value && hiddenCount > 0 ? [`${number(hiddenCount)} hidden`] : []),
    ...(outline && mayRewindBefore(outline.from, overview)
      ? [`branches abandoned before ${number(outline.from)} are not shown`]
      : []),
  ]
}
