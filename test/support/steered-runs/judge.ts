import { expect } from 'vitest'
import type { ApiMessage } from '../../../src/testing/messages-api/replies.ts'
import type { ApiExchange } from '../../../src/testing/messages-api/server.ts'
import { judgeEffects } from './judge-effects.ts'
import { judgeSaid } from './judge-said.ts'
import { judgeStream } from './judge-stream.ts'
import { judgeUsage } from './judge-usage.ts'
import { type Block, blocksIn, isAssistant, type Raw, rawLog, rawPaths, rawStream } from './raw-log.ts'
import { isSummary, type Observed, type Ran } from './run.ts'

// What holds of every run, as the raw log and the stand-in say:
// 1. No request is refused, but for being too long or where the plan says so.
// 2. Every turn has ended, in an error only if something happened that explains it.
// 3. An unsafe effect happens once at most for a call, after its start was recorded, and after its approval where it needs one.
// 4. A result is of a call of the reply before it, and the only one.
// 5. What was said is on the path or in the inbox once, in the order in which it was said, unless somebody took it back.
// 6. A whole reply is in the log once, unless something happened that may cost it.
// 7. Every receipt is true, every log whole.
// 8. What a turn came to is what the stand-in has billed.
// 9. A stream tells what the log says.

/** What has happened, added up over all runs. */
export const totals = {
  runs: 0,
  turns: 0,
  requests: 0,
  'refused requests': 0,
  effects: 0,
  approved: 0,
  denied: 0,
  edited: 0,
  'handed back': 0,
  said: 0,
  queued: 0,
  deaths: 0,
  aborts: 0,
  cancelled: 0,
  interrupted: 0,
  'stopped early': 0,
  'replies lost': 0,
  'receipts verified': 0,
  'usages compared': 0,
  'streams read': 0,
}

/** A conversation as it is stored. */
export interface Stored {
  readonly id: string
  readonly log: readonly Raw[]
  readonly paths: readonly (readonly number[])[]
  readonly facts: readonly Raw[]
  readonly inbox: readonly Raw[]
}

export const judge = async (observed: Observed): Promise<void> => {
  const { chats, store, turns, requests, open } = observed
  const stored = await Promise.all(
    chats.map(async (id): Promise<Stored> => {
      const log = await rawLog(store, id)
      const [facts, inbox] = await Promise.all([
        rawStream(store, `turns-${id}`),
        rawStream(store, `inbox-${id}`),
      ])
      return { id, log, paths: rawPaths(log), facts, inbox }
    }),
  )
  count(observed, stored)
  judgeRefusals(requests)
  for (const ran of turns) {
    judgeOutcome(ran)
    judgeStop(ran, requests, repliesIn(stored))
  }
  judgeEffects(observed, stored)
  for (const one of stored) judgeResults(one)
  judgeSaid(observed, stored)
  judgeReplies(observed, stored)
  for (const id of chats) {
    const chat = open(id)
    const { findings, receipts } = await chat.verifyReceipts()
    expect(findings).toEqual([])
    totals['receipts verified'] += receipts
    expect((await chat.verify()).discrepancy).toBeUndefined()
  }
  for (const ran of turns) judgeUsage(ran, observed, stored)
  for (const ran of turns) judgeStream(ran, stored)
}

const count = ({ turns, effects, spoken, requests }: Observed, stored: readonly Stored[]): void => {
  const facts = stored.flatMap((one) => one.facts)
  const decided = facts.filter(({ type }) => type === 'CallDecided')
  totals.runs++
  totals.turns += turns.length
  totals.requests += requests.length
  totals.effects += effects.length
  totals.approved += decided.filter(({ data }) => data['decision'] === 'approved').length
  totals.denied += decided.filter(({ data }) => data['decision'] === 'denied').length
  totals.edited += decided.filter(({ data }) => data['input']).length
  totals['handed back'] += facts.filter(({ data }) => data['why'] === 'handed-back').length
  totals.said += spoken.length
  totals.queued += spoken.filter(({ status }) => status === 'queued').length
  totals.deaths += turns.filter(({ isDead }) => isDead).length
  totals.cancelled += turns.filter(({ isCancelled }) => isCancelled).length
  totals.interrupted += turns.filter(({ isInterrupted }) => isInterrupted).length
  totals['stopped early'] += turns.filter(
    ({ outcome }) =>
      outcome && 'value' in outcome && ['stop-when', 'tool-choice'].includes(outcome.value.ended),
  ).length
  totals.aborts += turns.filter(({ isAborted }) => isAborted).length
}

const messageIn = ({ answer }: ApiExchange): string =>
  'error' in answer ? String((answer.error as { readonly message: unknown }).message) : ''

const judgeRefusals = (requests: readonly ApiExchange[]): void => {
  const refused = requests.filter(
    (request) =>
      ![200, 529].includes(request.status) &&
      !/^prompt is too long|a fault of the plan/.test(messageIn(request)),
  )
  totals['refused requests'] += refused.length
  expect(refused.map(({ answer, body }) => ({ answer, messages: body?.messages }))).toEqual([])
}

