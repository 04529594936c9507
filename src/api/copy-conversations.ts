import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { invalidInput } from '../events/errors.ts'
import { isConversationId } from '../events/ids.ts'
import { type Copied, copyBetween, type CopyOptions } from '../jobs/copy.ts'
import type { CopyError } from '../jobs/copy-stream.ts'
import { checkedOptions, isListOf, kinds } from '../store/options.ts'
import { openEvents } from './open.ts'

/** What to copy: see `openStore` for URLs. The source must be there; the target is created if it is not. */
export interface CopyConversations extends CopyOptions {
  readonly from: string
  readonly to: string
}

const optionFields = { from: kinds.text, to: kinds.text, ids: kinds.anything, progress: kinds.call }

/**
 * Copies conversations between two stores of any kind, to the byte and at the same positions, and verifies the copies. Copying again
 * goes on where the last copy ended, so it may be interrupted at any moment.
 *
 * What became of each conversation is in the answer, failures too: look at `error`. Errors of the whole: a store cannot be opened,
 * or the source cannot be read.
 */
export const copyConversations =
  (options: CopyConversations): TaskEither<CopyError, readonly Copied[]> =>
  async () => {
    if (typeof options?.from !== 'string' || typeof options.to !== 'string')
      return E.left(invalidInput('options', 'must be { from, to }: the URLs of two stores'))
    const { ids } = options
    if (ids !== undefined && !isListOf(ids, isConversationId))
      return E.left(
        invalidInput('ids', 'is a list of conversation ids, of 1 to 200 characters of A–Z a–z 0–9 . _ : -'),
      )
    const checked = checkedOptions(options, optionFields)
    if (E.isLeft(checked)) return checked
    const from = await openEvents(options.from, false)()
    if (E.isLeft(from)) return from
    const to = await openEvents(options.to)()
    if (E.isRight(to)) {
      const copied = await copyBetween(from.right, to.right, options)
      await to.right.close()()
      await from.right.close()()
      return copied
    }
    await from.right.close()()
    return to
  }
