import type { ModelCall, UnprovenCall } from '../agent/receipts/calls.ts'
import { type CallStep, createStepReader, type CalledTool } from '../agent/receipts/call-steps.ts'
import type { CostParts } from '../agent/models/prices.ts'
import type { FailedCall } from '../agent/models/model.ts'
import { isFailedRelease } from '../events/turn-events.ts'
import { countsIn } from '../agent/models/usage.ts'
import { callsPaidIn } from '../agent/context/tokens/paid-call.ts'
import { isFarBelow } from '../agent/context/tokens/usage-totals.ts'
import type { Conversation, Store } from '../index.ts'
import { costsOf, usdOf } from './calls.ts'

// Steps of the calls on a page, for a table of calls: times, turns, tools, approvals, and the rewinds that abandoned them.

/** Wait of a tool call for a person's decision or for a result from outside. */
export interface CallWait {
  readonly why: 'approval' | 'handed-back'
  readonly since: string
  readonly decision?: 'approved' | 'denied'
  /** Person who decided, time of the decision, and the note or the reason given. */
  readonly by?: string
  readonly time?: string
  readonly note?: string
  /** Person who withdrew an approval, so that the call waits again. */
  readonly withdrawn?: string
}

/** Tool call with the events of its turn: when its tool started, and for whom it waited. */
export interface DetailedTool extends CalledTool {
  readonly started?: string
  readonly wait?: CallWait
}

/** Attempt that failed before an answer: a call of the model, or an attempt of a worker at the step. */
export interface FailedAttempt {
  readonly error: string
  /** Times at which a worker began the attempt and gave up; absent for a call of the model. */
  readonly begun?: string
  readonly time?: string
}

export interface DetailedStep extends Omit<CallStep, 'position' | 'tools'> {
  readonly tools: readonly DetailedTool[]
  /** Failed attempts at the call, at most the last 20, those of workers first; absent if there were none. */
  readonly attempts?: readonly FailedAttempt[]
  /** Position of the rewind that abandoned the answer. */
  readonly abandoned?: number
  /** Cost in US dollars at list prices; absent if a price or the tokens are unknown. */
  readonly usd?: number
  readonly costs?: CostParts
  /** True if the answer is far longer than its recorded output, so that the recorded usage and the cost are too low. */
  readonly isUnderstated?: true
}

type AnyCall = ModelCall | UnprovenCall

/** Number of events before the first call that are searched for the beginning of its turn. */
const searchedBefore = 50
/** Number of events after the last call that are searched for the results of its tools. */
const searchedAfter = 2_000
/** Maximum number of failed attempts of a call that are returned. */
const mostAttempts = 20
/** Maximum number of events of turns that are read for a page. */
const mostFacts = 20_000

/**
 * Returns the steps of the calls on a page, by the positions of the answers.
 *
 * @param next position of the first call on the next page
 */
export const stepsOf = async (
  { conversation, catalogue }: Pick<Store, 'conversation' | 'catalogue'>,
  id: string,
  calls: readonly AnyCall[],
  next: number | undefined,
): Promise<ReadonlyMap<number, DetailedStep>> => {
  const [first, last] = [calls[0], calls.at(-1)]
  if (!first || !last) return new Map()
  const chat = conversation(id)
  const from = Math.max(0, Math.min(first.position, askedAt(first)) - searchedBefore)
  const end = await chat.position()
  const to = Math.min(end, (next ?? Infinity) - 1, last.position + searchedAfter)
  const reader = createStepReader()
  /** Estimated tokens of imported replies, by position. */
  const said = new Map<number, number>()
  for await (const event of chat.events({ from, to })) {
    reader.take(event)
    for (const paid of callsPaidIn(event, [], new Set())) if (paid.said) said.set(event.position, paid.said)
  }
  const turns = await turnFactsOf(chat, from, Math.max(to, last.position))
  const positions = [...new Set(calls.map(({ position }) => position))]
  const fates = await catalogue.fates(id, { at: end, of: positions })
  const abandoned = new Map(
    fates?.flatMap(({ position, status, by }) =>
      status === 'abandoned' && by !== undefined ? [[position, by] as const] : [],
    ),
  )
  return new Map(
    calls.flatMap(({ position, origin }) => {
      const step = reader.stepAt(position)
      if (!step) return []
      const { position: _, tools, begun, ...rest } = step
      const by = abandoned.get(position)
      const [usd, costs] = [usdOf(origin), costsOf(origin)]
      const isUnderstated =
        origin.usage !== undefined && isFarBelow(countsIn(origin.usage).output, said.get(position) ?? 0)
      const start = begun === undefined ? undefined : turns.startAfter(begun, step.time)
      const attempts = [
        ...(begun === undefined ? [] : turns.attemptsBetween(begun, step.time)),
        ...failedIn(origin),
      ].slice(-mostAttempts)
      const row: DetailedStep = {
        ...rest,
        ...(start !== undefined && { begun: start }),
        tools: tools.map((tool) => ({ ...tool, ...turns.toolAt(position, tool.call) })),
        ...(attempts.length > 0 && { attempts }),
        ...(by !== undefined && { abandoned: by }),
        ...(usd !== undefined && { usd }),
        ...(costs && { costs }),
        ...(isUnderstated && { isUnderstated }),
      }
      return [[position, row] as const]
    }),
  )
}