const judgeOutcome = ({ outcome, isDead, isAborted, isCancelled, disturbed, options }: Ran): void => {
  if (!outcome) throw new Error('a turn has not ended')
  if ('value' in outcome) return
  const isDisturbed = disturbed.end > disturbed.begin
  const allowed = [
    'ModelFailed',
    'ContextTooLarge',
    'NothingToAnswer',
    ...(options.maxCalls < 20 ? ['TooManyCalls'] : []),
    ...(options.budget === undefined ? [] : ['BudgetSpent']),
    ...(isDisturbed ? ['StaleContext'] : []),
    ...(isAborted ? ['ModelAborted'] : []),
    ...(isCancelled ? ['TurnCancelled'] : []),
    ...(isDead ? ['StoreClosed', 'StaleContext'] : []),
  ]
  // The whole error, to be read where this fails.
  if (!allowed.includes(outcome.error)) throw outcome.cause
}

/** The ids of the requests whose replies are recorded. */
const repliesIn = (stored: readonly Stored[]): ReadonlySet<unknown> =>
  new Set(
    stored
      .flatMap(({ log }) => log)
      .map(({ data }) => (data['origin'] as { readonly requestId?: unknown } | undefined)?.requestId),
  )

/**
 * Nothing is asked after the step that a turn is to stop with, unless somebody has done something meanwhile. A reply that is not recorded
 * was no step: the turn may have lost the conversation before it came.
 */
const judgeStop = (
  { options, happened, sent }: Ran,
  requests: readonly ApiExchange[],
  recorded: ReadonlySet<unknown>,
): void => {
  if (happened.end > happened.begin || !(options.stopWhen || options.isForced)) return
  const own = requests.filter(({ headers }) => sent.has(Number(headers['x-number'])))
  // What was said before a search has its result waits for it, and is answered before the turn ends.
  if (own.some(({ body, answer }) => JSON.stringify([body, answer]).includes('server_tool_use'))) return
  const last = own.findIndex(({ answer, headers }) => {
    const id = sent.get(Number(headers['x-number']))
    if (id === undefined || !recorded.has(id)) return false
    const { content, stop_reason } = answer as ApiMessage
    if (!Array.isArray(content) || stop_reason !== 'tool_use') return false
    const names = (answer as ApiMessage).content.flatMap(({ type, name }) =>
      type === 'tool_use' ? [name] : [],
    )
    return options.isForced ? names.length > 0 : names.includes('pay')
  })
  if (last >= 0) expect(own.slice(last + 1)).toEqual([])
}

/** On every path that there ever was, a result is of a call of the round before it. What others brought is their affair. */
const judgeResults = ({ log, paths }: Stored): void => {
  const path = (paths.at(-1) ?? []).map((position) => log[position] as Raw)
  let calls = new Set<unknown>()
  let isReply = false
  for (const event of path) {
    if (event.type !== 'MessageAppended') continue
    const blocks = blocksIn(event)
    if (isAssistant(event)) {
      if (!isReply) calls = new Set()
      for (const { type, id } of blocks) if (type === 'tool_use') calls.add(id)
    } else
      for (const block of blocks.filter(isResult)) {
        const id = block['tool_use_id']
        expect(calls.delete(id), `a call for the result of ${String(id)} at ${event.position}`).toBe(true)
      }
    isReply = isAssistant(event)
  }
}
const isResult = ({ type, content }: Block): boolean => type === 'tool_result' && content !== 'brought'

const judgeReplies = ({ turns, requests }: Observed, stored: readonly Stored[]): void => {
  const recorded = new Map<string, Raw>()
  for (const event of stored.flatMap(({ log }) => log)) {
    const { requestId } = (event.data['origin'] ?? {}) as { readonly requestId?: string }
    if (requestId === undefined || !isAssistant(event)) continue
    expect(recorded.get(requestId)?.id ?? event.id, 'a reply is recorded once').toBe(event.id)
    recorded.set(requestId, event)
  }
  for (const { headers, status, isComplete, body, answer } of requests) {
    const number = Number(headers['x-number'])
    const ran = turns.find(({ sent }) => sent.has(number))
    if (!ran || status !== 200 || !isComplete() || !body || isSummary(body)) continue
    const { content, usage } = answer as ApiMessage
    const event = recorded.get(ran.sent.get(number) ?? '')
    if (event) {
      const { stopReason, usage: told } = event.data['origin'] as Readonly<Record<string, unknown>>
      if (stopReason === null) continue
      expect(blocksIn(event)).toEqual(content)
      expect(told).toMatchObject({ input_tokens: usage.input_tokens, output_tokens: usage.output_tokens })
    } else {
      totals['replies lost']++
      expect(ran.disturbed.end, `a reply that is not in the log: ${JSON.stringify(content)}`).toBeGreaterThan(
        ran.disturbed.begin,
      )
    }
  }
}
