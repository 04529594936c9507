import { rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { agent } from '../../examples/agent/agent.ts'
import { notingClient } from '../../examples/agent/client.ts'
import { eventsFrom, play } from '../../examples/agent/play.ts'
import { standIn } from '../../examples/agent/stand-in.ts'
import { workspace } from '../../examples/agent/workspace.ts'
import { digestOf, type SentRequest } from '../../src/agent/receipts/canonical.ts'
import { type ModelCall, createCallCounter } from '../../src/agent/receipts/calls.ts'
import { currentRenderer, requestOf } from '../../src/agent/receipts/request.ts'
import { type Conversation, type ConversationEvent, type Effective, openStore } from '../../src/index.ts'
import { canonical } from '../../src/testing/messages-api/canonical.ts'
import type { ApiExchange } from '../../src/testing/messages-api/server.ts'
import { atLeast, atMost, count, type PartResult } from '../report.ts'

const model = 'claude-opus-5-5'
const window = 10_000

/** A request beside the one before it. Sizes are bytes. */
interface Pair {
  /** Number of the call that the later request was for, as counted by `palimpsest request --call`. */
  readonly call: number
  readonly bytes: number
  /** How much of its beginning could be that of the request before, and how much is. */
  readonly could: number
  readonly shared: number
  /** What was written in between. */
  readonly between: readonly string[]
  /** Tokens read from the cache, written to it, and neither. */
  readonly usage: readonly [read: number, written: number, other: number]
}

/** What consecutive requests of the demo share. */
export const cache = async (isQuick: boolean): Promise<PartResult> => {
  const turns = isQuick ? 20 : 200
  const { name, project } = await workspace()
  const api = await standIn(model, window)
  const store = await openStore('memory:')
  try {
    const { client, refused } = notingClient(api.url)
    const chat = store.conversation(name)
    const prompted = agent({ chat, client, model, window, folder: project })
    for await (const _ of play(chat, prompted, turns));
    return resultOf(turns, await pairsOf(chat, api.requests), refused.length)
  } finally {
    await store.close()
    await api.close()
    await rm(dirname(project), { recursive: true })
  }
}

const pairsOf = async (chat: Conversation, requests: readonly ApiExchange[]): Promise<readonly Pair[]> => {
  const events = await eventsFrom(chat)
  const pairs: Pair[] = []
  const callsOf = createCallCounter()
  let before: { readonly call: ModelCall; readonly pieces: readonly string[] } | undefined
  for (const event of events) {
    const [call] = callsOf(event)
    if (call?.kind !== 'reply') continue
    const pieces = piecesOf(sentFor(call, requests))
    if (before) {
      const between = events.slice(before.call.receipt.position + 1, call.receipt.position + 1)
      const view = await chat.context({ at: before.call.receipt.position })
      pairs.push({
        call: call.number,
        bytes: bytesOf(pieces),
        could: couldShare(view, before.pieces, between),
        shared: sharedBytes(before.pieces, pieces),
        between: between.flatMap(wordOf),
        usage: usageOf(call),
      })
    }
    before = { call, pieces }
  }
  return pairs
}

/** What the API was sent, to the byte what the receipt is of. */
const sentFor = ({ number, origin, receipt }: ModelCall, requests: readonly ApiExchange[]): SentRequest => {
  // The stand-in counts its requests, and they come one after the other.
  const received = requests[Number(origin.requestId?.replace('req_', '')) - 1]
  const sent = received?.body as unknown as SentRequest
  if (digestOf(sent) !== receipt.digest) throw new Error(`the request of call ${number} was not found`)
  return sent
}

/** A request as the cache compares it, piece by piece: tools, system, the blocks of the messages; without breakpoints. */
const piecesOf = ({ tools = [], system = [], messages }: SentRequest): readonly string[] => [
  ...tools.map(canonical),
  ...[system].flat().map(canonical),
  ...messages.flatMap(({ role, content }) => content.map((block) => role + canonical(block))),
]

const bytesOf = (pieces: readonly string[]): number => Buffer.byteLength(pieces.join(''))

/** The bytes of a request that the next one could begin with: all, or what stands before the first item that a marker covers. */
const couldShare = (
  view: Effective,
  pieces: readonly string[],
  between: readonly ConversationEvent[],
): number => {
  const covered = between.flatMap((event) => {
    if (event.type !== 'Condensed' && event.type !== 'Truncated') return []
    const index = view.items.findIndex(({ position }) => position === event.data.covers.first)
    // What begins with an earlier one of these markers begins where that does.
    return index < 0 ? [] : [index]
  })
  if (covered.length === 0) return bytesOf(pieces)
  const rest = requestOf(
    { ...view, items: view.items.slice(0, Math.min(...covered)) },
    { renderer: currentRenderer, cache: '5m' },
  )
  if (E.isLeft(rest)) throw new Error(rest.left.message)
  return sharedBytes(pieces, piecesOf(rest.right))
}

const sharedBytes = (before: readonly string[], after: readonly string[]): number => {
  const end = before.findIndex((piece, index) => piece !== after[index])
  return bytesOf(end < 0 ? before : before.slice(0, end))
}

const wordOf = ({ type, data }: ConversationEvent): readonly string[] => {
  if (type === 'MessageAppended') {
    if (data.role === 'assistant') return []
    return data.content.some((block) => block.type === 'tool_result') ? ['results'] : ['prompt']
  }
  return [type.toLowerCase()]
}

const usageOf = ({ origin: { usage = {} } }: ModelCall): Pair['usage'] => [
  Number(usage['cache_read_input_tokens']),
  Number(usage['cache_creation_input_tokens']),
  Number(usage['input_tokens']),
]

const percent = (share: number): string => `${(100 * share).toFixed(2)} %`

const resultOf = (turns: number, pairs: readonly Pair[], refused: number): PartResult => {
  const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0)
  const shareOf = (some: readonly Pair[]): number =>
    sum(some.map(({ shared }) => shared)) / sum(some.map(({ could }) => could))
  const isCut = ({ between }: Pair): boolean => between.includes('condensed') || between.includes('truncated')
  const cut = pairs.filter(isCut)
  const [read, ...others] = [0, 1, 2].map((kind) => sum(pairs.map(({ usage }) => usage[kind] ?? 0)))
  const markers = (word: string): number =>
    pairs.flatMap(({ between }) => between).filter((each) => each === word).length
  return {
    title: 'Cache: what consecutive requests of the demo agent share',
    figures: [
      atLeast('shared bytes beside those that could be, in all', shareOf(pairs), 0.99, percent),
      {
        what: 'of the request that shares least',
        figure: percent(Math.min(...pairs.map((pair) => shareOf([pair])))),
      },
      {
        what: `of the ${count(cut.length)} requests behind a condense or a truncation`,
        figure: percent(shareOf(cut)),
      },
      {
        what: 'bytes that could be shared beside all',
        figure: percent(sum(pairs.map(({ could }) => could)) / sum(pairs.map(({ bytes }) => bytes))),
      },
      {
        what: 'input tokens read from the cache',
        figure: percent((read ?? 0) / sum([read ?? 0, ...others])),
      },
      { what: 'condensed', figure: count(markers('condensed')) },
      { what: 'truncated', figure: count(markers('truncated')) },
      atMost('requests refused', refused, 0, count),
    ],
    table: {
      head: [
        'call',
        'bytes',
        'could be shared',
        'shared',
        'share',
        'came between',
        'cache read',
        'written',
        'other',
      ],
      rows: pairs.map(({ call, bytes, could, shared, between, usage }) =>
        [call, bytes, could, shared, percent(shared / could), between.join(', '), ...usage].map((cell) =>
          typeof cell === 'number' ? count(cell) : cell,
        ),
      ),
    },
    notes: [
      `\`npm run demo:agent\`, ${turns} turns against the stand-in in a window of ${count(window)} tokens; requests for summaries are left out.`,
      'Bytes are of the canonical JSON of tools, system and the messages’ blocks, in this order and without breakpoints; a block is shared as a whole or not at all. A request could share all of the one before it, or, where a marker was written in between, what stands before the first item that it covers.',
      'Tokens are as the stand-in bills them: its cache has beginnings at breakpoints only, of 1,024 tokens or more.',
    ],
  }
}
