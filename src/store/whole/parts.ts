import type { StoredEvent } from '../../events/codec.ts'
import { isMarked, partMark } from '../marks.ts'
import type { WritePart, RecordedEvent } from '../port.ts'

// The mark in the stored metadata of an event that is part of a write of several appends. Readers get the event without the mark, byte
// for byte as appended, so hash chain, exports and copies do not depend on the mark.

/** Reports whether an event can be marked, which requires its metadata to be an object. */
export const canBeMarked = ({ metadata }: StoredEvent): boolean => metadata.startsWith('{')

/** Returns the events of one append, each marked as part of a write of several appends. */
export const markEvents = (events: readonly StoredEvent[], part: WritePart): readonly StoredEvent[] =>
  events.map((event, index) => withMark(event, partOf(part, index, events.length)))

/** Returns the part of one of several events of an append: only the last one may complete the write. */
export const partOf = (part: WritePart, index: number, count: number): WritePart =>
  index < count - 1 ? { from: part.from } : part

/** Returns an event, or what is left of one, marked as part of a write of several appends. */
export const withMark = <E extends Pick<StoredEvent, 'metadata'>>(event: E, part: WritePart): E => {
  const rest = event.metadata.slice(1)
  const comma = /^\s*\}/.test(rest) ? '' : ','
  return { ...event, metadata: `${partMark}${JSON.stringify(part)}${comma}${rest}` }
}

/**
 * Returns an event without its mark; the content of the mark becomes the property `part`. An event with an unreadable mark is
 * unchanged.
 */
export const removeMark = (event: RecordedEvent): RecordedEvent => {
  if (!isMarked(event)) return event
  // A mark contains a number and a stream's name: the first brace closes it.
  const end = event.metadata.indexOf('}') + 1
  const part = partIn(event.metadata.slice(partMark.length, end))
  if (!part || part.from > event.revision) return event
  const rest = event.metadata.slice(end)
  return { ...event, metadata: `{${rest.startsWith(',') ? rest.slice(1) : rest}`, part }
}

const partIn = (text: string): WritePart | undefined => {
  try {
    const { from, last } = JSON.parse(text) as Partial<WritePart>
    const isPart =
      Number.isSafeInteger(from) &&
      Number(from) >= 0 &&
      (last === undefined || last === true || isRecord(last))
    return isPart ? (JSON.parse(text) as WritePart) : undefined
  } catch {
    return undefined
  }
}

/**
 * Prefix of the names of record streams. An event in a record stream completes a write by naming the streams that the write includes.
 */
export const recordPrefix = 'import-'

export const isRecord = (stream: unknown): stream is string =>
  typeof stream === 'string' && stream.startsWith(recordPrefix)

/** Range of a stream's revisions that belong to a write of several appends, both ends inclusive. */
export interface RevisionRange {
  readonly stream: string
  readonly from: number
  readonly to: number
}

/**
 * Returns the data of an event in a record stream. All ranges are in one string, so that they can be stored outside the event if they
 * are large.
 */
export const recordOf = (stretches: readonly RevisionRange[]): string =>
  JSON.stringify({ streams: stretches.map(({ stream, from, to }) => `${stream} ${from} ${to}`).join('\n') })

/**
 * Returns the ranges of revisions that an event completes: the range of the event's own write, or the ranges listed in a record.
 * Returns undefined if the event completes nothing.
 */
export const partsCompletedBy = ({
  stream,
  revision,
  part,
  data,
}: RecordedEvent): readonly RevisionRange[] | undefined => {
  if (part?.last === true) return [{ stream, from: part.from, to: revision }]
  return isRecord(stream) ? stretchesIn(data) : undefined
}

const stretchesIn = (data: string): readonly RevisionRange[] => {
  try {
    const { streams } = JSON.parse(data) as { readonly streams?: unknown }
    return String(streams)
      .split('\n')
      .flatMap((line) => {
        const [, stream, from, to] = /^(.+) (\d+) (\d+)$/.exec(line) ?? []
        return stream === undefined ? [] : [{ stream, from: Number(from), to: Number(to) }]
      })
  } catch {
    return []
  }
}
