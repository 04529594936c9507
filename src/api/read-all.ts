import * as E from 'fp-ts/lib/Either.js'
import { decode } from '../events/codec.ts'
import { conversationOf, streamOf } from '../events/ids.ts'
import type { OnUnreadable } from '../conversation/beside/note-index.ts'
import { loadLineage } from '../conversation/reading/lineage.ts'
import { orThrow } from '../result/fallible.ts'
import { toError } from '../result/typed-error.ts'
import { breath, pacer } from '../store/breath.ts'
import { createLruCache } from '../store/lru.ts'
import { checkedOptions } from '../store/given.ts'
import { type OptionKinds, kinds, oneOf } from '../store/options.ts'
import { allPages } from '../store/pages.ts'
import type { Checkpoint, EventStore, FollowOptions, RecordedEvent } from '../store/port.ts'
import { readTo } from '../agent/workers/board/feed.ts'
import type { FollowConversations, FollowedEvent, ReadAllOptions, StreamedEvent, TaskStore } from './store.ts'

export const readers = (events: EventStore): Pick<TaskStore, 'readAll' | 'follow'> => {
  const placedBy = placer(events)

  async function* readAll(options?: ReadAllOptions): AsyncGenerator<StreamedEvent, void> {
    const { after, onUnreadable } = checkedOptions(options, {
      after: kinds.anything,
      onUnreadable: kinds.call,
    })
    const placed = placedBy(onUnreadable)
    const pace = pacer()
    for await (const page of allPages(events, { after, prefixes: [streamOf('')] })) {
      for (const event of await orThrow(page)) {
        const streamed = await placed(event)
        if (streamed) yield streamed
        const pause = pace(event.data.length)
        if (pause) await pause
      }
      await breath()
    }
  }

  /** Returns the checkpoint of the store's last event; undefined if the store has no events. */
  const end = async (prefixes: readonly string[]): Promise<Checkpoint | undefined> => {
    const { checkpoint } = await orThrow(events.changed(streamOf(''), undefined))
    return checkpoint ?? readTo(events, prefixes, undefined, () => {})
  }

  async function* follow(options?: FollowConversations): AsyncGenerator<FollowedEvent, void> {
    const {
      after: given,
      prefixes: beginnings = [''],
      from,
      signal,
      onUnreadable,
    } = checkedOptions(options, followFields)
    const placed = placedBy(onUnreadable)
    const prefixes = beginnings.map(streamOf)
    const isFromNow = from === 'now' && given === undefined
    const after = isFromNow ? await end(prefixes) : given
    // Yielded so that a reader that is interrupted before the first event can continue from here.
    if (isFromNow && after !== undefined) yield { type: 'checkpoint', checkpoint: after }
    const following: FollowOptions = {
      prefixes,
      ...(after !== undefined && { after }),
      ...(signal && { signal }),
    }
    for await (const followed of events.follow(following)) {
      const streamed = followed.type === 'event' ? await placed(followed.event) : undefined
      if (streamed) yield { type: 'event', ...streamed }
      else yield { type: 'checkpoint', checkpoint: followed.checkpoint }
    }
  }

  return { readAll, follow }
}

const followFields: OptionKinds<FollowConversations> = {
  after: kinds.anything,
  from: oneOf(['now']),
  prefixes: kinds.texts,
  signal: kinds.signal,
  onUnreadable: kinds.call,
}
const maxOffsets = 10_000

/**
 * Returns a decoder that adds the position to each event; positions in a fork do not begin at 0. The decoder returns undefined for the
 * events of a conversation whose first events are lost, so that one deleted conversation does not prevent reading the others. Each such
 * conversation is reported once.
 */
const placer = (
  store: EventStore,
): ((onUnreadable?: OnUnreadable) => (event: RecordedEvent) => Promise<StreamedEvent | undefined>) => {
  const offsets = createLruCache<number>(maxOffsets)
  const offsetOf = async (id: string, unreadable: OnUnreadable): Promise<number | undefined> => {
    const known = offsets.get(id)
    if (known !== undefined) return known
    const lineage = await loadLineage(store, id)
    if (E.isLeft(lineage) && lineage.left._tag === 'HistoryLost') {
      unreadable(id, lineage.left.message)
      return undefined
    }
    if (E.isLeft(lineage)) throw toError(lineage.left)
    const offset = lineage.right?.[0]?.offset ?? 0
    offsets.set(id, offset)
    return offset
  }
  return (onUnreadable = () => undefined) => {
    const told = createLruCache<true>(maxOffsets)
    const unreadable: OnUnreadable = (id, problem) => {
      if (!told.get(id)) onUnreadable(id, problem)
      told.set(id, true)
    }
    return async (recorded) => {
      const { stream, revision, checkpoint } = recorded
      const id = conversationOf(stream) ?? stream
      const offset = await offsetOf(id, unreadable)
      if (offset === undefined) return undefined
      const position = offset + revision
      const decoded = decode(recorded, { stream, revision, position })
      if (E.isLeft(decoded)) throw toError(decoded.left)
      return { conversation: id, event: decoded.right, checkpoint }
    }
  }
}
