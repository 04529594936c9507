import * as E from 'fp-ts/lib/Either.js'
import { decode, hashOf, type StoredEvent } from '../../events/codec.ts'
import type { ConversationEvent } from '../../events/events.ts'
import { conversationIdSchema, notesStreamOf, streamOf } from '../../events/ids.ts'
import { isNoteType, noteCodec, type NoteEvent } from '../../events/notes.ts'
import { hasAll, type LineFormat } from './format.ts'
import type { StoredConversation } from './plan.ts'
import { listOn, type Shelf } from './shelf.ts'
import {
  entriesIn,
  type FileEntry,
  type FileLine,
  type LineReader,
  type ImportNotes,
  stringOf,
} from './source.ts'

interface Chain {
  readonly id: string
  /** Places of the conversation's events on the shelf. */
  readonly places: number[]
  hash: string
  /** Position of the conversation's first event; in a fork, the position right after the parent's event. */
  readonly start: number
  readonly parent: { readonly conversation: string; readonly position: number } | undefined
}

/** The notes of a conversation read so far, with the hash of the last one. */
interface NoteChain {
  readonly places: number[]
  hash: string | null
}

/** Format for the output of `palimpsest export` (write-palimpsest.ts). */
export const palimpsest: LineFormat<readonly StoredConversation[]> = {
  name: 'palimpsest',
  recognises: (fields) => hasAll(fields, 'conversation', 'revision', 'id', 'type', 'data', 'metadata'),
  read: (notes, shelf) => readPalimpsest(notes, shelf),
}

/**
 * Reads Palimpsest's own JSONL: one event per line, `{conversation, revision, id, type, data, metadata}`, in order of revision within
 * each conversation. Every event is decoded, and every link of the hash chain is checked. An event that does not follow the one before
 * it is reported as a bad line.
 */
const readPalimpsest = (notes: ImportNotes, shelf: Shelf): LineReader<readonly StoredConversation[]> => {
  const chains = new Map<string, Chain>()
  const beside = new Map<string, NoteChain>()
  const read = (line: FileLine): void => {
    for (const entry of entriesIn(line, notes)) {
      const isNote = isNoteType(String(entry.fields['type']))
      const added = isNote ? followNote(entry, chains, beside, shelf) : follow(entry, chains, shelf)
      if (E.isLeft(added)) notes.bad(entry.line, added.left)
      else notes.mapped(added.right.type)
    }
  }
  const finish = (): readonly StoredConversation[] =>
    inOrder(chains).map(({ id, places }) => ({
      id,
      events: listOn(places, readerOf(shelf)),
      notes: listOn(beside.get(id)?.places ?? [], readerOf(shelf)),
    }))
  return { read, finish }
}

const readerOf =
  (shelf: Shelf) =>
  (place: number): StoredEvent =>
    shelf.get(place) as StoredEvent

const follow = (
  { fields }: FileEntry,
  chains: Map<string, Chain>,
  shelf: Shelf,
): E.Either<string, ConversationEvent> => {
  const placed = placedIn(fields)
  if (E.isLeft(placed)) return placed
  const { conversation, revision, stored } = placed.right
  const { type, data } = fields
  const chain = chains.get(conversation)
  const expected = chain?.places.length ?? 0
  if (revision !== expected)
    return E.left(`found revision ${String(revision)} of ${conversation}; expected revision ${expected}`)
  const start = chain?.start ?? startOf(data, type)
  const decoded = decode(stored, { stream: streamOf(conversation), revision, position: start + revision })
  if (E.isLeft(decoded)) return E.left(decoded.left.message)
  const event = decoded.right
  const prev = revision > 0 ? chain?.hash : event.type === 'Forked' ? forkPrev(event, chains, shelf) : null
  if (event.metadata.prev !== prev)
    return E.left(
      `the hash chain of ${conversation} breaks at revision ${revision}: an event was changed or is missing`,
    )
  const grown = chain ?? { id: conversation, places: [], hash: '', start, parent: parentOf(event) }
  grown.places.push(shelf.put(stored))
  grown.hash = hashOf(stored)
  chains.set(conversation, grown)
  return decoded
}

