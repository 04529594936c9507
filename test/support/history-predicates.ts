import { isDeepStrictEqual } from 'node:util'
import type { Block } from '../../src/events/blocks.ts'
import type { Event } from '../../src/events/events.ts'
import { effective } from '../../src/projections/effective.ts'
import type { Log } from '../../src/projections/path.ts'
import { fillers } from '../../src/projections/render/page.ts'
import { render, type RenderOptions } from '../../src/projections/render/render.ts'
import { hadToGiveWay, withoutMedia } from './media-predicates.ts'
import type { Case } from './predicates.ts'

type Rendered = Case['rendered']

/** Where a request comes from. */
export interface History {
  readonly log: Log
  readonly at: number
  /** Positions of the items shown, by the model. */
  readonly shown: readonly number[]
  /** What the same log renders at an earlier position, with the same options. */
  readonly earlier: (position: number) => Rendered
  /** What a copy of the log, by way of JSON, renders at the same position, with the same options. */
  readonly again: Rendered
}

interface Said {
  readonly position: number
  readonly content: readonly Block[]
  readonly reply: string | undefined
}
const isThinking = ({ type }: Block): boolean => type === 'thinking' || type === 'redacted_thinking'

const saidAt = (log: Log, position: number): readonly Said[] => {
  const event: Event | undefined = log[position]
  if (event?.type !== 'MessageAppended') return []
  return [{ position, content: event.data.content, reply: event.data.origin?.requestId }]
}

/** The messages whose thinking is in the request, each whole, and what of the request's thinking is in none. */
const owners = (
  { rendered }: Case,
  { log, shown }: History,
): { owners: readonly Said[]; rest: readonly Block[] } => {
  let rest = rendered.messages.flatMap(({ content }) => content.filter(isThinking))
  const found = shown
    .flatMap((position) => saidAt(log, position))
    .filter(({ content }) => {
      const own = content.filter(isThinking)
      const isThere = own.length > 0 && isDeepStrictEqual(rest.slice(0, own.length), own)
      if (isThere) rest = rest.slice(own.length)
      return isThere
    })
  return { owners: found, rest }
}

/** 11. Message by message in stored order, all of a message's thinking or none, deep-equal. */
const thinkingIsStored = (request: Case): readonly string[] =>
  request.history && owners(request, request.history).rest.length > 0
    ? ['`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified']
    : []

const bare = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(bare)
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value).flatMap(([key, field]) =>
    key === 'cache_control' ? [] : [[key, bare(field)]],
  )
}

interface Flat {
  readonly role: string
  readonly block: Block
  /** Role and block without `cache_control`. */
  readonly text: string
}
/** The blocks of a request one after the other: merged or not, the same things were said by the same. */
const flat = (rendered: Rendered): readonly Flat[] => {
  const known = flats.get(rendered)
  if (known) return known
  const made = rendered.messages.flatMap(({ role, content }) =>
    content.map((block) => ({ role, block, text: JSON.stringify([role, bare(block)]) })),
  )
  flats.set(rendered, made)
  return made
}
// A request is compared with many others.
const flats = new WeakMap<Rendered, readonly Flat[]>()

const isFiller = ({ block }: Flat): boolean =>
  block['is_error'] === true && block['content'] === fillers.noResult

/** Without the error results at its very end, which stand for answers that may still come. */
const unanswered = (blocks: readonly Flat[]): readonly Flat[] =>
  blocks.slice(0, blocks.findLastIndex((block) => !isFiller(block)) + 1)

const isPrefix = (before: readonly Flat[], now: readonly Flat[]): boolean =>
  before.every(({ text }, index) => text === now[index]?.text)

const frame = ({ system, tools }: Rendered): string => JSON.stringify(bare([system ?? null, tools ?? null]))

/**
 * 12. What the request holds before a thinking block is what a request held when the block was produced, and what the message
 * itself says before it.
 */
