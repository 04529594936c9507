import type { Origin } from '../events/events.ts'
import {
  type Conversation,
  type ModelCall,
  type ModelRequest,
  type ReceiptFinding,
  type Store,
} from '../index.ts'
import { positionsOf } from '../agent/receipts/message-positions.ts'
import { callOutOfRange } from '../agent/receipts/errors.ts'
import { requestToday } from '../agent/receipts/remade.ts'
import { bodySent } from '../agent/receipts/sent-call.ts'
import { toError } from '../result/typed-error.ts'
import { costOf, type CostParts, costPartsOf, lacksOf, priceOf, prices } from '../agent/models/prices.ts'
import { countsIn } from '../agent/models/usage.ts'
import type { Effective } from '../projections/effective.ts'
import { rendering } from '../projections/render/renderer.ts'
import { inBreaths } from '../store/breath.ts'
import { readView } from './bounded.ts'
import { requestError } from './problem.ts'

// Model calls, as the page requests them: by number if the call has a receipt, otherwise by the position of the reply.

/**
 * States of a rebuilt request. With a receipt: `verified` if the canonical JSON of system, tools and messages equals that of the
 * request sent, `erased` if it showed content that was erased, otherwise `differs`. Without a receipt: `missing` if earlier replies have receipts, `reconstructed` if no earlier reply
 * has one, as in imported conversations, and `pending` if there is no reply yet.
 */
export const receiptStates = ['verified', 'differs', 'erased', 'missing', 'reconstructed', 'pending'] as const
type ReceiptState = (typeof receiptStates)[number]

/** A model call with its rebuilt request. */
export interface CalledRequest extends Partial<ModelCall> {
  readonly state: ReceiptState
  readonly finding?: Omit<ReceiptFinding, 'call' | 'position'> | undefined
  readonly request: ModelRequest
  /** Positions of the events that each message of the request, or of its body, comes from. */
  readonly positions: readonly (readonly number[])[]
  /** Body of the request as it was sent, in JSON. */
  readonly json: string
  readonly [more: string]: unknown
}

/** Returns the cost of a reply at list prices, in US dollars, or undefined if the price or the tokens are unknown. */
export const usdOf = (origin: Origin = {}): number | undefined => {
  const priced = pricedOf(origin)
  return priced && costOf(priced.counts, priced.price)
}

/** Returns the cost of a reply by kind of token, in US dollars, or undefined if the price or the tokens are unknown. */
export const costsOf = (origin: Origin = {}): CostParts | undefined => {
  const priced = pricedOf(origin)
  return priced && costPartsOf(priced.counts, priced.price)
}

const pricedOf = ({ model, usage }: Origin) => {
  const price = model === undefined || usage === undefined ? undefined : priceOf(prices, model)
  const counts = countsIn(usage)
  return price && lacksOf(counts, model).length === 0 ? { price, counts } : undefined
}

/**
 * Finds a call by its number. `isNext` is true if the number belongs to the next call: no call has the number yet, and it is 1 or
 * follows the number of an existing call.
 */
export const callOf = async (
  { catalogue }: Pick<Store, 'catalogue'>,
  id: string,
  number: number,
): Promise<{ readonly call?: ModelCall; readonly isNext: boolean }> => {
  if (!(number >= 1)) return { isNext: false }
  const { items } = await catalogue.calls(id, { number: Math.max(1, number - 1), limit: 2 })
  const numbered = items.flatMap((call) => ('number' in call ? [call] : []))
  const call = numbered.find((one) => one.number === number)
  if (call) return { call, isNext: false }
  return { isNext: number === 1 || numbered.some((one) => one.number === number - 1) }
}

/**
 * Rebuilds the request of a call and checks it against the receipt.
 *
 * @param name the number of a call, from 1, or `p` and the position of a reply without a receipt. The number after the last one names
 *   the pending call, if the conversation awaits the model
 */
export const rebuildRequest = async (
  store: Pick<Store, 'conversation' | 'catalogue'>,
  id: string,
  name: string,
): Promise<CalledRequest> => {
  const chat = store.conversation(id)
  if (name.startsWith('p')) return unproven(store, chat, Number(name.slice(1)))
  const number = Number(name)
  const { call, isNext } = await callOf(store, id, number)
  if (isNext) {
    const pending = await awaited(chat)
    if (pending) return { number, ...pending }
    throw toError(callOutOfRange(id, number, number - 1))
  }
  const now = call && (await readView(chat, call.receipt.position, `request ${id} --call ${number}`))
  const sent = await chat.sent(call ?? number)
  const state = sent.isSame ? 'verified' : sent.finding?.kind === 'erased' ? 'erased' : 'differs'
  return { ...sent, state, positions: positionsIn(sent, now), json: bodySent(sent) }
}

/** Rebuilds the request for a reply without a receipt, as it would be made today from the history before the reply. */
const unproven = async (
  { catalogue }: Pick<Store, 'catalogue'>,
  chat: Conversation,
  position: number,
): Promise<CalledRequest> => {
  const [call] = (await catalogue.calls(chat.id, { from: position, limit: 1 })).items
  if (call?.position !== position || 'receipt' in call)
    throw requestError(
      'NotFound',
      `position ${position} of conversation ${chat.id} has no reply without a receipt: GET …/calls lists the calls`,
    )
  const { isMissing, ...its } = call
  const state = isMissing ? 'missing' : 'reconstructed'
  const made = await requestAt(chat, position - 1, call.origin.model)
  return { ...its, state, ...made }
}

const awaited = async (chat: Conversation): Promise<CalledRequest | undefined> => {
  const at = await chat.position()
  const { awaits } = await chat.render({ at })
  if (awaits !== 'model') return undefined
  return { state: 'pending', ...(await requestAt(chat, at)) }
}

const requestAt = async (chat: Conversation, at: number, model?: string) => {
  const now = await readView(chat, at, `request ${chat.id} --at ${at}`)
  const request = requestToday(now, await inBreaths(rendering(now, {})), model)
  return { request, positions: positionsIn({ request }, now), json: bodySent({ request }) }
}

/** Returns the positions of the events that each message comes from. */
const positionsIn = (
  {
    request,
    body,
  }: Pick<CalledRequest, 'request'> & { readonly body?: { readonly [field: string]: unknown } },
  now: Effective | undefined,
): CalledRequest['positions'] => {
  const messages = Array.isArray(body?.['messages']) ? body['messages'] : request.messages
  return positionsOf(messages, now?.items ?? [])
}
