import * as E from 'fp-ts/lib/Either.js'
import { run, unwrap, type Fallible } from '../../result/fallible.ts'
import type { StoreError } from '../errors.ts'
import type { EventStore } from '../port.ts'
import { checkHasKeys } from './store-secret.ts'

/**
 * Fails with `StoreDenied` if a stream would begin in the open, because the store is sealed and was opened without its keys.
 *
 * @returns true if the store is not sealed, so that no other stream need be checked
 */
export async function* checkBeginning(
  store: Pick<EventStore, 'read' | 'isSealed' | 'url'>,
  stream: string,
): Fallible<StoreError, boolean> {
  const checked = await run(checkHasKeys(store))
  if (E.isRight(checked)) return true
  // The writer may not know that the stream has begun: the append then conflicts, or repeats what is there.
  const [first] = yield* unwrap(store.read({ stream, from: 0, direction: 'forwards', limit: 1 }))
  return first ? false : yield checked.left
}
