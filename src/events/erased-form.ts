import { hash } from 'node:crypto'
import type { StoredEvent } from './stored-event.ts'
import { storedMetadata } from './codec.ts'
import type { ErasedEvents, Metadata } from './event-types.ts'
import { rangesOf } from './ranges.ts'
import { stubOf } from './withheld.ts'
import { erasedData } from './without-content.ts'

/** Form of a stored event without its content. */
export interface EventForm {
  readonly data: string
  readonly metadata: string
  /** Proves the hash of the event: see `stubOf`. */
  readonly stub: string
}

/** Returns what is left of an event without its content; undefined if its hash could not be proved, because another program wrote it. */
export const formOf = (stored: StoredEvent): EventForm | undefined => {
  const stub = stubOf(stored)
  if (stub === undefined) return undefined
  const before = JSON.parse(stored.metadata) as Metadata
  const { kind, id } = before.actor
  const metadata: Metadata = { ...storedMetadata(before), salt: undefined, actor: { kind, id } }
  const data = erasedData(stored.type, JSON.parse(stored.data))
  return { data: JSON.stringify(data), metadata: JSON.stringify(metadata), stub }
}

/** Returns what is left of an event like `formOf`; also undefined if another program wrote the event in a form of its own. */
export const provableForm = (stored: StoredEvent): EventForm | undefined => {
  try {
    return formOf(stored)
  } catch {
    return undefined
  }
}

/** Returns the metadata of an event that was erased at a time, in ISO 8601. */
export const erasedMetadata = ({ metadata, stub }: EventForm, time: string): string => {
  const erased: Metadata['erased'] = { time, stub }
  return `${metadata.slice(0, -1)},"erased":${JSON.stringify(erased)}}`
}

/**
 * Returns a stored event without its content, as it is kept after its erasure: same id, type, place and hash. Returns undefined if the
 * hash could not be proved, because another program wrote the event.
 *
 * @param time time of the erasure, in ISO 8601
 */
export const erasedForm = (stored: StoredEvent, time: string): StoredEvent | undefined => {
  const form = formOf(stored)
  if (!form) return undefined
  const { id, type } = stored
  return { id, type, data: form.data, metadata: erasedMetadata(form, time) }
}

/**
 * Returns the SHA-256 (hex) of what is left of an erased event. The event's own hash, of which only the state is known, proves none of it:
 * not even its id and its type.
 */
export const formHashOf = ({ id, type, data, metadata }: StoredEvent): string =>
  hash('sha256', `${id}\n${type}\n${data}\n${metadata}`)

/** Returns the record of erased events, given by position or revision, ascending, with the hashes of their forms. */
export const erasedEventsOf = (forms: ReadonlyMap<number, string>): ErasedEvents => ({
  ranges: rangesOf([...forms.keys()]),
  forms: hash('sha256', [...forms.values()].join('\n')),
})

/**
 * Compares a record of erased events with the forms found, and takes these from the map. Returns the first number at which they differ;
 * undefined if they match.
 */
export const takeErased = (
  { ranges, forms }: ErasedEvents,
  found: Map<number, string>,
): number | undefined => {
  const hashes: string[] = []
  for (const { first, last } of ranges)
    for (let number = first; number <= last; number++) {
      const form = found.get(number)
      if (form === undefined) return number
      hashes.push(form)
      found.delete(number)
    }
  return hash('sha256', hashes.join('\n')) === forms ? undefined : (ranges[0]?.first ?? 0)
}