const thinkingIsBound = (request: Case): readonly string[] => {
  const { history, rendered } = request
  if (!history) return []
  const now = flat(rendered)
  return owners(request, history).owners.flatMap((owner) => {
    const then = history.earlier(owner.position - 1)
    const start = owner.content.findIndex(isThinking) + thoughtBefore(owner, history)
    const thought = JSON.stringify(['assistant', bare(owner.content.find(isThinking))])
    const before = now.slice(
      0,
      now.findIndex(({ text }) => text === thought),
    )
    const isSame = producedUnder(flat(then), now, owner, history).some((prefix) => {
      const own = before.slice(prefix.length)
      return isPrefix(prefix, before) && own.length <= start && own.every(({ role }) => role === 'assistant')
    })
    return isSame && frame(then) === frame(rendered)
      ? []
      : [
          `Invalid \`signature\` in \`thinking\` block: that of ${owner.position} is bound to a different conversation`,
        ]
  })
}

/** How many blocks of thinking the parts of the same reply are that come right before one and say nothing else. */
const thoughtBefore = (owner: Said, { log, shown }: History): number => {
  const earlier = shown.filter((position) => position < owner.position).map((at) => saidAt(log, at)[0])
  const isThought = (block: Block): boolean =>
    isThinking(block) || (block.type === 'text' && block.text.trim() === '')
  const isHeld = (part: Said | undefined): boolean =>
    part?.reply !== undefined && part.reply === owner.reply && part.content.every(isThought)
  const parts = earlier.slice(earlier.findLastIndex((part) => !isHeld(part)) + 1)
  return parts.flatMap((part) => part?.content.filter(isThinking) ?? []).length
}

/** What may stand before a message that was said when the request was `then`. */
const producedUnder = (
  then: readonly Flat[],
  now: readonly Flat[],
  owner: Said,
  { log, shown }: History,
): readonly (readonly Flat[])[] => {
  const isContinued =
    owner.reply !== undefined &&
    shown.some((position) => position < owner.position && saidAt(log, position)[0]?.reply === owner.reply)
  // A later part of one reply was produced before any answer to the calls of the earlier parts.
  if (then.length > 0) return isContinued ? [then, unanswered(then)] : [then]
  // Nothing had been said: what stands there now is render's own.
  return [
    then,
    now.slice(
      0,
      Math.max(
        0,
        now.findIndex((one) => !isNote(one)),
      ),
    ),
  ]
}

const isNote = ({ role, block }: Flat): boolean =>
  role === 'user' &&
  (block['text'] === fillers.noBeginning ||
    /^\[\d+ earlier messages? (is|are) not shown\.\]$/.test(String(block['text'])))

const isServerUse = ({ type }: Block): boolean => type === 'server_tool_use' || type === 'mcp_tool_use'

/** The server tool uses of a request that have no result in it. */
const waitingIn = (blocks: readonly Flat[]): ReadonlySet<string> => {
  const served = new Set(blocks.map(({ block }) => block['tool_use_id']))
  return new Set(
    blocks.filter(({ block }) => isServerUse(block) && !served.has(block['id'])).map(({ text }) => text),
  )
}

/**
 * Where the messages begin that may still change, the end of the request if there are none: the message of the last turn with a server
 * tool use that waits, or with a call that has an error result; the last message, if it is the assistant's.
 */
const unsettledFrom = ({ messages }: Rendered, waiting: ReadonlySet<string>): number => {
  const said = messages.findLastIndex(
    ({ role, content }) => role !== 'assistant' && content.some(({ type }) => type !== 'tool_result'),
  )
  const index = messages.findIndex(({ role, content }, at) => {
    if (at <= said || role !== 'assistant') return false
    const isWaiting = content.some((block) => waiting.has(JSON.stringify([role, bare(block)])))
    const next = messages[at + 1]?.content
    return isWaiting || !next || next.some((block) => isFiller({ role, block, text: '' }))
  })
  return index < 0 ? messages.length : index
}

/**
 * Whether nothing of an earlier request was changed but what may be: at the end of a turn that was open, error results, which real ones
 * replace; server tool uses without a result, and with either all thinking from their message on.
 */
