import { createHash } from 'node:crypto'
import Anthropic from '@anthropic-ai/sdk'
import canonicalize from 'canonicalize'
import { expect } from 'vitest'
import OpenAI from 'openai'
import type { TurnResult } from '../../../src/index.ts'
import type { Effective } from '../../../src/projections/effective.ts'
import type { ChatRequest as ChatBody } from '../../../src/testing/chat-completions/body.ts'
import type { Completion } from '../../../src/testing/chat-completions/replies.ts'
import type { ChatExchange } from '../../../src/testing/chat-completions/server.ts'
import { anthropicModel } from '../../../src/agent/models/anthropic/model.ts'
import { callModel } from '../../../src/agent/models/call-model.ts'
import { requestWith } from '../../../src/agent/models/request.ts'
import { digestOf } from '../../../src/agent/receipts/canonical.ts'
import { keyedDigest, requestKey } from '../../../src/agent/receipts/receipt-digest.ts'
import { receiptOptionsIn } from '../../../src/agent/receipts/receipt-options.ts'
import { currentRenderer, requestOf } from '../../../src/agent/receipts/request.ts'
import { receiptsOfSummary } from '../../../src/agent/receipts/summary-request.ts'
import type { ConversationEvent, Origin, Receipt } from '../../../src/events/events.ts'
import { configurationOf } from '../../../src/projections/effective.ts'
import { path } from '../../../src/projections/path.ts'
import { right } from '../either.ts'
import type { ApiMessage } from '../../../src/testing/messages-api/replies.ts'
import type { ApiRequest } from '../../../src/testing/messages-api/request.ts'
import type { ApiExchange } from '../../../src/testing/messages-api/server.ts'
import { chatModel, isChatSummary, isSummary, type Ran } from './player.ts'
import type { Observed } from './run.ts'

// What holds of every agent run:
// 1. No request is refused, but for being too long.
// 2. Every turn has ended, with an answer or with an error that can come of what happened to it.
// 3. Every receipt is of the request that the stand-in got, and of the request that the log makes.
// 4. A tool that must not run twice has run once at most for a call.
// 5. Every whole reply is in the log once, to the letter, or its turn has ended in an error that says that it is not. A summary is on
//    a path once: it is recorded again where what was said since has to wait (docs/adr/0012).
// 6. What every conversation came to is a valid request, once the user has the last word.

/** What has happened, added up over all runs. */
export const totals = {
  runs: 0,
  turns: 0,
  'model calls': 0,
  'calls at Chat Completions': 0,
  condenses: 0,
  truncates: 0,
  rewinds: 0,
  aborts: 0,
  faults: 0,
  'stale replies': 0,
  'budgets spent': 0,
  'turns stopped early': 0,
  'turns read event by event': 0,
  'refused requests': 0,
  'too long': 0,
  'receipts verified': 0,
}

interface Exchange {
  readonly ran: Ran
  readonly received: ApiExchange | ChatExchange
  readonly requestId: string | undefined
  /** The last one of its turn. */
  readonly isLast: boolean
}
/** An event that holds a model's answer. */
interface Answer {
  readonly event: ConversationEvent
  readonly origin: Origin
}

export const checkRun = async (observed: Observed): Promise<void> => {
  const answers = answersIn(observed)
  const exchanges = exchangesOf(observed)
  count(observed)
  checkRefusals(observed)
  for (const ran of observed.turns) checkOutcome(ran)
  for (const exchange of exchanges) checkExchange(exchange, answers)
  for (const conversation of observed.conversations) await checkReceipts(conversation, exchanges)
  for (const conversation of observed.conversations) checkSummaries(conversation)
  for (const [id, times] of observed.runs) expect(times, `runs of ${id}`).toBe(1)
  for (const { chat } of observed.conversations) await checkRequest(chat, observed)
  checkRefusals(observed)
}

