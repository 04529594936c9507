import type { StoredEvent } from '../../events/codec.ts'
import type { Part, RecordedEvent } from '../port.ts'

// How an event says in its stored metadata that it is part of a write of several appends. Readers get the event as it was before, to
// the byte, so that hash chain, exports and copies know nothing of it.

/** What the metadata text of such an event begins with; no other may begin so. */
const mark = '{"$part":'

/** Total: appends of anything come here. */
export const isMarked = (event: Partial<StoredEvent> | null | undefined): boolean =>
  typeof event?.metadata === 'string' && event.metadata.startsWith(mark)

/** Whether an event can be marked: its metadata is an object. */
export const canBeMarked = ({ metadata }: StoredEvent): boolean => metadata.startsWith('{')

/** The events of one append, each marked as part of the write. */
export const marked = (events: readonly StoredEvent[], part: Part): readonly StoredEvent[] =>
  events.map((event, index) => withMark(event, index < events.length - 1 ? { from: part.from } : part))

const withMark = (event: StoredEvent, part: Part): StoredEvent => {
  const rest = event.metadata.slice(1)
  const comma = /^\s*\}/.test(rest) ? '' : ','
  return { ...event, metadata: `${mark}${JSON.stringify(part)}${comma}${rest}` }
}

/** The event as it was before it was marked, and its mark apart. One whose mark cannot be read stays as it is. */
export const unmarked = (event: RecordedEvent): RecordedEvent => {
  if (!isMarked(event)) return event
  // A mark holds a number and a stream's name: the first brace closes it.
  const end = event.metadata.indexOf('}') + 1
  const part = partIn(event.metadata.slice(mark.length, end))
  if (!part || part.from > event.revision) return event
  const rest = event.metadata.slice(end)
  return { ...event, metadata: `{${rest.startsWith(',') ? rest.slice(1) : rest}`, part }
}

const partIn = (text: string): Part | undefined => {
  try {
    const { from, last } = JSON.parse(text) as Partial<Part>
    const isPart =
      Number.isSafeInteger(from) &&
      Number(from) >= 0 &&
      (last === undefined || last === true || isRecord(last))
    return isPart ? (JSON.parse(text) as Part) : undefined
  } catch {
    return undefined
  }
}

/** Streams of records: each of their events names the streams in which a write became whole by it. */
export const recordPrefix = 'import-'

export const isRecord = (stream: unknown): stream is string =>
  typeof stream === 'string' && stream.startsWith(recordPrefix)

/** The events of one stream that belong to a write, both ends included. */
export interface Stretch {
  readonly stream: string
  readonly from: number
  readonly to: number
}

/** What a record says, as the data of its event: one string, which large content takes outside if it must. */
export const recordOf = (stretches: readonly Stretch[]): string =>
  JSON.stringify({ streams: stretches.map(({ stream, from, to }) => `${stream} ${from} ${to}`).join('\n') })

/** The stretches that an event makes whole: its own write's, or those that it records. Undefined if it completes nothing. */
export const completedBy = ({
  stream,
  revision,
  part,
  data,
}: RecordedEvent): readonly Stretch[] | undefined => {
  if (part?.last === true) return [{ stream, from: part.from, to: revision }]
  return isRecord(stream) ? stretchesIn(data) : undefined
}

const stretchesIn = (data: string): readonly Stretch[] => {
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
