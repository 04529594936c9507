import './conversation.css'
import { useState } from 'preact/hooks'
import { usePins } from '../acts/pins.tsx'
import { useActs } from '../acts/use-acts.tsx'
import type { PageProps } from '../page.ts'
import { Bar, Failed } from '../states.tsx'
import { BarOfView } from './bar.tsx'
import { useStory } from './fetching/use-story.ts'
import { useWaiting } from './fetching/use-waiting.ts'
import { Inspector } from './inspector.tsx'
import { Reading } from './reading.tsx'
import { Ribbon } from './ribbon/ribbon.tsx'
import type { HistoryRow } from './rows.ts'
import { Search } from './search/search.tsx'
import { Top } from './top.tsx'
import { useFinding } from './use-finding.ts'
import { useHandlers } from './use-handlers.tsx'
import { useMoves } from './use-moves.ts'
import { useOpening } from './use-opening.ts'
import { useRows } from './use-rows.ts'
import { useSelected } from './use-selected.ts'
import { useSight } from './use-sight.ts'

/** Shows a conversation. Everything is read again when content is erased, so that the page keeps nothing of it. */
export const ConversationPage = (props: PageProps) => {
  const [erasures, setErasures] = useState(0)
  return <Shown key={erasures} {...props} onErased={() => setErasures(erasures + 1)} />
}

const Shown = ({
  source,
  params: { id = '' },
  search,
  onErased,
}: PageProps & { readonly onErased: () => void }) => {
  const sight = useSight(source, id, search, onErased)
  const { view, at, last, outline, overview } = sight
  const moves = useMoves(source, id, sight)
  const shown = useRows(source, id, sight)
  const selected = useSelected(shown.rows, view, moves)
  const finding = useFinding(source, id, view, moves, selected)
  const { row } = selected
  const position = row?.position ?? at ?? -1
  const doing = useHandlers({ source, id, sight, moves, shown, selected, finding, position })
  const { handlers, inspector } = doing
  usePins(id, at)
  useOpening(sight, shown, moves, selected)
  const story = useStory(source, id, row?.kind === 'group' ? row.position : undefined)
  const acts = useActs({
    source,
    id,
    last: last ?? -1,
    at: at ?? -1,
    first: sight.value?.items[1]?.position,
    through: row?.kind === 'same' ? row.position : sight.value?.items.at(-1)?.position,
    marker: markerOf(row, shown.markers.at(-1)?.position),
  })
  const letter = outline && at !== undefined ? outline.kinds[at - outline.from] : undefined
  const isAtCall = letter === 'c' && at === last
  const waiting = useWaiting(source, id, isAtCall ? last : undefined)
  // A first view asks for at most six things: where calls wait, not for earlier decisions.
  const hasDecisions = !isAtCall || waiting?.length === 0

  if (!sight.isAnswered && sight.error !== undefined)
    return <Missing error={sight.error} retry={sight.again} />
  const isSplit = shown.hiddenCount > 0 || shown.rows.some(({ kind }) => kind !== 'same' && kind !== 'repair')
  return (
    <>
      <Bar isBusy={sight.isBusy} />
      <Top
        {...{ id, sight }}
        isLive={source.isLive}
        onGo={(to) => moves.jump(to)}
        onFollow={() => moves.jump(sight.isFollowing ? at : undefined)}
      />
      <main
        class="conversation"
        data-link={location.href}
        data-inspector={inspector}
        data-pane={view.pane}
        data-split={isSplit}
        style={{ '--digits': String(last ?? '').length }}
      >
        {outline && at !== undefined && last !== undefined && last >= 0 ? (
          <Ribbon
            {...{ outline, overview, at, last }}
            paths={shown.paths}
            hits={finding.positions}
            limit={shown.markers.findLast(({ policy }) => policy?.of === 'context')?.policy?.allowed}
            onMove={moves.move}
            onStep={(key) => handlers[key]?.()}
          />
        ) : (
          <div class="ribbon">
            {sight.outlineError === undefined ? (
              <>
                <div class="band" />
                <div class="legend">&nbsp;</div>
              </>
            ) : (
              <Failed error={sight.outlineError} retry={sight.again} />
            )}
          </div>
        )}
        <BarOfView {...{ sight, shown, finding }} {...doing} />
        {finding.isOpen && (
          <Search finding={finding} words={view.find ?? ''} current={view.sel ?? at ?? -1} />
        )}
        <Reading
          {...{ source, id, sight, shown, selected, doing, isSplit, waiting, hasDecisions, acts, story }}
        />
        {at !== undefined && last !== undefined && (
          <Inspector
            here={{ source, conversation: id, at, last, selected: position, outline }}
            newest={sight.newest}
            possible={handlers}
            off={acts.off}
            row={row}
            story={story}
            reveal={doing.reveal}
          />
        )}
      </main>
    </>
  )
}

/**
 * Returns the position of a row's marker, or of the marker that hides the row.
 *
 * @param otherwise result for a row without such a marker
 */
const markerOf = (row: HistoryRow | undefined, otherwise: number | undefined): number | undefined =>
  row?.kind === 'group' ? row.position : row && 'group' in row ? row.group : otherwise

interface MissingProps {
  readonly error: unknown
  readonly retry: () => void
}
const Missing = ({ error, retry }: MissingProps) => (
  <main class="plain">
    <Failed error={error} retry={retry} />
  </main>
)
