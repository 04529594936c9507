import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { unwrap, type Fallible, task } from '../result/fallible.ts'
import { invalidInput } from '../events/errors.ts'
import { isConversationId } from '../events/ids.ts'
import { type CopyResult, copyBetween, type CopyOptions } from '../transfer/copy.ts'
import type { CopyError } from '../transfer/copy-stream.ts'
import { checkOptions, isListOf, kinds } from '../store/options.ts'
import type { StoreAdapter } from '../store/port.ts'
import type { UnknownScheme } from '../store/schemes.ts'
import { indexPlaceOf, openEvents, renewIndexAt } from './open.ts'

/**
 * Source and target of a copy: store URLs (see `openStore`) or open `StoreAdapter`s, which stay open. The source must exist; the target
 * is created if it does not.
 */
export interface CopyConversations extends CopyOptions {
  readonly from: string | StoreAdapter
  readonly to: string | StoreAdapter
}

const optionFields = { from: kinds.anything, to: kinds.anything, ids: kinds.anything, progress: kinds.call }

/**
 * Copies conversations between two stores of any kind, byte for byte and at the same positions, and verifies the copies. Content that
 * was erased in the source since an earlier copy is erased in the target, too. The copy may be interrupted at any moment: running it
 * again continues where it stopped.
 *
 * The result has the outcome of each conversation: check `error`. The whole copy fails if a store cannot be opened or the source cannot
 * be read.
 */
export const copyConversations = (
  options: CopyConversations,
): TaskEither<CopyError | UnknownScheme, readonly CopyResult[]> => task(() => copying(options))

async function* copying(
  options: CopyConversations,
): Fallible<CopyError | UnknownScheme, readonly CopyResult[]> {
  if (!isSource(options?.from) || !isSource(options.to))
    return yield invalidInput('options', 'must be { from, to }: each a store URL or an open store')
  const { ids } = options
  if (ids !== undefined && !isListOf(ids, isConversationId))
    return yield invalidInput(
      'ids',
      'must be a list of conversation ids, each with 1 to 200 characters of A–Z a–z 0–9 . _ : -',
    )
  yield* unwrap(checkOptions(options, optionFields))
  const from = yield* unwrap(openEvents(options.from, false))
  try {
    const to = yield* unwrap(openEvents(options.to, 'late'))
    try {
      const renewIndex = (): Promise<void> => renewIndexAt(indexPlaceOf(to.adapter))
      return yield* copyBetween(from, to, { ...options, adapter: to.adapter, renewIndex })
    } finally {
      if (typeof options.to === 'string') await to.close()()
    }
  } finally {
    if (typeof options.from === 'string') await from.close()()
  }
}

const isSource = (source: unknown): boolean =>
  typeof source === 'string' || (typeof source === 'object' && source !== null)
