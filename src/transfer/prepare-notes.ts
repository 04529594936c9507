import { hashOf, type StoredEvent } from '../events/codec.ts'
import { eventId, notesStreamOf } from '../events/ids.ts'
import { type NoteFact, noteCodec } from '../events/notes.ts'
import type { PlannedNote } from './formats/plan.ts'
import type { LazyList } from './formats/shelf.ts'
import { chainEndAt } from '../conversation/reading/ends.ts'
import { isoTimeOf } from '../conversation/writing/encode.ts'
import { unwrap, type Fallible } from '../result/fallible.ts'
import type { LayeredStore } from '../store/whole/layered-store.ts'
import { pagesOf } from '../store/pages.ts'
import type { EventStore } from '../store/port.ts'
import { readStreamEnd } from '../store/whole/whole-writes.ts'
import type { WriteError } from '../store/errors.ts'
import { type ImportError, importDiverged } from './formats/errors.ts'
import { firstDifferent, timeOr } from './prepare-events.ts'
import type { Addition } from './write-whole.ts'

type Preparing = Fallible<ImportError | WriteError, Addition>

/** Reads the end of a conversation's stored notes, including notes of an unfinished import. */
async function* thereOf(
  store: EventStore,
  id: string,
): Fallible<WriteError, Omit<Addition, 'events'> & { end: { hash: string | null } }> {
  const stream = notesStreamOf(id)
  const { last, unfinished } = yield* readStreamEnd(store, stream)
  return { id, stream, end: chainEndAt([], unfinished ?? last), open: unfinished?.part }
}

/**
 * Prepares the notes of a file that the conversation does not have yet.
 *
 * @param at the conversation's last position after the import
 */
export async function* prepareNotes(
  store: LayeredStore,
  id: string,
  notes: Iterable<PlannedNote>,
  { at, format }: { readonly at: number; readonly format: string },
): Preparing {
  const there = yield* thereOf(store, id)
  const { stream, end } = there
  const had = new Set<string>()
  for await (const page of pagesOf(store, stream, { to: end.revision }))
    for (const event of yield* unwrap(page)) had.add(event.id)
  const imported = new Date()
  const events: StoredEvent[] = []
  let prev = end.hash
  for (const { ref, time, type, data } of notes) {
    const eventIs = eventId(stream, ref, 0)
    if (had.has(eventIs)) continue
    had.add(eventIs)
    const metadata = {
      time: isoTimeOf(timeOr(time, imported)),
      actor: { kind: 'import', id: format },
      commandId: ref,
      prev,
    }
    const stored = yield* unwrap(
      noteCodec.encode({ type, data: { ...data, at } } as NoteFact, eventIs, metadata),
    )
    yield* unwrap(store.check(stored))
    events.push(stored)
    prev = hashOf(stored)
  }
  return { ...there, events }
}

/**
 * Prepares the stored notes of a file that the conversation does not have yet, to be written unchanged. Notes that it already has must
 * be the same.
 */
export async function* prepareStoredNotes(
  store: LayeredStore,
  id: string,
  notes: LazyList<StoredEvent>,
): Preparing {
  const there = yield* thereOf(store, id)
  const { stream, end } = there
  for await (const page of pagesOf(store, stream, { to: Math.min(end.revision, notes.length - 1) })) {
    const different = firstDifferent(yield* unwrap(page), notes)
    if (different) return yield importDiverged(id, `note ${different.revision}`, 'the note of the file')
  }
  const events = notes.slice(end.revision + 1)
  for (const event of events) yield* unwrap(store.check(event))
  return { ...there, events, repeat: 'each' }
}