const count = ({ turns, requests: atMessages, chats, conversations }: Observed): void => {
  const requests = [...atMessages, ...chats]
  const events = new Map(
    conversations.flatMap((one) => one.events.map((event) => [event.id, event.type] as const)),
  )
  const ofType = (type: ConversationEvent['type']): number =>
    [...events.values()].filter((is) => is === type).length
  totals.runs++
  totals.turns += turns.length
  totals['model calls'] += requests.length
  totals['calls at Chat Completions'] += chats.length
  totals.condenses += ofType('Condensed')
  totals.truncates += ofType('Truncated')
  totals.rewinds += ofType('Rewound')
  totals.aborts += turns.filter(({ isAborted }) => isAborted()).length
  totals.faults += requests.filter(
    ({ status, isComplete }) => status >= 500 || (status === 200 && !isComplete()),
  ).length
  totals['stale replies'] += turns.filter(({ outcome }) => errorOf(outcome) === 'StaleContext').length
  totals['budgets spent'] += turns.filter(({ outcome }) => errorOf(outcome) === 'BudgetSpent').length
  totals['turns stopped early'] += turns.filter(({ outcome }) => endOf(outcome) === 'stop-when').length
  totals['turns read event by event'] += turns.filter(({ options }) => options.reads).length
  totals['too long'] += requests.filter(isTooLong).length
}

const isTooLong = ({ status, answer }: ApiExchange | ChatExchange): boolean => {
  if (status !== 400 || !('error' in answer)) return false
  const { message, code } = answer['error'] as { readonly message: string; readonly code?: string }
  return code === 'context_length_exceeded' || message.startsWith('prompt is too long')
}

const checkRefusals = ({ requests, chats }: Observed): void => {
  const refused = [...requests, ...chats].filter(
    (request) => ![200, 500, 503, 529].includes(request.status) && !isTooLong(request),
  )
  totals['refused requests'] += refused.length
  expect(refused.map(({ status, answer, body }) => ({ status, answer, messages: body?.messages }))).toEqual(
    [],
  )
}

const errorOf = (outcome: Ran['outcome']): string | undefined =>
  outcome && 'error' in outcome ? outcome.error : undefined

const endOf = (outcome: Ran['outcome']): unknown =>
  outcome && 'value' in outcome ? (outcome.value as Partial<TurnResult>).ended : undefined

const usual = [
  'StaleContext',
  'ModelFailed',
  'ContextTooLarge',
  'NothingToAnswer',
  'TooManyCalls',
  'BudgetSpent',
  'ConversationNotFound',
]

const checkOutcome = ({ outcome, isAborted }: Ran): void => {
  if (!outcome) throw new Error('a turn has not ended')
  if ('value' in outcome) return
  const allowed = isAborted() ? [...usual, 'ModelAborted'] : usual
  // The whole error, to be read where this fails.
  if (!allowed.includes(outcome.error)) throw outcome.cause
}

const exchangesOf = ({ turns, requests, chats }: Observed): readonly Exchange[] => {
  const received = new Map(
    [...requests, ...chats].map((request) => [Number(request.headers['x-number']), request]),
  )
  return turns.flatMap((ran) =>
    ran.sent.flatMap(({ number, requestId }, index) => {
      const request = received.get(number)
      return request ? [{ ran, received: request, requestId, isLast: index === ran.sent.length - 1 }] : []
    }),
  )
}

const originOf = (event: ConversationEvent): Origin | undefined =>
  event.type === 'MessageAppended' || event.type === 'Condensed' ? event.data.origin : undefined

/** Each answer once, however many forks inherited it; by the id of the request. */
const answersIn = ({ conversations }: Observed): ReadonlyMap<string, readonly Answer[]> => {
  const events = new Map(
    conversations.flatMap((one) => one.events.map((event) => [event.id, event] as const)),
  )
  const answers = [...events.values()].flatMap((event): Answer[] => {
    const origin = originOf(event)
    // A compaction that the API made in a reply has the reply's origin.
    const isProviders = event.type === 'Condensed' && event.data.method === 'provider'
    return origin?.requestId !== undefined && !isProviders ? [{ event, origin }] : []
  })
  return Map.groupBy(answers, ({ origin }) => origin.requestId ?? '')
}