const askedAt = (call: AnyCall): number => ('receipt' in call ? call.receipt.position : call.position - 1)

/** Returns the failed calls of the model that a reply's origin lists. */
const failedIn = ({ failed }: AnyCall['origin']): readonly FailedAttempt[] =>
  Array.isArray(failed) ? (failed as readonly FailedCall[]).map(({ message }) => ({ error: message })) : []

interface TurnFacts {
  /** Returns the time of the last claim between two times: the worker or program began then. Default: the first of the times. */
  readonly startAfter: (begun: string, ended: string) => string
  /** Returns the attempts of workers that failed between two times. */
  readonly attemptsBetween: (begun: string, ended: string) => readonly FailedAttempt[]
  readonly toolAt: (reply: number, call: string) => Pick<DetailedTool, 'started' | 'wait'>
}

/** Reads when workers and tools began and what was decided, from the events of turns that were recorded between two positions. */
const turnFactsOf = async (chat: Conversation, from: number, to: number): Promise<TurnFacts> => {
  const claims: string[] = []
  const attempts: (FailedAttempt & { readonly time: string })[] = []
  const tools = new Map<string, { started?: string; wait?: CallWait }>()
  const update = (reply: number, call: string, change: { started?: string; wait?: CallWait }): void => {
    const key = JSON.stringify([reply, call])
    tools.set(key, { ...tools.get(key), ...change })
  }
  let facts = 0
  for await (const { type, data, metadata } of chat.turnFacts({ from, to })) {
    if (++facts > mostFacts) break
    const { time } = metadata
    if (type === 'TurnClaimed') claims.push(time)
    else if (type === 'TurnReleased' && isFailedRelease(data)) {
      const claim = claims.at(-1)
      attempts.push({ error: data.error ?? 'failed', time, ...(claim !== undefined && { begun: claim }) })
    } else if (type === 'ToolStarted') update(data.reply, data.call, { started: time })
    else if (type === 'CallsWaiting') {
      const { withdrawn } = data
      for (const call of data.calls)
        update(data.reply, call, {
          wait: { why: data.why, since: time, ...(withdrawn && { withdrawn: withdrawn.by }) },
        })
    } else if (type === 'CallDecided') {
      const wait = tools.get(JSON.stringify([data.reply, data.call]))?.wait
      // Only the first decision during a wait counts.
      if (wait?.decision !== undefined) continue
      const note = data.note ?? data.reason
      update(data.reply, data.call, {
        wait: {
          why: 'approval',
          since: time,
          ...wait,
          decision: data.decision,
          by: data.by,
          time,
          ...(note !== undefined && { note }),
        },
      })
    }
  }
  return {
    startAfter: (begun, ended) => claims.findLast((time) => begun < time && time < ended) ?? begun,
    attemptsBetween: (begun, ended) => attempts.filter(({ time }) => begun < time && time < ended),
    toolAt: (reply, call) => tools.get(JSON.stringify([reply, call])) ?? {},
  }
}
