import { conversationOf, notesStreamOf, streamOf } from '../../events/ids.ts'
import type { ConversationFilter } from '../list.ts'
import type { NoteIndex } from '../../conversation/beside/note-index.ts'
import { orThrow, run } from '../../result/fallible.ts'
import { type EventStore, maxPage } from '../../store/port.ts'

/** Conditions on facts that only the index has. */
export type FactConditions = Pick<ConversationFilter, 'status' | 'errors' | 'has' | 'model' | 'actor'>

export interface ListOptions extends FactConditions {
  /**
   * Order of the list. `begun` (also `newest`): most recently begun in this store first. `activity`: latest last event first, according
   * to the index; the list waits up to two seconds for the index, and conversations not indexed by then come last. `id`: by id; all ids
   * may be read before the first is returned. Most details come from the index (in orders other than `activity`, only from an index in
   * a file), so a conversation damaged since it was indexed is listed in its earlier state. `tokens`: most tokens first, otherwise like
   * `activity`. Default: most recently begun first, each looked up in the store.
   */
  readonly sort?: 'begun' | 'activity' | 'tokens' | 'id' | 'newest' | undefined
  /**
   * True to add the facts that the index keeps (`ConversationFacts`). With facts, or with a condition on them, every order comes from
   * the index; conversations that are not indexed yet come last, without facts, or are left out if there is a condition.
   */
  readonly facts?: boolean | undefined
  /** Prefix of the ids of the conversations to list. Default: all. */
  readonly beginning?: string | undefined
  /** Only these conversations, in this order; missing ones are omitted. Without facts and conditions. Default: all. */
  readonly ids?: readonly string[] | undefined
}

/** Id of a listed conversation, and whether the conversation may have notes. */
export interface ListedConversation {
  readonly id: string
  /** False if the conversation certainly has no notes. */
  readonly mayHaveNotes: boolean
}

type Pages = AsyncGenerator<readonly ListedConversation[], void>

/** Number of stream names on the first page of a list: enough to fill a screen with conversations, even if all of them have notes. */
const firstPage = 100

/**
 * Yields the conversations of a list, page by page; on some stores also a conversation whose import never completed. The stream names
 * show which conversations have notes; most have none, so their notes are not searched for. Throws a `StoreError` during iteration.
 */
export const listPages = (
  store: EventStore,
  { noted }: Pick<NoteIndex, 'noted'>,
  { sort = 'begun', beginning = '', ids }: Pick<ListOptions, 'sort' | 'beginning' | 'ids'> = {},
): Pages => {
  if (ids) return named(ids, noted)
  return sort === 'id' ? byId(store, beginning) : newestFirst(store, beginning)
}

async function* named(ids: readonly string[], noted: NoteIndex['noted']): Pages {
  const mayHaveNotes = await orThrow(run(noted(ids.length)))
  yield ids.map((id) => ({ id, mayHaveNotes: mayHaveNotes(id) }))
}

/** Yields conversations, newest first. A notes stream begins after its conversation, and is therefore listed before it. */
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
    /** Last name covered by the page of notes streams; undefined if the page covers all notes streams. */
    const end = noted.length < maxPage ? undefined : noted.at(-1)
    yield ids.map((id) => {
      const notes = notesStreamOf(id)
      return { id, mayHaveNotes: known.has(notes) || (end !== undefined && notes > end) }
    })
    last = names.at(-1) ?? last
  }
}
