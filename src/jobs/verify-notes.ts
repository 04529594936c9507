import * as E from 'fp-ts/lib/Either.js'
import { hashOf } from '../events/codec.ts'
import { notesStreamOf } from '../events/ids.ts'
import { decodeNote } from '../events/notes.ts'
import { ok, type Steps } from '../result/steps.ts'
import { breath } from '../store/breath.ts'
import { isOfEvent, type StoreError } from '../store/errors.ts'
import { pagesOf } from '../store/pages.ts'
import type { EventStore } from '../store/port.ts'
import { extentOf } from '../store/whole/whole-writes.ts'

interface Found {
  /** How many are as they were written. */
  readonly notes?: number
  readonly discrepancy?: { readonly position: number; readonly kind: 'note'; readonly message: string }
}

/** Reads the notes of a conversation from the first one on and recomputes every `prev`. Answers `{}` if there are no notes. */
export async function* verifyNotes(store: EventStore, conversation: string): Steps<StoreError, Found> {
  const stream = notesStreamOf(conversation)
  const { least, most: until } = yield* extentOf(store, stream)
  const kept = yield* ok(store.keptEnd(stream))
  let prev: string | null = null
  let notes = 0
  const wrong = (problem: string): Found => ({
    notes,
    discrepancy: { position: notes, kind: 'note', message: `note ${notes}: ${problem}` },
  })
  for await (const page of pagesOf(store, stream, { to: until })) {
    if (E.isLeft(page)) return isOfEvent(page.left) ? wrong(page.left.message) : yield page.left
    for (const stored of page.right) {
      const decoded = decodeNote(stored, stored)
      if (E.isLeft(decoded)) return wrong(decoded.left.message)
      if (stored.revision !== notes || decoded.right.metadata.prev !== prev)
        return wrong('the one before it is not the one it was written after: one was changed or is missing')
      prev = hashOf(stored)
      if (notes === kept?.last && prev !== kept.hash)
        return wrong('it is not the one that the notes ended with: it was changed')
      notes++
    }
    await breath()
  }
  if (Math.max(least, Math.min(kept?.last ?? -1, until)) >= notes)
    return wrong('it and any later ones were lost')
  return notes > 0 ? { notes } : {}
}
