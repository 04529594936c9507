import { closeSheet, Sheet } from '../sheet.tsx'
import { Failed, Skeleton, useFetched } from '../states.tsx'
import { ActSheet } from './act-sheet.tsx'
import { type ActDraft, titles } from './acts.ts'
import type { ActTarget } from './dry-run.ts'
import { type UndoStacks, undoingCommand, undoingOf } from './undoing.ts'
import { apiOf } from '../url.ts'

/** How many of the last events are looked at: so many acts in a row can be undone. */
const lookedAt = 200

interface UndoSheetProps {
  readonly acting: ActTarget
  readonly way: keyof UndoStacks
  /** Called once it is done. */
  readonly done: (draft: ActDraft) => void
}

/** Looks for what there is to undo, or to do again, and shows what that would do. */
export const UndoSheet = ({ acting, way, done }: UndoSheetProps) => {
  const query = { direction: 'backward', limit: lookedAt, clip: 100 } as const
  const path = apiOf(acting.id, '/events', query)
  const { value, error, retry } = useFetched(acting.source, path)
  const command = value && undoingCommand(undoingOf(value.items.toReversed()), way)
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