const checkExchange = (
  { ran, received, requestId, isLast }: Exchange,
  answers: ReadonlyMap<string, readonly Answer[]>,
): void => {
  const body = received.body as ApiRequest | ChatBody
  if (received.status !== 200) return
  const found = answers.get(requestId ?? '') ?? []
  if (isInChat(received) ? isChatSummary(body as ChatBody) : isSummary(body as ApiRequest)) return
  expect(found.length, 'how often a reply is in the log').toBeLessThanOrEqual(1)
  const [answer] = found
  if (!answer) {
    checkMissing({ ran, received, requestId, isLast })
    return
  }
  const content = isInChat(received)
    ? blocksOf(received.answer as Completion)
    : (received.answer as ApiMessage).content
  if (answer.event.type !== 'MessageAppended') throw new Error('a reply is no message')
  const recorded = answer.event.data.content
  expect(answer.origin.context, 'the receipt of a reply').toBeDefined()
  if (answer.origin.stopReason !== null) {
    expect(recorded).toEqual(content)
    if (received.isComplete())
      expect(answer.origin.usage).toMatchObject((received.answer as ApiMessage | Completion).usage ?? {})
  } else {
    expect(ran.options.keepPartial).toBe(true)
    for (const block of recorded.slice(0, -1)) expect(content).toContainEqual(block)
  }
}

const isInChat = ({ path: url }: ApiExchange | ChatExchange): boolean => url.endsWith('/chat/completions')

/** The blocks that a completion is recorded as. */
const blocksOf = ({ choices: [{ message }] }: Completion): readonly object[] => {
  const { content, reasoning_content: reasoning, tool_calls: calls = [] } = message
  const chat = { provider: 'stand-in' }
  return [
    ...(typeof reasoning === 'string' ? [{ type: 'thinking', thinking: reasoning, chat }] : []),
    ...(typeof content === 'string' && content !== '' ? [{ type: 'text', text: content }] : []),
    ...calls.map(({ id, function: { name, arguments: json } }) => ({
      type: 'tool_use',
      id,
      name,
      input: inputOf(json),
    })),
  ]
}

const inputOf = (json: string): unknown => {
  try {
    return JSON.parse(json)
  } catch {
    return json === '' ? {} : json
  }
}

const checkSummaries = ({ events }: Observed['conversations'][number]): void => {
  const summaries = events.filter((event) => event.type === 'Condensed' && event.data.method === 'model')
  for (const [id, all] of Map.groupBy(summaries, (event) => originOf(event)?.requestId)) {
    const positions = new Set(all.map(({ position }) => position))
    for (const { position } of id === undefined ? [] : all)
      expect(path(events, position).filter((at) => positions.has(at))).toEqual([position])
  }
}

const checkMissing = ({ ran, received, isLast }: Exchange): void => {
  // Another turn that takes the conversation over makes a reply stale, and this one continues after it.
  const mustBeKept = received.isComplete() && ran.options.keepLate
  // The turn has asked again, or has ended.
  if (!isLast) {
    expect(mustBeKept, 'whether a reply that is not in the log was whole').toBe(false)
    return
  }
  const allowed = [
    'ModelFailed',
    ran.isAborted() ? 'ModelAborted' : undefined,
    ran.options.keepLate ? undefined : 'StaleContext',
    // The budget is looked at before a call is repeated.
    received.isComplete() ? undefined : 'BudgetSpent',
    // Somebody may have taken back what it was to answer.
    ...(mustBeKept ? [] : ['none', 'NothingToAnswer', 'ContextTooLarge', 'TooManyCalls', 'BudgetSpent']),
  ]
  expect(allowed, 'the error of a turn whose reply is not in the log').toContain(
    errorOf(ran.outcome) ?? 'none',
  )
}

