import * as E from 'fp-ts/lib/Either.js'
import type { StoredEvent } from '../events/codec.ts'
import { type InvalidInput, invalidInput } from '../events/errors.ts'
import type { AppendRequest, EventReplacement } from './port.ts'

/**
 * Checks an append and copies it, so that the caller may change its objects afterwards. Errors: `InvalidInput` for content that a store
 * could not store and return unchanged.
 */
export const checkAppend = ({
  stream,
  events,
  expected,
  repeat,
  replaces = [],
  unchanged,
  unwritten,
}: AppendRequest): E.Either<InvalidInput, AppendRequest> => {
  if (!isText(stream) || stream === '') return E.left(invalidInput('stream', 'must be the name of a stream'))
  if (!Number.isSafeInteger(expected) || expected < -1)
    return E.left(invalidInput('expected', "must be the stream's last revision, or -1 for a new stream"))
  if (!Array.isArray(events) || events.length === 0)
    return E.left(invalidInput('events', 'must contain at least one event'))
  const kept: StoredEvent[] = []
  for (let index = 0; index < events.length; index++) {
    const event = keptOf(events[index])
    if (!event) return E.left(invalidInput(`events[${index}]`, needed))
    kept.push(event)
  }
  const replaced: EventReplacement[] = []
  for (const { stream: of, revision, event } of replaces) {
    const whole = keptOf(event)
    if (!whole) return E.left(invalidInput(`replaces[${replaced.length}]`, needed))
    replaced.push({ stream: of, revision, event: whole })
  }
  return E.right({
    stream,
    events: kept,
    expected,
    ...(repeat && { repeat }),
    ...(replaced.length > 0 && { replaces: replaced }),
    ...(unchanged && { unchanged: unchanged.map((end) => ({ ...end })) }),
    ...(unwritten && { unwritten: { ...unwritten } }),
  })
}

const needed =
  'must have the strings id, type, data and metadata, without lone surrogates and raw U+0000 (JSON writes it as \\u0000); id and type must not be empty'

const keptOf = (event: Partial<StoredEvent> | null | undefined): StoredEvent | undefined => {
  const { id, type, data, metadata } = event ?? {}
  const isWhole = isText(id) && isText(type) && isText(data) && isText(metadata) && id !== '' && type !== ''
  return isWhole ? { id, type, data, metadata } : undefined
}

/** Returns whether every store returns a text unchanged. The SQLite driver of Node 22 ends a text at the first U+0000. */
const isText = (value: unknown): value is string =>
  typeof value === 'string' && value.isWellFormed() && !value.includes('\0')
