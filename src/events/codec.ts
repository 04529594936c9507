import { constants } from 'node:buffer'
import { createHash, hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import * as E from 'fp-ts/lib/Either.js'
import type { z } from 'zod'
import { acceptsData, acceptsMetadata } from './accept.ts'
import { check } from './check.ts'
import { type DecodeFailed, eventTooLarge, type EventTooLarge, type InvalidInput } from './errors.ts'
import {
  type ConversationEvent,
  dataSchemas,
  type Event,
  type EventType,
  type Metadata,
  metadataSchema,
} from './events.ts'
import { newSalt } from './ids.ts'
import { isFields } from './json.ts'
import { ownMetadata, ownTime } from './own-metadata.ts'
import type { StoredEvent } from './stored-event.ts'
import { piecesOf } from './pieces.ts'
import { currentSchema, upcast } from './upcast.ts'
import { followsHash, openErased } from './withheld.ts'
import { erasedData } from './without-content.ts'

export type { StoredEvent } from './stored-event.ts'

/** Number of characters hashed at once. Hashing a text copies it, so a longer text is hashed in pieces. */
const hashedAtOnce = 1024 * 1024

/** Reports whether an event with these metadata may be erased: the metadata of nearly all events end otherwise. */
const mayBeErased = (metadata: string): boolean => metadata.endsWith('"}}')

/**
 * Returns the hash that chains events: SHA-256 (hex) of id, type, data and metadata as stored, joined by newlines. None of the four can
 * contain a raw newline, so two different events never have the same text. Of an erased event, returns the hash that it had before.
 */
export const hashOf = ({ id, type, data, metadata }: StoredEvent): string => {
  const erased = mayBeErased(metadata) ? openErased(metadata) : undefined
  if (erased) return erased.hash
  if (data.length <= hashedAtOnce) return hash('sha256', `${id}\n${type}\n${data}\n${metadata}`)
  const hashed = createHash('sha256').update(`${id}\n${type}\n`)
  for (const piece of piecesOf(data, hashedAtOnce)) hashed.update(piece)
  return hashed.update(`\n${metadata}`).digest('hex')
}

/**
 * Encodes an event for storage. Data or metadata that `decode` would refuse is `InvalidInput`, so everything written can be read.
 * Errors: `InvalidInput`, `EventTooLarge`.
 */
export const encode = (
  event: Event,
  id: string,
  metadata: Omit<Metadata, 'schema'>,
): E.Either<InvalidInput | EventTooLarge, StoredEvent> =>
  encodeAs(dataSchemas[event.type], event, id, metadata)

/**
 * Returns metadata in the order in which they are stored, without other fields. The salt comes first: of a withheld event, a bundle shows
 * the last bytes of its metadata (withheld.ts).
 */
export const storedMetadata = ({
  salt,
  schema,
  time,
  actor,
  commandId,
  $correlationId,
  $causationId,
  interrupts,
  answer,
  workspace,
  prev,
}: Metadata): Metadata => ({
  salt,
  schema,
  time,
  actor,
  commandId,
  $correlationId,
  $causationId,
  interrupts,
  answer,
  workspace,
  prev,
})

/** Encodes an event of any type like `encode`, with a given schema for its data. */
export const encodeAs = (
  dataSchema: z.ZodType,
  event: { readonly type: string; readonly data: unknown },
  id: string,
  given: Omit<Metadata, 'schema'>,
): E.Either<InvalidInput | EventTooLarge, StoredEvent> => {
  const { salt = newSalt() } = given
  const metadata = storedMetadata({ ...given, salt, schema: currentSchema })
  if (!acceptsData(event.type, event.data)) {
    const checked = check(dataSchema, event.data)
    if (E.isLeft(checked)) return checked
  }
  if (!acceptsMetadata(metadata)) {
    const checked = check(metadataSchema, metadata)
    if (E.isLeft(checked)) return checked
  }
  const length = textIn(event.data, mostText)
  if (length > mostText) return E.left(tooMuchText(length))
  const data = stringify(event.data)
  return data === undefined
    ? E.left(unwritable)
    : E.right({ id, type: event.type, data, metadata: JSON.stringify(metadata) })
}

/**
 * Maximum total length of an event's strings, in characters. Writing this much takes a second or two, during which nothing else runs.
 */
export const mostText = 64 * 1024 * 1024

const tooMuchText = (length: number): EventTooLarge =>
  eventTooLarge(
    `the event has at least ${(length / 1024 / 1024).toFixed(1)} MiB of text, including content stored outside it; an event may have at most ${mostText / 1024 / 1024} MiB`,
    length,
    mostText,
  )

/** Counts the characters in the strings of a value, visiting each object once. May stop once the count exceeds `most`. */
const textIn = (value: unknown, most: number): number => {
  let length = 0
  // The loop also visits the objects that are added during it.
  const objects = new Set<object>([[value]])
  for (const object of objects) {
    for (const inner of Object.values(object) as readonly unknown[])
      if (typeof inner === 'string') length += inner.length
      else if (typeof inner === 'object' && inner !== null) objects.add(inner)
    if (length > most) break
  }
  return length
}

/** Returns the JSON of a value; undefined if it would exceed the maximum length of a string. */
const stringify = (value: unknown): string | undefined => {
  try {
    return JSON.stringify(value)
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

const longest = constants.MAX_STRING_LENGTH
const unwritable = eventTooLarge(
  `the event's JSON is longer than a string can be (${Math.round(longest / 1024 / 1024)} MiB)`,
  Infinity,
  longest,
)

/** Reports whether this version of palimpsest knows the event type. */
export const isEventType = (type: string): type is EventType => Object.hasOwn(dataSchemas, type)

/** Stream, revision and position of a stored event. */
export interface EventLocation {
  readonly stream: string
  readonly revision: number
  readonly position: number
}

/**
 * Reads a stored event: parses, upcasts and checks it. Never guesses: text that is not JSON, an unknown event type, a newer schema or
 * invalid data is `DecodeFailed`.
 */
export const decode: Decoder = (stored, place) => decodeWith(ownMetadata, stored, place)

/**
 * Reads a stored event as strictly as `decode`, for long reads that need only the salt, the schema version and the time from the
 * metadata. The other metadata may be empty.
 */
export const decodeTimed: Decoder = (stored, place) => decodeWith(ownTime, stored, place)

export type Decoder = (stored: StoredEvent, place: EventLocation) => E.Either<DecodeFailed, ConversationEvent>

/** Function that reads metadata of a certain form without a JSON parser. Returns undefined for any other form. */
type Recogniser = (metadata: string) => Metadata | undefined

const decodeWith = (
  recognise: Recogniser,
  stored: StoredEvent,
  place: EventLocation,
): E.Either<DecodeFailed, ConversationEvent> => {
  const decoded = read(dataSchemas, stored, recognise)
  if ('problem' in decoded) return undecodable(stored, place, decoded)
  const { type, data, metadata } = decoded
  const { position } = place
  if (type === 'Rewound' && !((data as Event<'Rewound'>['data']).to < position))
    return undecodable(stored, place, { problem: 'it rewinds to itself or to a later position' })
  return E.right({ position, id: stored.id, type, data, metadata } as ConversationEvent)
}

/** A decoded event, with data that fit the schema of its type. */
interface Decoded<T> {
  readonly type: T
  readonly data: unknown
  readonly metadata: Metadata
}

/** Decodes a stored event like `decode`, for the event types in `schemas`. */
export const decodeAs = <T extends string>(
  schemas: Readonly<Record<T, z.ZodType>>,
  stored: StoredEvent,
  place: Pick<EventLocation, 'stream' | 'revision'>,
): E.Either<DecodeFailed, Decoded<T>> => {
  const decoded = read(schemas, stored, ownMetadata)
  return 'problem' in decoded ? undecodable(stored, place, decoded) : E.right(decoded)
}

/** Reason why a stored event cannot be read. */
interface Unreadable {
  readonly problem: string
  readonly isNewer?: true
  readonly isKeyMissing?: true
}

const newer = (what: string): Unreadable => ({
  problem: `${what}: a newer palimpsest wrote it; upgrade palimpsest`,
  isNewer: true,
})

export const contentIsSealed =
  'its content is sealed: open the store with its keys, like sqlite:palimpsest.db?seal=keys.db'

/** Nothing is known about the content, as of what a newer version wrote. */
const sealed: Unreadable = { problem: contentIsSealed, isNewer: true, isKeyMissing: true }

/** Reads a stored event. Creates no intermediate objects, because every event passes through this function. */
const read = <T extends string>(
  schemas: Readonly<Record<T, z.ZodType>>,
  stored: StoredEvent,
  recognise: Recogniser,
): Decoded<T> | Unreadable => {
  const own = recognise(stored.metadata)
  const metadata = own ?? parse(stored.metadata)
  const data = parse(stored.data)
  if (metadata === undefined || data === undefined) return { problem: 'its text is not JSON' }
  // Before everything else, because the metadata of a newer version may differ in any way.
  const later = laterFormOf(metadata)
  if (later) return later
  if (!own && !acceptsMetadata(metadata)) {
    const checked = check(metadataSchema, metadata)
    if (E.isLeft(checked)) return { problem: `metadata: ${checked.left.message}` }
  }
  const newest = upcast(typeOf(stored), data, (metadata as Metadata).schema)
  if (!Object.hasOwn(schemas, newest.type)) return newer('this version does not know its event type')
  const type = newest.type as T
  if (!acceptsData(type, newest.data)) {
    const checked = check(schemas[type], newest.data)
    if (E.isLeft(checked))
      return isSealed(newest.data) ? sealed : { problem: `data: ${checked.left.message}` }
  }
  const { erased } = metadata as Metadata
  if (erased && !isErasedForm(type, newest.data, metadata as Metadata, erased.stub))
    return { problem: 'it is marked as erased, but has content or another hash of the event before it' }
  return { type, data: newest.data, metadata: metadata as Metadata }
}

/** Reports whether an event that is marked as erased has no content, and a stub that fits its metadata. */
const isErasedForm = (type: string, data: unknown, { salt, prev }: Metadata, stub: string): boolean =>
  salt === undefined && followsHash(stub, prev) && isDeepStrictEqual(data, erasedData(type, data))

const isSealed = (value: unknown): boolean => isFields(value) && value['sealed'] !== undefined

/** Returns the sign of a newer version in metadata of any form; undefined if there is none. */
const laterFormOf = (metadata: unknown): Unreadable | undefined => {
  if (!isFields(metadata)) return undefined
  const { schema } = metadata
  if (typeof schema === 'number' && schema > currentSchema)
    return newer(`its schema version is ${schema}, and this version knows those up to ${currentSchema}`)
  return isSealed(metadata) ? newer('its metadata is sealed') : undefined
}

const message: EventType = 'MessageAppended'

/**
 * Returns the type of an event, with one shared string for messages. Nearly all events are messages, so this saves a look-up and a
 * comparison in every later check of the type.
 */
const typeOf = ({ type }: StoredEvent): string => (type === message ? message : type)

const undecodable = (
  { type }: StoredEvent,
  { stream, revision }: Pick<EventLocation, 'stream' | 'revision'>,
  { problem, isNewer, isKeyMissing }: Unreadable,
): E.Either<DecodeFailed, never> =>
  E.left({
    _tag: 'DecodeFailed',
    message: `event ${revision} of stream ${stream} (${type}) cannot be read: ${problem}`,
    stream,
    revision,
    ...(isNewer && { isNewer }),
    ...(isKeyMissing && { isKeyMissing }),
  })

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
