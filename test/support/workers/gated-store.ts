import * as E from 'fp-ts/lib/Either.js'
import type { AppendRequest, EventStore } from '../../../src/store/port.ts'
import type { Scheduler } from './scheduler.ts'

/** What is taken away from the protocol, to see that the judge notices. */
export type Without = 'fence' | 'claim' | undefined

/** The store as one process sees it: each call, each answer to an append, and each event that it follows is let through by the scheduler. */
export const gatedStore = (
  store: EventStore,
  who: string,
  { gate, isDead }: Scheduler,
  without?: Without,
): EventStore => {
  const gated =
    <A extends readonly unknown[], B>(method: (...args: A) => () => Promise<B>) =>
    (...args: A) =>
    async (): Promise<B> => {
      await gate(who)
      return method(...args)()
    }

  const written = async (request: AppendRequest) => {
    const answer = await store.append(request)()
    if (!E.isLeft(answer) || answer.left._tag !== 'Conflict') return answer
    const { actual } = answer.left
    return without === 'fence' && request.stream.startsWith('conversation-')
      ? store.append({ ...request, expected: actual })()
      : answer
  }

  return {
    ...store,
    append: (request) => async () => {
      await gate(who)
      const isClaim = request.events.some(({ type }) => type === 'TurnClaimed')
      const answer = without === 'claim' && isClaim ? E.right('written' as const) : await written(request)
      await gate(who)
      return answer
    },
    read: gated(store.read),
    find: gated(store.find),
    changed: gated(store.changed),
    readAll: gated(store.readAll),
    follow: async function* (options) {
      for await (const followed of store.follow(options)) {
        await gate(who)
        if (isDead(who)) return
        yield followed
      }
    },
  }
}
