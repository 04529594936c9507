import { closeSheet, Sheet } from '../sheet.tsx'
import { Failed, Skeleton, useFetched } from '../states.tsx'
import { ActSheet } from './act-sheet.tsx'
import { type ActDraft, titles } from './acts.ts'
import type { ActTarget } from './dry-run.ts'
import { type UndoStacks, undoCommand, undoStacksOf } from './undo-stacks.ts'
import { apiOf } from '../url.ts'

/** Number of recent events that are searched for the event to undo, and therefore the maximum number of consecutive undos. */
const lookedAt = 200

interface UndoSheetProps {
  readonly acting: ActTarget
  readonly way: keyof UndoStacks
  readonly done: (draft: ActDraft) => void
}

/** Shows the effects of an undo or redo. Loads recent events to find the event to undo or redo. */
export const UndoSheet = ({ acting, way, done }: UndoSheetProps) => {
  const query = { direction: 'backward', limit: lookedAt, clip: 100 } as const
  const path = apiOf(acting.id, '/events', query)
  const { value, error, retry } = useFetched(acting.source, path)
  const command = value && undoCommand(undoStacksOf(value.items.toReversed()), way)
  if (command) {
    const { to, reason } = command
    return (
      <ActSheet
        acting={{ ...acting, last: value.last }}
        draft={{ act: 'rewind', to, reason, way }}
        done={done}
      />
    )
  }
  return (
    <Sheet
      title={titles[way]}
      actions={
        <button type="button" onClick={closeSheet}>
          Cancel
        </button>
      }
    >
      {value && <p>There is nothing to {way} since the last message.</p>}
      {error !== undefined && <Failed error={error} retry={retry} />}
      {!value && error === undefined && <Skeleton rows={3} />}
    </Sheet>
  )
}
