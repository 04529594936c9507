import * as E from 'fp-ts/lib/Either.js'
import { notedIn, notesStreamOf, streamOf } from '../../events/ids.ts'
import { unwrap, type Fallible } from '../../result/fallible.ts'
import { breath } from '../../store/breath.ts'
import type { StoreError } from '../../store/errors.ts'
import { namePages } from '../../store/pages.ts'
import { type Checkpoint, type EventStore, maxPage } from '../../store/port.ts'
import { originOf } from '../reading/lineage.ts'
import { type LegalHold, readHold } from './hold.ts'

/** A fork under a legal hold. */
interface HeldFork {
  readonly conversation: string
  readonly hold: LegalHold
  /** Last position that it shows of each conversation that it descends from. */
  readonly shown: ReadonlyMap<string, number>
}

/** Returns a fork under a legal hold that shows the event at a position of a conversation; undefined if there is none. */
export type HeldForkFinder = (
  conversation: string,
  position: number,
) => Fallible<StoreError, HeldFork | undefined>

/**
 * Returns a finder for the forks of a store. A hold is a note, so it reads the conversations that have notes; once it has read them, only
 * those with new ones.
 */
export const createHeldForkFinder = (store: EventStore): HeldForkFinder => {
  let since: Checkpoint | undefined
  const held = new Map<string, HeldFork>()

  async function* refresh(): Fallible<StoreError, void> {
    const { streams, checkpoint } = yield* unwrap(store.changed(notesStreamOf(''), since))
    const all = namePages((last = '') => store.streams(notesStreamOf(''), last, maxPage))
    for await (const page of streams ? [E.right([...streams])] : all)
      for (const conversation of yield* forksAmong(store, yield* unwrap(page))) {
        const shown = yield* shownBy(store, conversation)
        const hold = shown.size > 0 ? yield* readHold(store, conversation) : undefined
        if (hold) held.set(conversation, { conversation, hold, shown })
        else held.delete(conversation)
        await breath()
      }
    since = checkpoint
  }

  return async function* (conversation, position): Fallible<StoreError, HeldFork | undefined> {
    yield* refresh()
    for (const fork of held.values()) if (position <= (fork.shown.get(conversation) ?? -1)) return fork
    return undefined
  }
}

/** Returns the conversations that may be forks, given the streams of their notes. */
async function* forksAmong(
  store: EventStore,
  streams: readonly string[],
): Fallible<StoreError, readonly string[]> {
  const noted = streams.map((stream) => notedIn(stream) ?? stream)
  if (!store.beginnings) return noted
  const begun = yield* unwrap(store.beginnings(noted.map(streamOf), 1))
  return noted.filter((id) => (begun.get(streamOf(id))?.[0]?.type ?? 'Forked') === 'Forked')
}

/** Returns the last position that a fork shows of each conversation that it descends from; empty for other conversations. */
async function* shownBy(store: EventStore, fork: string): Fallible<StoreError, ReadonlyMap<string, number>> {
  const shown = new Map<string, number>()
  let last = Infinity
  for (let id = fork; ;) {
    const range = { stream: streamOf(id), from: 0, direction: 'forwards', limit: 1 } as const
    const [first] = yield* unwrap(store.read(range))
    const from = first && (yield* unwrap(originOf(first)))
    if (!from || shown.has(from.conversation)) return shown
    last = Math.min(last, from.position)
    id = from.conversation
    shown.set(id, last)
  }
}
