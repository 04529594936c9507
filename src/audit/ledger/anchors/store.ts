import * as TE from 'fp-ts/lib/TaskEither.js'
import { invalidInput } from '../../../events/errors.ts'
import { unwrap, type Fallible, task } from '../../../result/fallible.ts'
import { pagesOf } from '../../../store/pages.ts'
import type { EventStore } from '../../../store/port.ts'
import type { Anchor, AnchorRequest } from '../anchors.ts'
import { anchorFailed, type LedgerError } from '../errors.ts'
import { ledgerStream } from '../facts.ts'
import { dataOf, lastOf, record } from '../stored-facts.ts'
import { originName } from './anchor-notes.ts'

const actor = { kind: 'sealer' }

/**
 * Returns an anchor that stores checkpoints in a stream of another store, to which the writers of this store must not have write
 * access. Rejects the store that holds the ledger itself, even under another URL.
 */
export const storeAnchor = (store: EventStore): Anchor => {
  const streamOf = (origin: string): string => `anchored-${originName(origin)}`
  const tried = <A>(work: () => Fallible<LedgerError, A>) =>
    TE.mapLeft(({ message, ...error }: LedgerError) => anchorFailed(store.url, `failed: ${message}`, error))(
      task(work),
    )

  async function* held(origin: string): Fallible<LedgerError, readonly string[]> {
    const last = yield* lastOf(store, ledgerStream)
    if (last && (yield* dataOf(last, 'LedgerBegun')).data.origin === origin)
      return yield invalidInput(
        'anchor',
        'the ledger is in the same store, so this anchor proves nothing: specify another store',
      )
    const notes: string[] = []
    for await (const page of pagesOf(store, streamOf(origin)))
      for (const event of yield* unwrap(page))
        notes.push((yield* dataOf(event, 'LedgerAnchored')).data.checkpoint)
    return notes
  }

  async function* put({ origin, size, checkpoint }: AnchorRequest): Fallible<LedgerError, string> {
    if ((yield* held(origin)).at(-1) === checkpoint) return checkpoint
    const data = { anchor: store.url, size, checkpoint }
    yield* record({ store, actor }, streamOf(origin), { type: 'LedgerAnchored', data })
    return checkpoint
  }

  return {
    name: store.url,
    held: (origin) => tried(() => held(origin)),
    put: (anchoring) => tried(() => put(anchoring)),
  }
}