const digestOfBody = ({
  system,
  tools,
  messages,
}: Pick<ApiRequest | ChatBody, 'tools' | 'messages'> & { readonly system?: unknown }): string =>
  createHash('sha256')
    .update(canonicalize({ system, tools, messages }) ?? '')
    .digest('hex')

const checkReceipts = async (
  { chat, events }: Observed['conversations'][number],
  exchanges: readonly Exchange[],
): Promise<void> => {
  const bodies = exchanges.map(({ received, requestId }) => ({
    requestId,
    isTaken: received.status === 200,
    digest: digestOfBody(received.body as ApiRequest),
  }))
  const receipts = events.flatMap((event) => {
    const context = originOf(event)?.context
    if (!context) return []
    const all = event.type === 'Condensed' ? receiptsOfSummary(context) : [context]
    return all.map((one, part) => ({ event, context: one, part }))
  })
  for (const { event, context } of receipts) {
    const key = requestKey(await chat.context({ at: context.position }))
    const sent = bodies.filter(({ digest }) => keyedDigest(key, digest) === context.digest)
    expect(sent, `what the receipt at ${event.position} is of`).not.toEqual([])
    const { requestId, context: own } = originOf(event) ?? {}
    if (own === context && bodies.some((one) => one.requestId === requestId && one.isTaken))
      expect(sent).toContainEqual(expect.objectContaining({ requestId }))
    if (event.type === 'MessageAppended')
      expect(await digestAt(chat, context), `the receipt at ${event.position}`).toBe(context.digest)
  }
  // Two parts of a summary may be the same request; a summary that is recorded again is no other call.
  const calls = new Set(
    receipts.map(({ event, context, part }) => `${originOf(event)?.requestId} ${part} ${context.digest}`),
  )
  expect(await chat.verifyReceipts()).toMatchObject({ findings: [], receipts: calls.size })
  totals['receipts verified'] += calls.size
}

const digestAt = async (
  chat: Observed['conversations'][number]['chat'],
  receipt: Receipt,
): Promise<string> => {
  const effective = await chat.context({ at: receipt.position })
  return keyedDigest(
    requestKey(effective),
    digestOf(right(requestOf(effective, right(receiptOptionsIn(receipt))))),
  )
}

const checkRequest = async (
  chat: Observed['conversations'][number]['chat'],
  { url, chatUrl }: Observed,
): Promise<void> => {
  await chat.append({ role: 'user', content: 'And now?' })
  const view = await chat.context()
  const { model = 'model-0-a', parameters } = configurationOf(view)
  // Thinking is bound to how system messages were sent.
  const last = view.items.findLast((item) => item.kind === 'message' && item.origin?.context)
  const systemMessages =
    model.endsWith('-a') &&
    (last?.kind === 'message' && last.origin?.context?.options?.['systemMessages']) === true
  const { system, tools, messages, awaits } = await chat.render({ cache: '5m', systemMessages })
  expect(awaits).toBe('model')
  // A connection that was kept open may have been closed meanwhile.
  const client = anthropicModel(new Anthropic({ baseURL: url, apiKey: 'key', maxRetries: 2 }))
  right(
    await client.countTokens({
      model,
      messages,
      parameters: parameters ?? {},
      ...(system && { system }),
      ...(tools && { tools }),
    }),
  )
  await checkInChat(view, chatUrl)
}

/** The same for a model at Chat Completions: it is answered, or too long. */
const checkInChat = async (view: Effective, url: string): Promise<void> => {
  const { model = 'model-0-a', parameters = {} } = configurationOf(view)
  const client = new OpenAI({ baseURL: url, apiKey: 'key' })
  const asked = chatModel(client, { reasoning: true, images: true, system: 'system' })
  const { form } = asked
  const rendered = right(requestOf(view, { renderer: currentRenderer, ...(form && { form }) }))
  expect(rendered.awaits).toBe('model')
  const answered = await callModel(asked, requestWith(rendered, { model, parameters }), { maxRetries: 2 })
  if (answered._tag === 'Left' && answered.left._tag !== 'ContextExceeded')
    throw new Error(answered.left.message)
}
