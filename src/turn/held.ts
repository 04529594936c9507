import * as E from 'fp-ts/lib/Either.js'
import type { NewMessage } from '../commands/command.ts'
import { isTurn } from '../commands/state.ts'
import { type Effective, type Item, messagesOf } from '../projections/effective.ts'
import { isServerResult, isServerUse } from '../projections/render/clean.ts'
import type { RenderedMessage } from '../projections/render/transcript.ts'
import { requestOf, type RequestOptions } from '../receipts/request.ts'

/** A history whose last messages have to wait, and what it is without them. */
export interface Held {
  readonly before: Effective
  readonly said: readonly NewMessage[]
}

/**
 * What the user has said since the results of client tools, where a server tool was called beside them: its result comes with the next
 * reply, and only if nothing is said before that. Undefined where nothing has to wait, or where something else has happened since the
 * results: then there is no position at which the history was what would have to be sent.
 */
export const heldBack = (now: Effective, options: RequestOptions): Held | undefined => {
  const last = now.items.findLastIndex((item) => !isSaid(item))
  const results = now.items[last]
  const held = results && isResults(results) ? saidAfter(now, results.position) : undefined
  if (!held) return undefined
  const rendered = requestOf(held.before, options)
  return E.isRight(rendered) && waitsForServer(rendered.right.messages) ? held : undefined
}

/** What the user has said since a position that is shown; undefined where that is nothing, or not all that has happened. */
export const saidAfter = (now: Effective, position: number): Held | undefined => {
  const index = now.items.findIndex((item) => item.position === position)
  const later = now.items.slice(index + 1)
  if (index < 0 || later.length === 0 || now.at !== position + later.length || !later.every(isSaid))
    return undefined
  const said = later.flatMap((item): NewMessage[] => {
    if (item.kind !== 'message') return []
    const { role, content, messageId, origin } = item
    return [{ role, content, messageId, ...(origin && { origin }) }]
  })
  const outline = { ...now.outline, slots: now.outline.slots.slice(0, index + 1) }
  const before = { at: position, head: position, items: now.items.slice(0, index + 1), outline }
  return { before, said }
}

const isSaid = (item: Item): boolean => item.kind === 'message' && isTurn(item)

const isResults = (item: Item): boolean =>
  messagesOf(item).length > 0 &&
  messagesOf(item).every(
    ({ role, content }) => role === 'user' && content.every(({ type }) => type === 'tool_result'),
  )

const waitsForServer = (messages: readonly RenderedMessage[]): boolean => {
  const blocks = messages.flatMap(({ content }) => content)
  const served = new Set(blocks.filter(isServerResult).map((block) => block['tool_use_id']))
  return blocks.some((block) => isServerUse(block) && !served.has(block['id']))
}
