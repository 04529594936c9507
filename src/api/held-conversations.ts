import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { createHoldFinder, type HeldConversation } from '../conversation/beside/hold-finder.ts'
import { type Fallible, task, unwrap } from '../result/fallible.ts'
import { openEvents } from './open.ts'
import type { OpenError } from './schemes.ts'

export type { HeldConversation } from '../conversation/beside/hold-finder.ts'

/** Returns the conversations of a store that are under a legal hold, in order of their ids. */
export const heldConversations = (url: string): TaskEither<OpenError, readonly HeldConversation[]> =>
  task(async function* (): Fallible<OpenError, readonly HeldConversation[]> {
    const store = yield* unwrap(openEvents(url, false))
    try {
      return yield* createHoldFinder(store).held()
    } finally {
      await store.close()()
    }
  })
