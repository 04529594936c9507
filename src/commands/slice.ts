import { isDeepStrictEqual } from 'node:util'
import * as E from 'fp-ts/lib/Either.js'
import { invalidInput } from '../events/errors.ts'
import { isBlock } from '../events/blocks.ts'
import { type Covers, type Message, START } from '../events/events.ts'
import { type Effective, type Item, messageIn, messagesOf } from '../projections/effective.ts'
import { toolCallsInSlices, type ToolCallPair } from '../projections/pairs.ts'
import type { SliceGenerator } from '../projections/slices.ts'
import { isCompaction } from '../projections/render/renderer.ts'
import { tokensByBytes } from '../projections/tokens.ts'
import type { Selection } from './command.ts'
import { type SlicedCall, callsIn, partedCalls } from './cuts.ts'
import { nothingToHide, notShown, type CommandRejection, unsafeCut } from './rejections.ts'
import type { ShownState } from './state.ts'

/** Items from index `from` (inclusive) to index `to` (exclusive). */
interface Slice {
  readonly from: number
  readonly to: number
}

/**
 * Chooses the items to hide. An explicit slice is used unchanged or refused; any other selection is adjusted to safe cuts. Runs in
 * slices of work.
 */
export function* chooseItemsInSlices(
  { conversation, effective }: ShownState,
  selection: Selection,
  summary: readonly Message[],
): SliceGenerator<E.Either<CommandRejection<'truncate'>, readonly Item[]>> {
  const { items } = effective
  const { covers } = selection
  const slice = covers
    ? yield* explicitSlice(conversation, effective, covers, summary)
    : E.right(yield* settle(effective, selection))
  if (E.isLeft(slice)) return slice
  const hidden = items.slice(slice.right.from, slice.right.to)
  const isNew = hidden.some(({ kind }) => kind !== 'truncation') || (summary.length > 0 && hidden.length > 0)
  const [first, last] = [hidden[0], hidden.at(-1)]
  if (!isNew || !first || !last) return E.left(nothingToHide(conversation))
  const parted = yield* partedInstead(effective, slice.right, summary)
  return parted.length > 0
    ? E.left(unsafeCut(conversation, { first: first.position, last: last.position }, parted))
    : E.right(hidden)
}

function* explicitSlice(
  conversation: string,
  effective: Effective,
  covers: Covers,
  summary: readonly Message[],
): SliceGenerator<E.Either<CommandRejection<'truncate'>, Slice>> {
  const positions = effective.items.map(({ position }) => position)
  const [from, to] = [positions.indexOf(covers.first), positions.indexOf(covers.last) + 1]
  if (from < 0) return E.left(notShown(conversation, covers.first, 'item', positions))
  if (to === 0) return E.left(notShown(conversation, covers.last, 'item', positions))
  if (to <= from) return E.left(invalidInput('covers', 'first comes after last'))
  // The API has already hidden everything before its compaction, and the calls that were open there have ended.
  if (summary.some(({ content }) => content.some(isCompaction))) return E.right({ from, to })
  const calls = yield* callsIn(effective)
  const parted = [...new Set([...partedCalls(calls, from), ...partedCalls(calls, to, from)])]
  if (parted.length === 0) return E.right({ from, to })
  const isEdit =
    to === from + 1 && isDeepStrictEqual(yield* callsIn(edited(effective, { from, to }, summary)), calls)
  if (isEdit) return E.right({ from, to })
  const safe = yield* safeAround({ from, to }, calls)
  const [first, last] = [safe && positions[safe.from], safe && positions[safe.to - 1]]
  const named = first === undefined || last === undefined ? undefined : { first, last }
  return E.left(unsafeCut(conversation, covers, parted, named))
}

/** Returns the smallest slice around a slice that separates no call from its result; undefined if a call has no result yet. */
function* safeAround(slice: Slice, calls: readonly SlicedCall[]): SliceGenerator<Slice | undefined> {
  let { from, to } = slice
  for (;;) {
    const [first, last] = [from, to]
    for (const call of calls) {
      if (partedCalls([call], first).length === 0 && partedCalls([call], last, first).length === 0) continue
      from = Math.min(from, call.use)
      to = Math.max(to, call.result + 1)
    }
    if (to === Infinity) return undefined
    if (from === first && to === last) return { from, to }
    yield
  }
}

/**
 * Returns a history in which messages replace a slice. If the calls of this history still have the same results, the replacement
 * separates no call from its result.
 */
