import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import {
  BrokenBundleError,
  field,
  fileIn,
  requireValue,
  listIn,
  BundleFormatError,
  requireThat,
  numberIn,
  optional,
  parse,
  textFrom,
  textIn,
} from './bundle-errors.ts'
import { isoTime } from '../../events/events.ts'
import { linesIn } from './lines.ts'
import { files } from './manifest.ts'
import type { ReadManifest } from './read-manifest.ts'
import { openWithheld } from '../../events/withheld.ts'

/** Request digests from the receipts in a conversation's events, by event position. */
export type Digests = ReadonlyMap<number, readonly unknown[]>

export interface EventSpan {
  readonly from: string
  readonly to: string
}

/** Hashes of the events in a file, in order. */
interface Chain {
  readonly hashes: readonly string[]
  /** Positions of the withheld events. */
  readonly withheld: readonly number[]
}

interface ConversationChain extends Chain {
  readonly receipts: Digests
  /** Times of the first and last events that include a time. */
  readonly span: EventSpan | undefined
}

/** An event with its hash, which the next event contains as `prev`. */
export interface ChainedEvent extends Read {
  readonly position: number
  /** Hash of the preceding event; null for the first event. */
  readonly before: string | null
}

/**
 * Yields every event of a file. Each event must contain the hash of the preceding one.
 *
 * @param what noun for an event in error messages
 */
export async function* chainIn(
  folder: string,
  name: string,
  what: string,
): AsyncGenerator<ChainedEvent, void> {
  let position = 0
  let before: string | null = null
  const unfinished = `${name} ends in the middle of an event`
  for await (const lines of eventsIn(await fileIn(folder, name), unfinished)) {
    const event = eventOf(lines)
    requireThat(
      event.prev === before,
      `${what} ${position} does not contain the hash of the one before it: an event was changed, removed or added`,
    )
    yield { ...event, position, before }
    before = event.hash
    position++
  }
}

export const checkChain = async (folder: string, manifest: ReadManifest): Promise<ConversationChain> => {
  const hashes: string[] = []
  const withheld: number[] = []
  const receipts = new Map<number, readonly unknown[]>()
  let first = 0
  let span: EventSpan | undefined
  for await (const event of chainIn(folder, files.events, 'event')) {
    const { position, before, hash: own, time, type, data } = event
    if (event.isWithheld) withheld.push(position)
    else if (type === 'Forked') {
      const from = field(parse(data), 'from')
      const isSo =
        position > 0 && numberIn(field(from, 'position')) === position - 1 && field(from, 'hash') === before
      requireThat(isSo, `event ${position} is not forked from the one before it`)
      first = position
    } else {
      const digests = receiptsIn(type, data)
      if (digests.length > 0) receipts.set(position, digests)
    }
    hashes.push(own)
    if (time !== undefined) span = { from: span?.from ?? time, to: time }
  }
  const facts = { first, last: hashes.length - 1, head: hashes.at(-1) ?? null, withheld }
  for (const [name, fact] of Object.entries(facts))
    requireThat(isDeepStrictEqual(field(manifest, name), fact), `bundle.json contradicts events.txt: ${name}`)
  return { hashes, withheld, receipts, span }
}

/** Hashes of the events recorded by the conversation's turns. */
export interface TurnsChain extends Chain {
  /** Number of decisions that people made on tool calls. */
  readonly decisions: number
}

export const checkTurns = async (folder: string, { turns }: ReadManifest): Promise<TurnsChain> => {
  const hashes: string[] = []
  const withheld: number[] = []
  let decisions = 0
  for await (const { position, hash: own, isWithheld, type } of chainIn(
    folder,
    files.turns,
    'event of its turns',
  )) {
    hashes.push(own)
    if (isWithheld) withheld.push(position)
    if (type === 'CallDecided') decisions++
  }
  requireThat(
    isDeepStrictEqual(turns, { events: hashes.length, withheld }),
    'bundle.json contradicts turns.txt: turns',
  )
  return { hashes, withheld, decisions }
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
    if (opened === undefined) throw new BundleFormatError()
    if (!opened)
      throw new BrokenBundleError('the remaining data of a withheld event does not match its stated hash')
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

/** Returns the request digests from the receipts of an event. */
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

async function* eventsIn(path: string, unfinished: string): AsyncGenerator<Lines, void> {
  let lines: Buffer[] = []
  for await (const line of linesIn(path, unfinished)) {
    lines.push(line)
    if (lines.length < 4) continue
    const [id, type, data, metadata] = lines
    yield [requireValue(id), requireValue(type), requireValue(data), requireValue(metadata)]
    lines = []
  }
  requireThat(lines.length === 0, unfinished)
}
