import * as E from 'fp-ts/lib/Either.js'
import type { StoredEvent } from '../../events/codec.ts'
import { eventTooLarge, type EventTooLarge, type InvalidInput, invalidInput } from '../../events/errors.ts'
import { isCut } from '../marks.ts'
import { canBeCut, referenceBytes } from './cut.ts'
import { type Literal, literalsOver } from './literals.ts'

/** Maximum size of an event without the content stored outside: 16 MiB of JSON, data and metadata together. */
export const maxEventBytes = 16 * 1024 * 1024
/** Minimum size of a string worth storing outside its event, in bytes. */
const leastOutside = 2 * referenceBytes

/** Limits on content stored inside events. */
export interface InlineLimits {
  /** Maximum bytes of a string kept in its event. */
  readonly threshold: number
  /** Maximum bytes of all events in an append. */
  readonly append: number
}

/** An event and the strings to store outside it. */
interface Planned {
  readonly event: StoredEvent
  readonly literals: Literal[]
  /** Number of bytes that remain in the event. */
  readonly bytes: number
}

/**
 * Selects the strings of each event to store outside it: those above the threshold, then the largest remaining ones until the append is
 * small enough. The strings of each event are returned in order. Errors: `InvalidInput`, `EventTooLarge`.
 */
export const planOutside = (
  events: readonly StoredEvent[],
  limits: InlineLimits,
): E.Either<InvalidInput | EventTooLarge, readonly (readonly Literal[])[]> => {
  if (events.some(isCut))
    return E.left(invalidInput('metadata.$blobs', 'is reserved for content outside events'))
  const planned = events.map((event) => planOne(event, limits.threshold))
  const largest = planned.find(({ bytes }) => bytes > maxEventBytes)
  if (largest) return E.left(tooLarge('the event is', largest.bytes, 'an event', maxEventBytes))
  const total = takeMore(planned, limits.append)
  if (total > limits.append) {
    const advice = events.length > 1 ? ': append fewer at once' : ''
    return E.left(tooLarge('the events written at once are', total, 'the store', limits.append, advice))
  }
  return E.right(planned.map(({ literals }) => literals.toSorted((a, b) => a.from - b.from)))
}

const planOne = (event: StoredEvent, threshold: number): Planned => {
  const literals = canBeCut(event) ? [...literalsOver(event.data, threshold)] : []
  const whole = Buffer.byteLength(event.data) + Buffer.byteLength(event.metadata)
  return { event, literals, bytes: literals.reduce((bytes, literal) => bytes - savedBy(literal), whole) }
}

const mebibytes = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(1)} MiB`

const tooLarge = (what: string, bytes: number, whose: string, limit: number, advice = ''): EventTooLarge =>
  eventTooLarge(
    `${what} ${mebibytes(bytes)} of JSON, without the long strings, which are stored outside; ${whose} accepts at most ${mebibytes(limit)}${advice}`,
    bytes,
    limit,
  )

const savedBy = ({ bytes }: Literal): number => bytes - referenceBytes

/**
 * Selects the largest remaining strings for storage outside the events until the events fit, if possible. Returns the number of bytes
 * that remain in the events.
 */
const takeMore = (planned: readonly Planned[], most: number): number => {
  let total = planned.reduce((sum, { bytes }) => sum + bytes, 0)
  if (total <= most) return total
  const left = planned.flatMap(({ event, literals }) => {
    const taken = new Set(literals.map(({ from }) => from))
    const others = canBeCut(event) ? literalsOver(event.data, leastOutside) : []
    return others.filter(({ from }) => !taken.has(from)).map((literal) => ({ literal, literals }))
  })
  for (const { literal, literals } of left.toSorted((a, b) => b.literal.bytes - a.literal.bytes)) {
    if (total <= most) break
    literals.push(literal)
    total -= savedBy(literal)
  }
  return total
}
