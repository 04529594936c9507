import { conversationNotFound } from '../../commands/rejections.ts'
import { notesStreamOf } from '../../events/ids.ts'
import { noteCodec, type NoteEvent, type NoteFact, type NoteType } from '../../events/notes.ts'
import {
  entryOf,
  type Link,
  linkOf,
  type Note,
  type NoteEntry,
  noteOf,
  mergeLinks,
} from '../../projections/notes.ts'
import { catchTyped, unwrap, type Fallible } from '../../result/fallible.ts'
import type { ReadError, StoreError } from '../../store/errors.ts'
import type { EventStore } from '../../store/port.ts'
import { readConversationEnd } from '../reading/ends.ts'
import type { Lineage } from '../reading/lineage.ts'
import { sideStream, type SideStream } from './side-stream.ts'

/** Options for reading notes. */
export interface NotesOptions {
  /** Only notes of this kind. Default: all. */
  readonly kind?: string | undefined
  /** Maximum number of notes to return; the newest are kept. Default: all. */
  readonly last?: number | undefined
  /**
   * Lowest `revision` of the notes to return; then only notes of the conversation itself are returned, without those of the conversation
   * that it was forked from. Default: all.
   */
  readonly from?: number | undefined
  /** Number of revisions to read, starting with `from`, 1 or more. Default: all. Only with `from`. */
  readonly limit?: number | undefined
}

/** Returns the side stream that contains a conversation's notes and links. */
export const notesOf = (store: EventStore, conversation: string): SideStream<NoteFact, NoteEvent> =>
  sideStream(store, { stream: notesStreamOf(conversation), of: conversation }, noteCodec)

/**
 * Yields the notes and links of one conversation, newest first; with `type`, only events of that type. Throws a `StoreError` during
 * iteration.
 */
export const newestNotes = (
  store: EventStore,
  conversation: string,
  type?: NoteType,
): AsyncGenerator<NoteEvent, void> => notesOf(store, conversation).newest(type)

/**
 * Yields the notes and links of a conversation, newest first. For a fork, continues with those of each conversation it was forked from,
 * up to the fork position.
 */
async function* ofLineage(
  store: EventStore,
  lineage: Lineage,
): AsyncGenerator<readonly [conversation: string, event: NoteEvent], void> {
  for (const { conversation, last } of lineage)
    for await (const event of newestNotes(store, conversation))
      if (event.data.at <= last) yield [conversation, event]
}

/** Returns the lineage of a conversation. Fails with `ConversationNotFound` if the conversation does not exist. */
async function* lineageOf(store: EventStore, conversation: string): Fallible<ReadError, Lineage> {
  const { lineage, last } = yield* unwrap(readConversationEnd(store, conversation))
  return last ? lineage : yield conversationNotFound(conversation)
}

/** Reads the notes of a conversation in the order in which they were recorded. */
export async function* readNotes(
  store: EventStore,
  conversation: string,
  { kind, last = Infinity, from, limit = Infinity }: NotesOptions = {},
): Fallible<ReadError, readonly Note[]> {
  const lineage = yield* lineageOf(store, conversation)
  if (from !== undefined) {
    const notes = notesOf(store, conversation)
    const { revision } = yield* notes.end()
    const events = yield* notes.since(from - 1, Math.min(revision, from + limit - 1))
    const chosen = events.flatMap((event) =>
      event.type === 'Noted' && (kind === undefined || event.data.kind === kind)
        ? [noteOf(conversation, event)]
        : [],
    )
    return last === 0 ? [] : chosen.slice(-last)
  }
  const found: Note[] = []
  yield* catchTyped<StoreError, void>(async () => {
    for await (const [holder, event] of ofLineage(store, lineage)) {
      if (event.type !== 'Noted' || (kind !== undefined && event.data.kind !== kind)) continue
      if (found.length >= last) return
      found.push(noteOf(holder, event))
    }
  })
  return found.toReversed()
}

/** Reads the links of a conversation, deduplicated. A fork does not inherit its parent's links. */
export async function* readOwnLinks(
  store: EventStore,
  conversation: string,
): Fallible<ReadError, readonly Link[]> {
  yield* lineageOf(store, conversation)
  return yield* catchTyped<StoreError, readonly Link[]>(async () => {
    const links: Link[] = []
    for await (const event of newestNotes(store, conversation, 'Linked'))
      if (event.type === 'Linked') links.push(linkOf(conversation, event))
    return mergeLinks(links.toReversed())
  })
}

/**
 * Reads the notes and links of a conversation up to and including a position, as entries of its full history. A fork inherits its
 * parent's notes, but not its links.
 */
export async function* readNoteEntries(
  store: EventStore,
  conversation: string,
  at = Infinity,
): Fallible<ReadError, readonly NoteEntry[]> {
  const lineage = yield* lineageOf(store, conversation)
  const found: NoteEntry[] = []
  yield* catchTyped<StoreError, void>(async () => {
    for await (const [holder, event] of ofLineage(store, lineage))
      if (event.data.at <= at && (event.type === 'Noted' || holder === conversation))
        found.push(entryOf(holder, event))
  })
  return found.toReversed()
}
