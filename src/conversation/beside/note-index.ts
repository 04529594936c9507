import * as E from 'fp-ts/lib/Either.js'
import { notedIn, notesStreamOf, streamOf } from '../../events/ids.ts'
import { type Link, linkOf, mergeLinks } from '../../projections/notes.ts'
import { catchTyped, unwrap, run, type Fallible } from '../../result/fallible.ts'
import { breath } from '../../store/breath.ts'
import { isLoss, type StoreError } from '../../store/errors.ts'
import { createLruCache } from '../../store/lru.ts'
import { type Checkpoint, type EventStore, maxPage } from '../../store/port.ts'
import { newestNotes } from './note-reader.ts'

/** The titles and links of one conversation, for display in a list of conversations. */
export interface NoteGlance {
  /** The notes of kind `title`, newest first. */
  readonly titles: readonly { readonly at: number; readonly text: string }[]
  /** The conversation's links, deduplicated. */
  readonly links: readonly Link[]
}

/**
 * An index of the titles and links of a store's conversations. It reads a conversation's notes once, and rereads them only after new
 * ones are written.
 */
export interface NoteIndex {
  /** Drops outdated entries. Call it before reading from the index. */
  readonly refresh: () => Fallible<StoreError, void>
  readonly glance: (conversation: string) => Fallible<StoreError, NoteGlance>
  /**
   * Returns a function that reports whether a conversation may have notes, judging by the stream names in the store. `count` is the
   * number of conversations that the caller will test. If the store has many more streams than that, reading all names is not
   * worthwhile, and the function returns true for every conversation. Otherwise, it may return false for a conversation whose first
   * note was written after `refresh`.
   */
  readonly noted: (count: number) => Fallible<StoreError, (conversation: string) => boolean>
  /**
   * Returns the links from other conversations to this one. Conversations whose notes cannot be read are skipped, and `unreadable` is
   * called for each.
   */
  readonly linksTo: (conversation: string, unreadable: OnUnreadable) => Fallible<StoreError, readonly Link[]>
}

/** A callback that receives the id of a conversation whose notes cannot be read, and the reason. */
export type OnUnreadable = (conversation: string, problem: string) => void

/** Creates an index of a store's notes that remembers the titles and links of at most `most` conversations, and all links. */
export const noteIndex = (store: EventStore, most = 10_000): NoteIndex => {
  let known = createLruCache<NoteGlance>(most)
  /** Links of each conversation with notes. Most have none. */
  let linked = new Map<string, readonly Link[]>()
  let since: Checkpoint | undefined
  let begun = namesOf(store)

  async function* refresh(): Fallible<StoreError, void> {
    const { streams, checkpoint } = yield* unwrap(store.changed(notesStreamOf(''), since))
    since = checkpoint
    if (!streams) {
      known = createLruCache(most)
      linked = new Map()
      begun = namesOf(store)
    } else
      for (const name of streams) {
        known.forget(notedIn(name) ?? name)
        linked.delete(notedIn(name) ?? name)
        begun.add(name)
      }
  }

  async function* glance(conversation: string): Fallible<StoreError, NoteGlance> {
    const before = known.get(conversation)
    if (before) return before
    const [own, read] = [known, since]
    const found = yield* glanceAt(store, conversation)
    // Not cached if another refresh ran meanwhile, because it may be outdated.
    if (read !== undefined && since === read) own.set(conversation, found)
    return found
  }

  async function* linksOf(conversation: string): Fallible<StoreError, readonly Link[]> {
    const before = linked.get(conversation)
    if (before) return before
    const [own, read] = [linked, since]
    const { links } = yield* glance(conversation)
    if (read !== undefined && since === read) own.set(conversation, links.length > 0 ? links : noNotes.links)
    return links
  }

  async function* linksTo(
    conversation: string,
    unreadable: OnUnreadable,
  ): Fallible<StoreError, readonly Link[]> {
    yield* refresh()
    const found: Link[] = []
    for (let before: string | undefined; ;) {
      const names: readonly string[] = yield* unwrap(store.newest([notesStreamOf('')], before, maxPage))
      for (const name of names) {
        const from = notedIn(name) ?? name
        const seen = await run(linksOf(from))
        if (E.isRight(seen)) found.push(...seen.right.filter((link) => link.conversation === conversation))
        else if (isLoss(seen.left)) unreadable(from, seen.left.message)
        else return yield seen.left
        await breath()
      }
      before = names.at(-1)
      if (before === undefined) return found.toReversed()
    }
  }

  return { refresh, glance, linksTo, noted: (count) => begun.noted(count) }
}

/**
 * Maximum number of stream names to read per conversation tested. Reading a page of names takes as long as reading the notes of a few
 * conversations.
 */
const namesEach = 100

/**
 * Returns a collection of the names of note streams. It reads the store's stream names page by page, newest first, until all have been
 * read.
 */
const namesOf = (store: EventStore): Pick<NoteIndex, 'noted'> & { readonly add: (name: string) => void } => {
  const found = new Set<string>()
  let last: string | undefined
  let isAll = false
  return {
    add: (name) => found.add(name),
    noted: async function* (count): Fallible<StoreError, (conversation: string) => boolean> {
      for (let read = 0; !isAll && read < count * namesEach;) {
        const names = yield* unwrap(store.newest([streamOf(''), notesStreamOf('')], last, maxPage))
        for (const name of names) if (notedIn(name) !== undefined) found.add(name)
        isAll = names.length === 0
        last = names.at(-1) ?? last
        read += names.length
      }
      return (conversation) => !isAll || found.has(notesStreamOf(conversation))
    },
  }
}

/** Value for a conversation without notes. */
export const noNotes: NoteGlance = { titles: [], links: [] }

async function* glanceAt(store: EventStore, conversation: string): Fallible<StoreError, NoteGlance> {
  // The parent of a fork usually has no notes; a single read shows this.
  const stream = notesStreamOf(conversation)
  const first = yield* unwrap(store.read({ stream, from: 0, direction: 'forwards', limit: 1 }))
  if (first.length === 0) return noNotes
  return yield* catchTyped(async () => {
    const titles: { at: number; text: string }[] = []
    const links: Link[] = []
    for await (const event of newestNotes(store, conversation)) {
      if (event.type === 'Linked') links.push(linkOf(conversation, event))
      else if (event.data.kind === 'title' && typeof event.data.data === 'string')
        titles.push({ at: event.data.at, text: event.data.data })
    }
    return { titles, links: mergeLinks(links.toReversed()) }
  })
}