/** The event parsed from a line, before its revision and hash have been checked. */
interface Placed {
  readonly conversation: string
  readonly revision: unknown
  readonly stored: StoredEvent
}

const placedIn = (fields: FileEntry['fields']): E.Either<string, Placed> => {
  const { conversation, revision, id, type, data, metadata } = fields
  if (typeof conversation !== 'string' || !conversationIdSchema.safeParse(conversation).success)
    return E.left('"conversation" is not a conversation id')
  if (stringOf(id) === undefined || stringOf(type) === undefined)
    return E.left('an event needs "id" and "type"')
  const stored = {
    id: String(id),
    type: String(type),
    data: JSON.stringify(data ?? null),
    metadata: JSON.stringify(metadata ?? null),
  }
  return E.right({ conversation, revision, stored })
}

/**
 * Checks that a note continues the conversation's notes read so far, and stores it. The notes of a conversation come after its events.
 */
const followNote = (
  { fields }: FileEntry,
  chains: ReadonlyMap<string, Chain>,
  beside: Map<string, NoteChain>,
  shelf: Shelf,
): E.Either<string, NoteEvent> => {
  const placed = placedIn(fields)
  if (E.isLeft(placed)) return placed
  const { conversation, revision, stored } = placed.right
  if (!chains.has(conversation))
    return E.left(`a note of ${conversation} comes before the conversation's events`)
  const chain = beside.get(conversation) ?? { places: [], hash: null }
  const expected = chain.places.length
  if (revision !== expected)
    return E.left(`found note ${String(revision)} of ${conversation}; expected note ${expected}`)
  const decoded = noteCodec.decode(stored, { stream: notesStreamOf(conversation), revision: expected })
  if (E.isLeft(decoded)) return E.left(decoded.left.message)
  if (decoded.right.metadata.prev !== chain.hash)
    return E.left(
      `the hash chain of the notes of ${conversation} breaks at revision ${expected}: a note was changed or is missing`,
    )
  chain.places.push(shelf.put(stored))
  chain.hash = hashOf(stored)
  beside.set(conversation, chain)
  return decoded
}

const startOf = (data: unknown, type: unknown): number => {
  const from =
    type === 'Forked' ? (data as { readonly from?: { readonly position?: unknown } } | null)?.from : undefined
  return typeof from?.position === 'number' ? from.position + 1 : 0
}

const parentOf = (event: ConversationEvent): Chain['parent'] =>
  event.type === 'Forked' ? event.data.from : undefined

/**
 * Returns the hash that the first event of a fork must contain: the hash of the parent's event if this event is already in the file,
 * otherwise the hash that the fork names.
 */
const forkPrev = (
  { data: { from } }: ConversationEvent<'Forked'>,
  chains: ReadonlyMap<string, Chain>,
  shelf: Shelf,
): string => {
  let chain = chains.get(from.conversation)
  while (chain && chain.start > from.position) {
    const older: Chain | undefined = chains.get(chain.parent?.conversation ?? '')
    // Forks that name each other as parents do not contain such an event.
    chain = older && older.start < chain.start ? older : undefined
  }
  const place = chain?.places[from.position - chain.start]
  return place === undefined ? from.hash : hashOf(readerOf(shelf)(place))
}

/** Returns the chains in an order in which parents come before their forks. */
const inOrder = (chains: ReadonlyMap<string, Chain>): readonly Chain[] => {
  const depth = (chain: Chain): number => {
    let ancestors = 0
    const seen = new Set<string>()
    for (
      let each = chain.parent;
      each && !seen.has(each.conversation);
      each = chains.get(each.conversation)?.parent
    ) {
      seen.add(each.conversation)
      ancestors++
    }
    return ancestors
  }
  return [...chains.values()].toSorted((a, b) => depth(a) - depth(b))
}
