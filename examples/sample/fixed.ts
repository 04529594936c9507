import { hash } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import { requestIn } from '../../src/agent/receipts/made-again.ts'
import { itemPrintsIn } from '../../src/agent/receipts/receipt-blocks.ts'
import { receiptDigest } from '../../src/agent/receipts/receipt-digest.ts'
import { decode, hashOf } from '../../src/events/codec.ts'
import { isBlock } from '../../src/events/blocks.ts'
import { contentOf, type ConversationEvent, type Receipt } from '../../src/events/events.ts'
import { effective } from '../../src/projections/effective.ts'
import { eventId, notesStreamOf, streamOf } from '../../src/events/ids.ts'
import { palimpsestLine } from '../../src/transfer/formats/write-palimpsest.ts'
import type { PlacedEvent } from '../../src/conversation/reading/stored-events.ts'
import type { Store } from '../../src/index.ts'

/** When it begins, and how long after an event the next one comes, in milliseconds. */
const beginning = Date.parse('2026-06-11T13:02:07.000Z')
const pause = 7_350
/** The same of a subagent: all of its events come before the result of its call. */
const subagentPause = 1_150

/** The lines of conversations, parents before their forks, with times, ids and hashes that depend only on what happened. */
export const fixed = async (store: Store, ids: readonly string[]): Promise<readonly string[]> => {
  const rewrite = rewriting()
  const lines = new Map<string, string>()
  for (const id of ids)
    for await (const event of store.conversation(id).stored()) {
      // A fork begins with the events of its parent.
      const place = `${event.conversation} ${streamIn(event)} ${event.revision}`
      if (!lines.has(place)) lines.set(place, `${palimpsestLine(rewrite(event))}\n`)
    }
  return [...lines.values()]
}

const streamIn = ({ type, conversation }: PlacedEvent): string =>
  type === 'Noted' || type === 'Linked' ? notesStreamOf(conversation) : streamOf(conversation)

interface Metadata {
  readonly time: string
  readonly commandId: string
  readonly prev?: string | null
}
interface Data {
  readonly origin?: { readonly starts?: string; readonly context?: Receipt }
  readonly from?: { readonly conversation?: string; readonly position?: number; readonly hash?: string }
}

/** Rewrites events in the order in which they come. */
const rewriting = (): ((event: PlacedEvent) => PlacedEvent) => {
  /** New hashes by old ones; commands in the order in which they come, with how many events they wrote. */
  const hashes = new Map<string, string>()
  const commands = new Map<string, { readonly name: string; readonly time: string; events: number }>()
  /** The logs of the conversations as rewritten. */
  const logs = new Map<string, ConversationEvent[]>()
  /** Times of the next commands of subagents, in milliseconds since 1970. */
  const next = new Map<string, number>()
  const timeOf = ({ conversation }: PlacedEvent): number => {
    const time = next.get(conversation) ?? calledAt(conversation, logs)
    if (time === undefined) return beginning + commands.size * pause
    next.set(conversation, time + subagentPause)
    return time + subagentPause
  }
  return (event) => {
    const metadata = JSON.parse(event.metadata) as Metadata
    const log = logs.get(event.conversation) ?? inherited(event, logs)
    logs.set(event.conversation, log)
    const known = commands.get(metadata.commandId)
    const command = known ?? {
      name: `sample-${commands.size}`,
      time: new Date(timeOf(event)).toISOString(),
      events: 0,
    }
    commands.set(metadata.commandId, command)
    const { prev } = metadata
    const stored = {
      id: eventId(streamIn(event), command.name, command.events++),
      type: event.type,
      data: dataOf(event, hashes, log),
      metadata: JSON.stringify({
        ...metadata,
        salt: hash('sha256', `${streamIn(event)} ${event.revision}`, 'base64url').slice(0, 22),
        time: command.time,
        commandId: command.name,
        ...(typeof prev === 'string' && { prev: hashes.get(prev) }),
      }),
    }
    hashes.set(hashOf(event), hashOf(stored))
    const place = { stream: streamIn(event), revision: event.revision, position: log.length }
    const decoded = decode(stored, place)
    if (E.isRight(decoded)) log.push(decoded.right)
    return { ...event, ...stored }
  }
}

/** Returns when a subagent was called, which is named `PARENT.TOOL`; undefined for other conversations. */
const calledAt = (
  conversation: string,
  logs: ReadonlyMap<string, readonly ConversationEvent[]>,
): number | undefined => {
  const [parent = '', tool] = conversation.split('.')
  const call = logs
    .get(parent)
    ?.find((event) =>
      contentOf(event).some(({ content }) =>
        content.some((block) => isBlock(block, 'tool_use') && block.name === tool),
      ),
    )
  return call && Date.parse(call.metadata.time)
}

/** The log that a conversation begins with: a fork's is that of its parent. */
const inherited = (
  { type, data }: PlacedEvent,
  logs: ReadonlyMap<string, readonly ConversationEvent[]>,
): ConversationEvent[] => {
  if (type !== 'Forked') return []
  const { conversation = '', position = -1 } = (JSON.parse(data) as Data).from ?? {}
  return (logs.get(conversation) ?? []).slice(0, position + 1)
}

/**
 * A fork names the hash of where it begins; a receipt depends on the salts of the log; and nothing is known here of the stream in which a
 * turn notes what it starts.
 */
const dataOf = (
  { type, data }: PlacedEvent,
  hashes: ReadonlyMap<string, string>,
  log: readonly ConversationEvent[],
): string => {
  const { origin, from, ...rest } = JSON.parse(data) as Data
  const { starts: _, context, ...own } = origin ?? {}
  if (type === 'Forked')
    return JSON.stringify({ ...rest, from: { ...from, hash: hashes.get(from?.hash ?? '') } })
  if (!origin) return data
  return JSON.stringify({ ...rest, origin: { ...own, ...(context && { context: receiptOn(log, context) }) } })
}

/** The receipt of the same request, made from this log. */
const receiptOn = (log: readonly ConversationEvent[], receipt: Receipt): Receipt => {
  const { position, options } = receipt
  const now = effective(log, position)
  const kind = 'summarizer' in options ? 'summary' : 'reply'
  const made = requestIn({ kind, receipt }, now)
  if (E.isLeft(made)) throw new Error(made.left.message)
  const items = kind === 'reply' && { items: itemPrintsIn(now) }
  return { position, digest: receiptDigest(now, made.right), options: { ...options, ...items } }
}
