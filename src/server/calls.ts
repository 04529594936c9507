import type { Origin } from '../events/events.ts'
import {
  type Conversation,
  isError,
  type ModelCall,
  type ModelRequest,
  type ReceiptFinding,
  type Store,
} from '../index.ts'
import { outgoing } from '../receipts/outgoing.ts'
import { bodySent } from '../receipts/sent.ts'
import { costOf, priceOf, prices } from '../turn/spending/prices.ts'
import { countsIn } from '../turn/spending/usage.ts'
import { refused } from './problem.ts'

// The calls of a model as pages ask for them: with a receipt, by number; without one, by the position of the reply.

/**
 * What a receipt says of a request that was made again: `verified`, the canonical JSON of its system, tools and messages is that of the one
 * sent; `differs`, it is not. Without a receipt: `missing`, and replies before it have one; `reconstructed`, as of imported conversations;
 * `pending`, there is no reply yet.
 */
export const receiptStates = ['verified', 'differs', 'missing', 'reconstructed', 'pending'] as const
type ReceiptState = (typeof receiptStates)[number]

/** A call with its request, made again. */
export interface CalledRequest extends Partial<ModelCall> {
  readonly state: ReceiptState
  readonly finding?: Omit<ReceiptFinding, 'call' | 'position'> | undefined
  readonly request: ModelRequest
  /** The body as it is sent, as JSON. */
  readonly json: string
  /** Of the event by which all of this is known. */
  readonly event: string
  readonly [more: string]: unknown
}

/** What a reply cost at list prices, in US dollars; undefined if nobody knows its price or its tokens. */
export const usdOf = ({ model, usage }: Origin = {}): number | undefined => {
  const price = model === undefined || usage === undefined ? undefined : priceOf(prices, model)
  return price && costOf(countsIn(usage), price)
}

/** The call of a number, if there is one. */
export const callOf = async (
  { catalogue }: Pick<Store, 'catalogue'>,
  id: string,
  number: number,
): Promise<ModelCall | undefined> => {
  if (!(number >= 1)) return undefined
  const { items } = await catalogue.calls(id, { number, limit: 1 })
  return items.flatMap((call) => ('number' in call && call.number === number ? [call] : []))[0]
}

/**
 * @param name the number of a call from 1, or `p` and the position of a reply without a receipt. The number after the last one names the
 *   call that is being made, if the conversation awaits the model
 */
export const calledRequest = async (
  store: Pick<Store, 'conversation' | 'catalogue'>,
  id: string,
  name: string,
): Promise<CalledRequest> => {
  const chat = store.conversation(id)
  if (name.startsWith('p')) return unproven(store, chat, Number(name.slice(1)))
  const number = Number(name)
  try {
    const sent = await chat.sent((await callOf(store, id, number)) ?? number)
    const state = sent.isSame ? 'verified' : 'differs'
    return { ...sent, state, json: bodySent(sent), event: await idAt(chat, sent.position) }
  } catch (error) {
    const isNext = isError(error, 'CallOutOfRange') && number === error.calls + 1
    const pending = isNext ? await awaited(chat) : undefined
    if (!pending) throw error
    return { number, ...pending }
  }
}

/** As it would be made today, of what the conversation was before the reply. */
const unproven = async (
  { catalogue }: Pick<Store, 'catalogue'>,
  chat: Conversation,
  position: number,
): Promise<CalledRequest> => {
  const [call] = (await catalogue.calls(chat.id, { from: position, limit: 1 })).items
  if (call?.position !== position || 'receipt' in call)
    throw refused(
      'NotFound',
      `position ${position} of conversation ${chat.id} has no reply without a receipt: GET …/calls lists the calls`,
    )
  const { isMissing, ...its } = call
  const state = isMissing ? 'missing' : 'reconstructed'
  const made = await requestAt(chat, position - 1, call.origin.model)
  return { ...its, state, ...made, event: await idAt(chat, position) }
}

const awaited = async (chat: Conversation): Promise<CalledRequest | undefined> => {
  const at = await chat.position()
  const { awaits } = await chat.render({ at })
  if (awaits !== 'model') return undefined
  return { state: 'pending', ...(await requestAt(chat, at)), event: await idAt(chat, at) }
}

const requestAt = async (chat: Conversation, at: number, model?: string) => {
  const made = outgoing(await chat.context({ at }), await chat.render({ at }), { named: model })
  const request = { ...made, ...(model !== undefined && { model }) }
  return { request, json: bodySent({ request }) }
}

const idAt = async (chat: Conversation, position: number): Promise<string> => {
  for await (const { id } of chat.events({ from: position, to: position })) return id
  return 'empty'
}
