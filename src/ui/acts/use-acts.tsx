import { openPart } from '../part.tsx'
import { go } from '../router.ts'
import { announce } from '../announcer.tsx'
import { hrefs } from '../url.ts'
import { useActions } from '../use-keys.ts'
import { type ActDraft, describeDone } from './acts.ts'
import type { ActTarget } from './dry-run.ts'
import { offBecause } from './preview.ts'
import { toast } from './toast.tsx'
import type { UndoStacks } from './undo-stacks.ts'

/** Conversation and selection that commands apply to. */
export interface ActSelection extends ActTarget {
  /** Current position: the target of a rewind or fork. */
  readonly at: number
  /** Positions of the first and last items to condense or truncate; undefined without a selection. */
  readonly first?: number | undefined
  readonly through?: number | undefined
  /** Position of the selected marker, or of the marker that covers the selection. */
  readonly marker?: number | undefined
}

export interface Acts {
  /** Reason why commands are disabled; undefined if they are enabled. */
  readonly off: string | undefined
  readonly rewind: () => void
  readonly fork: () => void
  readonly condense: () => void
  readonly truncate: () => void
  readonly restore: () => void
  readonly undo: () => void
  readonly redo: () => void
  /** Forks at another position than the current one. */
  readonly forkAt: (position: number) => void
}

/** Registers the keys R F C T U z Z, each of which opens a sheet that shows a command's effects. Returns the same functions for buttons. */
export const useActs = (seen: ActSelection): Acts => {
  const off = offBecause(seen.source.isLive, seen.source.access())
  const { at, first = at, through = at, marker = at } = seen
  const able = (act: () => void) => (): void => {
    if (off === undefined) act()
    else announce(off)
  }
  const acts = {
    rewind: able(() => open(seen, { act: 'rewind', to: at, reason: '' })),
    fork: able(() => open(seen, { act: 'fork', at, id: `${seen.id}-${at}` })),
    condense: able(() => open(seen, { act: 'condense', first, last: through, summary: '' })),
    truncate: able(() => open(seen, { act: 'truncate', first, last: through, reason: '' })),
    restore: able(() => open(seen, { act: 'restore', marker })),
    undo: able(() => undo(seen, 'undo')),
    redo: able(() => undo(seen, 'redo')),
  }
  useActions(acts)
  const forkAt = (position: number): void =>
    able(() => open(seen, { act: 'fork', at: position, id: `${seen.id}-${position}` }))()
  return { off, ...acts, forkAt }
}

/** Opens the sheet for a command. The sheet's code is loaded on first use. */
const open = (acting: ActTarget, draft: ActDraft): void =>
  openPart(import('./sheets.ts'), ({ ActSheet }) => (
    <ActSheet acting={acting} draft={draft} done={(done) => tell(acting, done)} />
  ))

/** Shows a toast about the completed command, with a button to undo it. */
const tell = (acting: ActTarget, draft: ActDraft): void => {
  const { id } = acting
  if (draft.act === 'fork') {
    go(hrefs.conversation(draft.id))
    toast(
      <span>
        {describeDone(draft)}, from <a href={hrefs.conversation(id, { at: draft.at })}>{id}</a>
      </span>,
    )
    return
  }
  go(hrefs.conversation(id))
  const back = draft.act === 'rewind' && draft.way === 'undo' ? 'redo' : 'undo'
  toast(
    <span>
      {describeDone(draft)} ·{' '}
      <button type="button" class="link" onClick={() => undo(acting, back)}>
        {back === 'undo' ? 'Undo' : 'Redo'} <kbd>{back === 'undo' ? 'z' : 'Z'}</kbd>
      </button>
    </span>,
  )
}

/** Opens the sheet that undoes or redoes an event. */
const undo = (acting: ActTarget, way: keyof UndoStacks): void =>
  openPart(import('./sheets.ts'), ({ UndoSheet }) => (
    <UndoSheet acting={acting} way={way} done={(done) => tell(acting, done)} />
  ))
