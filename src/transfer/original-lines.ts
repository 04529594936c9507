import * as E from 'fp-ts/lib/Either.js'
import type { ConversationEvent } from '../events/events.ts'
import { type Effective, effective as effectiveOf, fieldsOf, messagesOf } from '../projections/effective.ts'
import { breath } from '../store/breath.ts'
import type { FindLines } from './formats/sessions/session-writer.ts'
import { sessionReader } from './formats/parse-session.ts'
import { isStored } from './formats/plan.ts'
import { planEvents } from './formats/plan-events.ts'
import { createImportNotes, type FileLine, linesOf } from './formats/source.ts'
import { unimportant } from './formats/stage.ts'

/** Maximum size of a file whose lines are copied, in bytes: it is held in memory and read about thirty times. */
const mostCopied = 64 * 1024 * 1024

/**
 * Finds the lines by importing more and fewer of them. Returns undefined if there are none, because the history was changed since, or if
 * the program itself would not show all of it. Throws a `ReadError`.
 */
export const linesUntil: FindLines = async ({ format, bytes, pieces }, shown, { idsRead, copiesRest }) => {
  if (bytes > mostCopied) return undefined
  const parts: Uint8Array[] = []
  for await (const piece of pieces) parts.push(piece)
  const lines = [...linesOf(Buffer.concat(parts).toString())]
  // What comes after the last message that is shown, such as a rewind to it, is not in the file.
  const wanted = Math.max(-1, ...shown.items.slice(-1).map(({ position }) => position)) + 1
  const known = new Map<number, ReadLines | undefined>()
  const read = async (count: number): Promise<ReadLines | undefined> => {
    if (!known.has(count)) known.set(count, readLines(format, lines.slice(0, count)))
    await breath()
    return known.get(count)
  }
  const firstWith = (test: (read: ReadLines | undefined) => boolean, from = 0, to = lines.length) =>
    firstCount(async (count) => test(await read(count)), from, to)
  const isShown = (found: ReadLines | undefined): boolean => found !== undefined && isSame(found, shown)
  const begun = await firstWith((found) => (found?.events ?? 0) >= wanted)
  const ended = await firstWith((found) => (found?.events ?? 0) > wanted, begun)
  // A message may be in several lines, of which only the last makes it whole.
  const end = copiesRest ? ended - 1 : await firstWith(isShown, begun, ended - 1)
  const found = await read(end)
  if (!found || !isShown(found)) return undefined
  const copied = lines.slice(0, end).map(({ text }) => text)
  const ids = idsRead?.(copied)
  return !ids || found.refs.every((ref) => ids.has(ref)) ? copied : undefined
}

/** Returns the smallest count from `from` to `to` for which a test holds that also holds for all larger ones; else `to + 1`. */
const firstCount = async (
  test: (count: number) => Promise<boolean>,
  from: number,
  to: number,
): Promise<number> => {
  let [low, high] = [from, to + 1]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (await test(middle)) high = middle
    else low = middle + 1
  }
  return low
}

/** The result of importing some lines. */
interface ReadLines {
  /** Number of events of the conversation. */
  readonly events: number
  readonly effective: Effective
  /** Refs of the actions that the history shows. */
  readonly refs: readonly string[]
}

const readLines = (format: string, lines: readonly FileLine[]): ReadLines | undefined => {
  const reader = sessionReader({ file: '', format, skipBadLines: true }, createImportNotes())
  for (const line of lines) reader.read(line)
  const plan = reader.finish()
  if (E.isLeft(plan) || isStored(plan.right)) return undefined
  const [conversation, ...others] = plan.right.conversations
  const planned = conversation && others.length === 0 ? planEvents(conversation, format, []) : undefined
  if (!planned || E.isLeft(planned)) return undefined
  const log = planned.right.map(({ event }, position): ConversationEvent => ({
    ...event,
    position,
    id: '',
    metadata: unimportant,
  }))
  const shown = effectiveOf(log)
  // A reply without content, because its request failed, is the same as none.
  const refs = shown.items
    .filter((item) => messagesOf(item).some(({ content }) => content.length > 0))
    .map(({ position }) => planned.right[position]?.commandId.replace(`import:${format}:`, '') ?? '')
  return { events: log.length, effective: shown, refs }
}

const isSame = ({ effective: { items } }: ReadLines, shown: Effective): boolean =>
  textOf(items) === textOf(shown.items)

/** Returns the messages as JSON. What was stored has no undefined fields, and its other fields are in the same order. */
const textOf = (items: Effective['items']): string =>
  JSON.stringify(
    items.flatMap((item) =>
      messagesOf(item).map((message) => [message.role, message.content, fieldsOf(item, message)]),
    ),
  )