const edited = (effective: Effective, { from, to }: Slice, messages: readonly Message[]): Effective => {
  const { position = START, time = '' } = effective.items[from] ?? {}
  const tokens = { before: 0, after: 0 }
  const covers = { first: position, last: position }
  const marker = { position, time, covers, messagesHidden: 1, tokens }
  const item: Item =
    messages.length === 0
      ? { ...marker, kind: 'truncation' }
      : { ...marker, kind: 'summary', messages, method: 'manual' }
  return { ...effective, items: effective.items.toSpliced(from, to - from, item) }
}

/**
 * Returns the ids of the calls outside a slice that would lose their results if these messages replaced the slice. This happens if the
 * slice ended a user's turn and the messages do not: an earlier call without a result is then open again and takes the result of a
 * later call with the same id.
 */
function* partedInstead(
  effective: Effective,
  slice: Slice,
  messages: readonly Message[],
): SliceGenerator<readonly string[]> {
  if (messages.length === 0 || messages.some(endsTurn)) return []
  const hidden = new Set(effective.items.slice(slice.from, slice.to).map(({ position }) => position))
  const nameOf = ({ id, use, result, isLate }: ToolCallPair): string =>
    JSON.stringify([id, use, result, isLate])
  const left = new Set((yield* toolCallsInSlices(edited(effective, slice, messages))).map(nameOf))
  return (yield* toolCallsInSlices(effective)).flatMap((call) => {
    const { id, use, result } = call
    const isOutside = result !== undefined && !hidden.has(use) && !hidden.has(result)
    return isOutside && !left.has(nameOf(call)) ? [id] : []
  })
}

/**
 * Reports whether a message certainly ends the turn: it contains text and is not from the assistant, or it contains a compaction, which
 * ends everything before it.
 */
const endsTurn = ({ role, content }: Message): boolean =>
  content.some(
    (block) =>
      isCompaction(block) || (role !== 'assistant' && isBlock(block, 'text') && block.text.trim() !== ''),
  )

/**
 * Returns the slice that a selection describes, with its ends moved to safe cuts. If possible, it hides slightly more rather than less.
 */
function* settle(effective: Effective, selection: Selection): SliceGenerator<Slice> {
  const { items } = effective
  const calls = yield* callsIn(effective)
  const isSafe = (index: number, first = index): boolean => partedCalls(calls, index, first).length === 0
  const wished = yield* wishedSlice(items, selection)
  const { keepLast = 1 } = selection
  let { from, to } = wished
  while (from < wished.to && !isSafe(from)) from++
  if (from >= wished.to) return { from, to: from }
  // The last item stays, unless `keepLast` is 0.
  const end = keepLast > 0 ? items.length - 1 : items.length
  while (to <= end && !isSafe(to, from)) to++
  if (to > end) for (to = wished.to; to > from && !isSafe(to, from);) to--
  return { from, to }
}

function* wishedSlice(items: readonly Item[], selection: Selection): SliceGenerator<Slice> {
  const { fraction, keepFirst = 1, keepTokens } = selection
  const { keepLast = fraction === undefined && keepTokens === undefined ? 3 : 1 } = selection
  const marker = items.findIndex((item) => !messageIn(item))
  const from = Math.min(keepFirst, marker < 0 ? items.length : marker)
  const share = fraction === undefined ? items.length : from + Math.floor(fraction * (items.length - from))
  return { from, to: Math.min(share, beforeLast(items, keepLast), yield* beforeTokens(items, keepTokens)) }
}

/** Returns the index of the n-th last message; for n = 0, the number of items. */
const beforeLast = (items: readonly Item[], n: number): number => {
  const messages = items.flatMap((item, index) => (messageIn(item) ? [index] : []))
  return n === 0 ? items.length : (messages.at(-n) ?? 0)
}

/** Returns the lowest index from which the items have at most `limit` tokens in total. */
function* beforeTokens(items: readonly Item[], limit: number | undefined): SliceGenerator<number> {
  if (limit === undefined) return items.length
  let tokens = 0
  for (const [index, item] of [...items.entries()].toReversed()) {
    tokens += tokensOf(item)
    if (tokens > limit) return index + 1
    yield
  }
  return 0
}

/** Estimates the tokens of the content that an item shows. */
export const tokensOf = (item: Item): number =>
  tokensByBytes(messagesOf(item).flatMap(({ content }) => content))
