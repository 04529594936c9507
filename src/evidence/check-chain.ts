import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import {
  Broken,
  field,
  fileIn,
  given,
  listIn,
  Malformed,
  need,
  numberIn,
  optional,
  parse,
  textFrom,
  textIn,
} from './broken.ts'
import { isoTime } from '../events/events.ts'
import { linesIn } from './lines.ts'
import { files, type Manifest } from './manifest.ts'
import { openWithheld } from './withheld.ts'

/** The digests of the requests that events are the answers to, by position. */
export type Digests = ReadonlyMap<number, readonly unknown[]>

export interface Span {
  readonly from: string
  readonly to: string
}

interface Chain {
  /** When the first and the last event that says so were recorded. */
  readonly span: Span | undefined
  /** Hash of the event that the ledger names, if it is here. */
  readonly sealed: string | undefined
  readonly receipts: Digests
}

/** Reads every event; each must name the hash of the one before it. */
export const checkChain = async (folder: string, manifest: Manifest): Promise<Chain> => {
  const withheld: number[] = []
  const receipts = new Map<number, readonly unknown[]>()
  let count = 0
  let first = 0
  let head: string | null = null
  let sealed: string | undefined
  let span: Span | undefined
  for await (const lines of eventsIn(await fileIn(folder, files.events))) {
    const event = eventOf(lines)
    need(
      event.prev === head,
      `event ${count} was not written after the one before it: changed, missing or added`,
    )
    if (event.isWithheld) withheld.push(count)
    else if (event.type === 'Forked') {
      const from = field(parse(event.data), 'from')
      const isSo =
        count > 0 && numberIn(field(from, 'position')) === count - 1 && field(from, 'hash') === head
      need(isSo, `event ${count} was forked from something else`)
      first = count
      sealed = undefined
    } else {
      const digests = receiptsIn(event.type, event.data)
      if (digests.length > 0) receipts.set(count, digests)
    }
    if (manifest.ledger?.revision === count - first) sealed = event.hash
    head = event.hash
    if (event.time !== undefined) span = { from: span?.from ?? event.time, to: event.time }
    count++
  }
  for (const [name, fact] of Object.entries({ first, last: count - 1, head, withheld }))
    need(
      isDeepStrictEqual(field(manifest, name), fact),
      `bundle.json says something else than events.txt: ${name}`,
    )
  return { sealed, receipts, span }
}

interface Read {
  readonly hash: string
  readonly prev: unknown
  readonly time?: string
  readonly isWithheld: boolean
  readonly type: string
  readonly data: Buffer
}

const eventOf = (lines: Lines): Read => {
  const [id, type, data, metadata] = lines
  if (id.length === 0) {
    const opened = openWithheld(textFrom(joined([type, data, metadata])))
    if (opened === undefined) throw new Malformed()
    if (!opened) throw new Broken('what is here of a withheld event does not have the hash that is given')
    return { ...opened, isWithheld: true, type: '', data }
  }
  const stated = parse(metadata)
  const prev = field(stated, 'prev')
  const time = optional(stated, 'time')
  return {
    hash: hash('sha256', joined(lines)),
    prev,
    ...(typeof time === 'string' && isoTime.test(time) && { time }),
    isWithheld: false,
    type: type.toString('latin1'),
    data,
  }
}

/** The digests of the requests that an event is the answer to. */
const receiptsIn = (type: string, data: Buffer): readonly unknown[] => {
  if (!(type === 'MessageAppended' || type === 'Condensed') || !data.includes('"digest"')) return []
  const receipt = optional(optional(parse(data), 'origin') ?? {}, 'context') ?? {}
  const parts = type === 'Condensed' ? optional(optional(receipt, 'options') ?? {}, 'parts') : undefined
  const sent = listIn(parts ?? []).map((part) => optional(part, 'sent') ?? {})
  return [...sent, receipt].flatMap((one) => textIn(optional(one, 'digest') ?? '') || [])
}

/** The four lines of an event, without their newlines. */
type Lines = readonly [id: Buffer, type: Buffer, data: Buffer, metadata: Buffer]

const newline = Buffer.from('\n')
const joined = (lines: readonly Buffer[]): Buffer =>
  Buffer.concat(lines.flatMap((line, index) => (index > 0 ? [newline, line] : [line])))

const unfinished = 'events.txt ends in the middle of an event'

async function* eventsIn(path: string): AsyncGenerator<Lines, void> {
  let lines: Buffer[] = []
  for await (const line of linesIn(path, unfinished)) {
    lines.push(line)
    if (lines.length < 4) continue
    const [id, type, data, metadata] = lines
    yield [given(id), given(type), given(data), given(metadata)]
    lines = []
  }
  need(lines.length === 0, unfinished)
}
