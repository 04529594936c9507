import * as E from 'fp-ts/lib/Either.js'
import { breath } from '../breath.ts'
import type { BlobDamaged, BlobMissing, StoreError } from '../errors.ts'
import type { BlobStore, RecordedEvent } from '../port.ts'
import { readContent, type ReadContent } from './content.ts'
import { isCut } from '../marks.ts'
import { restoreLiterals, type Reference, referencesOf } from './cut.ts'

/** Number of blobs read concurrently. */
const readers = 4

/** A blob as read. If it is absent, `why` may say why. */
type Read = E.Either<StoreError, ReadContent & { readonly why?: string | undefined }>

/**
 * Returns a page of events with the content stored outside restored. Each blob is read once and checked against its hash. Errors:
 * `BlobMissing`, `BlobDamaged` or `DecodeFailed` for the first affected event in the page; errors of the blob store.
 */
export const restoreBlobs = async (
  blobs: BlobStore,
  page: readonly RecordedEvent[],
): Promise<E.Either<StoreError, readonly RecordedEvent[]>> => {
  if (!page.some(isCut)) return E.right(page)
  const references = page.filter(isCut).flatMap((event) => referencesOf(event) ?? [])
  const contents = await readAll(blobs, references)
  const events: RecordedEvent[] = []
  for (const event of page) {
    const whole = isCut(event) ? restoredWith(event, contents) : E.right(event)
    if (E.isLeft(whole)) return whole
    events.push(whole.right)
  }
  return E.right(events)
}

const keyOf = ({ sha256, raw }: Reference): string => (raw ? `raw ${sha256}` : sha256)

const readAll = async (
  blobs: BlobStore,
  references: readonly Reference[],
): Promise<ReadonlyMap<string, Read>> => {
  const wanted = new Map(references.map((reference) => [keyOf(reference), reference])).entries()
  const contents = new Map<string, Read>()
  const readRest = async (): Promise<void> => {
    // All readers share one iterator: each takes the next reference.
    for (const [key, reference] of wanted) {
      contents.set(key, await readOne(blobs, reference))
      await breath()
    }
  }
  await Promise.all(Array.from({ length: readers }, readRest))
  return contents
}

const readOne = async (blobs: BlobStore, { sha256, raw }: Reference): Promise<Read> => {
  try {
    const read = await readContent(blobs.get(sha256), raw === true)
    if (read.bytes > 0 || !blobs.whyAbsent) return E.right(read)
    return E.map((why: string | undefined) => ({ ...read, why }))(await blobs.whyAbsent(sha256)())
  } catch (error) {
    if (isStoreError(error)) return E.left(error)
    throw error
  }
}

/**
 * Reports whether a value thrown by an iteration is a store error. Checks for a tag, which no other thrown value has, because a custom
 * store may throw store errors as plain objects.
 */
const isStoreError = (error: unknown): error is StoreError =>
  typeof error === 'object' && error !== null && '_tag' in error

const restoredWith = (
  event: RecordedEvent,
  contents: ReadonlyMap<string, Read>,
): E.Either<StoreError, RecordedEvent> => {
  const references = referencesOf(event)
  if (!references) return E.left(unreadable(event))
  for (const reference of references) {
    const read = contents.get(keyOf(reference))
    if (!read || E.isLeft(read)) return read ?? E.left(missing(event, reference))
    if (read.right.bytes === 0) return E.left(missing(event, reference, read.right.why))
    const isWhole = read.right.sha256 === reference.sha256 && read.right.bytes === reference.bytes
    if (!isWhole) return E.left(damaged(event, reference, 'does not match its hash'))
  }
  const textsOf = (reference: Reference): readonly string[] => {
    const read = contents.get(keyOf(reference))
    return read && E.isRight(read) ? read.right.texts : []
  }
  return E.mapLeft((reference: Reference) =>
    damaged(event, reference, 'has no place in the event, whose data was changed'),
  )(restoreLiterals(event, references, textsOf))
}

const advice = 'restore a backup, or import the session again'

const missing = (
  { stream, revision, id: event }: RecordedEvent,
  { sha256 }: Reference,
  why?: string,
): BlobMissing => ({
  _tag: 'BlobMissing',
  message: `content of event ${revision} of stream ${stream} (${event}) ${why === undefined ? `is missing: blob ${sha256}; ${advice}` : `cannot be read: blob ${sha256} ${why}`}`,
  stream,
  revision,
  event,
  sha256,
})

const damaged = (event: RecordedEvent, reference: Reference, how: string): BlobDamaged => ({
  ...missing(event, reference),
  _tag: 'BlobDamaged',
  message: `content of event ${event.revision} of stream ${event.stream} (${event.id}) is damaged: blob ${reference.sha256} ${how}; ${advice}`,
})

export const unreadable = ({ stream, revision }: RecordedEvent): StoreError => ({
  _tag: 'DecodeFailed',
  message: `event ${revision} of stream ${stream} cannot be read: the references to outside content in its metadata are damaged; restore a backup`,
  stream,
  revision,
})