const isKept = (before: Rendered, now: Rendered): boolean => {
  if (isPrefix(unanswered(flat(before)), flat(now))) return true
  const waiting = waitingIn(flat(before))
  const from = unsettledFrom(before, waiting)
  const settled = flat(before).slice(
    0,
    before.messages.slice(0, from).reduce((sum, { content }) => sum + content.length, 0),
  )
  const rest = (blocks: readonly Flat[], role: string): readonly Flat[] =>
    blocks
      .slice(settled.length)
      .filter(
        (one) => one.role === role && !isThinking(one.block) && !waiting.has(one.text) && !isFiller(one),
      )
  return (
    from < before.messages.length &&
    isPrefix(settled, flat(now)) &&
    ['user', 'assistant'].every((role) => isPrefix(rest(flat(before), role), rest(flat(now), role)))
  )
}

/** Whether nothing changed but older images and documents that had to give way, with the thinking that was produced when they were there. */
const gaveWay = (before: Rendered, now: Rendered): boolean =>
  hadToGiveWay(before, now) && isKept(withoutMedia(before), withoutMedia(now))

/** 15. With only messages appended since, an earlier request is a prefix of this one, but for the end of an open turn, and for images that give way. */
const isMonotonic = ({ rendered, history, options }: Case): readonly string[] => {
  // A prefill loses the white space at its end, and gets it back when something follows.
  if (!history || options?.prefill) return []
  const { log, at, earlier } = history
  for (let p = at; p > 0 && log[p]?.type === 'MessageAppended'; p--)
    if (!isKept(earlier(p - 1), rendered) && !gaveWay(earlier(p - 1), rendered))
      return [`the request at ${p - 1} is no prefix of the one at ${at}`]
  return []
}

/** 16. The same log renders the same bytes: so does a copy of it, whatever was rendered of either before. */
const isPure = ({ rendered, history }: Case): readonly string[] =>
  !history || JSON.stringify(history.again) === JSON.stringify(rendered)
    ? []
    : ['the same log renders other bytes']

export const historyPredicates = { thinkingIsStored, thinkingIsBound, isMonotonic, isPure }

/** The request at every position of a log, with what the predicates ask of its history. */
export const casesOf = (
  log: Log,
  moments: readonly { readonly items: readonly { readonly position: number }[] }[],
  options: RenderOptions = {},
): readonly Case[] => {
  const plain = { ...options, prefill: false }
  const before = log.map((_, at) => render(effective(log, at), plain))
  const empty = render(effective(log, -1), plain)
  const copy = JSON.parse(JSON.stringify(log)) as Log
  let again: readonly Rendered[] | undefined
  // From the end of the log, as what was rendered before makes no difference.
  const fromEnd = (): readonly Rendered[] =>
    log.map((_, back) => render(effective(copy, log.length - 1 - back), options)).toReversed()
  return log.map((_, at) => {
    const request = (options.prefill ? undefined : before[at]) ?? render(effective(log, at), options)
    const shown = moments[at]?.items.map(({ position }) => position) ?? []
    const earlier = (position: number): Rendered => before[position] ?? empty
    const history = {
      log,
      at,
      shown,
      earlier,
      get again(): Rendered {
        again ??= fromEnd()
        return again[at] ?? empty
      },
    }
    return { rendered: request, options, paused: isPaused(request, history), history }
  })
}

/** Whether the last message of which anything is shown is one that said `pause_turn`. */
const isPaused = ({ repairs }: Rendered, { log, shown }: History): boolean => {
  const dropped = new Set(
    repairs.flatMap(({ kind, position }) => (kind === 'message-dropped' ? [position] : [])),
  )
  const last = shown
    .filter((position) => !dropped.has(position))
    .flatMap((position) => log[position] ?? [])
    .findLast(({ type }) => type !== 'Truncated')
  return last?.type === 'MessageAppended' && last.data.origin?.stopReason === 'pause_turn'
}
