import * as E from 'fp-ts/lib/Either.js'
import { toError } from './errors.ts'
import { type AllRange, type EventStore, type Followed, type FollowOptions, maxPage } from './port.ts'
import type { Pulse } from './pulse.ts'

/** How a store that can only be asked is followed. */
export interface Source {
  readonly readAll: EventStore['readAll']
  /** Beats when this process has written or closed the store. */
  readonly pulse: Pulse
  readonly isClosed: () => boolean
  /** How long a write of another process may go unseen, in milliseconds. */
  readonly pollInterval: number
}

/** Catch-up, then live, over reads: the `follow` of stores without subscriptions of their own. Ends when the store is closed. */
export async function* followReads(source: Source, options: FollowOptions): AsyncGenerator<Followed, void> {
  const { prefixes, signal } = options
  let { after } = options
  while (!signal?.aborted && !source.isClosed()) {
    const seen = source.pulse.beats()
    const range: AllRange = { after, limit: maxPage, ...(prefixes && { prefixes }) }
    const page = await source.readAll(range)()
    if (E.isLeft(page)) {
      if (page.left._tag === 'StoreClosed') return
      throw toError(page.left)
    }
    for (const event of page.right.events) {
      if (signal?.aborted) return
      yield { type: 'event', event, checkpoint: event.checkpoint }
    }
    const { checkpoint = after } = page.right
    if (checkpoint === after) await source.pulse.next(seen, source.pollInterval, signal)
    else if (checkpoint !== page.right.events.at(-1)?.checkpoint && checkpoint !== undefined)
      yield { type: 'checkpoint', checkpoint }
    after = checkpoint
  }
}
