import { conversationOf, notesStreamOf, streamOf } from '../../events/ids.ts'
import type { NoteIndex } from '../../conversation/beside/note-index.ts'
import { orThrow, run } from '../../result/steps.ts'
import { type EventStore, maxPage } from '../../store/port.ts'

export interface ListOptions {
  /**
   * `begun` (also `newest`): the conversation that was begun last in this store comes first. `activity`: the one whose last event has the
   * latest time, by the index, for which it waits two seconds; what is not indexed by then comes last. `id`: by id; all ids may be read
   * before the first comes. Most of what is said of them is read in the index (but for `activity` only in one that is in a file): a
   * conversation that was damaged since it was indexed is listed as it was. Default: as they were begun, and each is looked up in the store.
   */
  readonly sort?: 'begun' | 'activity' | 'id' | 'newest' | undefined
  /** Only conversations whose id begins with this. Default: all. */
  readonly beginning?: string | undefined
  /** Only these, in this order; those that there are not are left out. Default: all. */
  readonly ids?: readonly string[] | undefined
}

/** A conversation's name. */
export interface ListedConversation {
  readonly id: string
  /** False if there is certainly nothing noted beside it. */
  readonly mayHaveNotes: boolean
}

type Pages = AsyncGenerator<readonly ListedConversation[], void>

/** Names of the first page of a list: a screen of conversations, even if all have notes. */
const firstPage = 100

/**
 * The names of conversations, a page at a time; on some stores also of one that never came. Most conversations have no notes, and the
 * names tell which: who shows a list need not look. Iteration throws a `StoreError`.
 */
export const listedPages = (
  store: EventStore,
  { noted }: Pick<NoteIndex, 'noted'>,
  { sort = 'begun', beginning = '', ids }: ListOptions = {},
): Pages => {
  if (ids) return named(ids, noted)
  return sort === 'id' ? byId(store, beginning) : newestFirst(store, beginning)
}

async function* named(ids: readonly string[], noted: NoteIndex['noted']): Pages {
  const mayHaveNotes = await orThrow(run(noted(ids.length)))
  yield ids.map((id) => ({ id, mayHaveNotes: mayHaveNotes(id) }))
}

/** Notes are begun after their conversation, so their name has come before its name does. */
async function* newestFirst(store: EventStore, beginning: string): Pages {
  const prefixes = [streamOf(beginning), notesStreamOf(beginning)]
  const noted = new Set<string>()
  for (let last: string | undefined; ;) {
    const limit = last === undefined ? firstPage : maxPage
    const names = await orThrow(store.newest(prefixes, last, limit))
    if (names.length === 0) return
    const page: ListedConversation[] = []
    for (const name of names) {
      const id = conversationOf(name)
      if (id === undefined) noted.add(name)
      else page.push({ id, mayHaveNotes: noted.delete(notesStreamOf(id)) })
    }
    yield page
    last = names.at(-1)
  }
}

async function* byId(store: EventStore, beginning: string): Pages {
  for (let last = ''; ;) {
    const names = await orThrow(store.streams(streamOf(beginning), last, maxPage))
    if (names.length === 0) return
    const ids = names.map((name) => conversationOf(name) ?? name)
    const after = notesStreamOf(conversationOf(last) ?? '')
    const noted = await orThrow(store.streams(notesStreamOf(beginning), after, maxPage))
    const known = new Set(noted)
    /** As far as the page of notes reaches. */
    const end = noted.length < maxPage ? undefined : noted.at(-1)
    yield ids.map((id) => {
      const notes = notesStreamOf(id)
      return { id, mayHaveNotes: known.has(notes) || (end !== undefined && notes > end) }
    })
    last = names.at(-1) ?? last
  }
}
