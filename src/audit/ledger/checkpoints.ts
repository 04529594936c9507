import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import { hashBytes } from './hashes.ts'
import { type SignedNote, parseNote } from './notes.ts'

/** Size and root hash of a log (C2SP tlog-checkpoint). A signed checkpoint is a note. */
export interface LedgerCheckpoint {
  /** Permanent and globally unique name of the log. */
  readonly origin: string
  /** Number of leaves in the log. */
  readonly size: number
  readonly root: Buffer
}

export const checkpointText = ({ origin, size, root }: LedgerCheckpoint): string =>
  `${origin}\n${size}\n${root.toString('base64')}\n`

/** Parses the text of a checkpoint. Ignores extension lines after the first three. */
export const parseCheckpoint = (text: string): E.Either<InvalidInput, LedgerCheckpoint> => {
  const [origin = '', size = '', coded = '', ...rest] = text.split('\n')
  const root = Buffer.from(coded, 'base64')
  const isRight =
    origin !== '' &&
    /^(0|[1-9][0-9]{0,14})$/.test(size) &&
    root.length === hashBytes &&
    root.toString('base64') === coded &&
    rest.at(-1) === '' &&
    rest.slice(0, -1).every((line) => line !== '')
  return isRight
    ? E.right({ origin, size: Number(size), root })
    : E.left(
        invalidInput('checkpoint', 'must be three lines: an origin, a size, and the root hash in base64'),
      )
}

/** Parses a signed note whose text is a checkpoint. Does not verify the signatures. */
export const readCheckpoint = (
  text: string,
): E.Either<InvalidInput, { readonly note: SignedNote; readonly checkpoint: LedgerCheckpoint }> =>
  pipe(
    parseNote(text),
    E.flatMap((note) =>
      E.map((checkpoint: LedgerCheckpoint) => ({ note, checkpoint }))(parseCheckpoint(note.text)),
    ),
  )
