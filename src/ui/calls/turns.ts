import type { CallListResponse } from '../source/answers.ts'
import { type CacheUsage, usageIn } from '../request/cache-usage.ts'
import { nameOf } from '../request/call.ts'

// Model calls as the rows of a table, and the turns that they belong to.

export type CallItem = CallListResponse['items'][number]
type CallStep = NonNullable<CallItem['step']>
export type RowTool = CallStep['tools'][number]
type RowAttempt = NonNullable<CallStep['attempts']>[number]

/** Row of a call. An imported reply that is stored in several messages is one row. */
export interface CallRow {
  /** Name of the call in addresses. */
  readonly name: string
  readonly number: number | undefined
  readonly position: number
  readonly kind: 'reply' | 'summary'
  readonly model: string | undefined
  readonly stopReason: string | undefined
  readonly usage: CacheUsage | undefined
  readonly usd: number | undefined
  readonly costs: CallStep['costs']
  /** Times in milliseconds since 1970. */
  readonly begun: number | undefined
  readonly ended: number | undefined
  readonly tools: readonly RowTool[]
  readonly moreTools: number
  /** Failed attempts at the call. */
  readonly attempts: readonly RowAttempt[]
  readonly condensed: CallStep['condensed']
  /** Position that the request was made from. */
  readonly at: number
  readonly before: { readonly position: number; readonly at: number } | undefined
  readonly turn: CallStep['turn']
  readonly hasReceipt: boolean
  readonly isMissing: boolean
  /** Position of the rewind that abandoned the answer. */
  readonly abandoned: number | undefined
  readonly isUnderstated: boolean
}

const timeOf = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : Date.parse(text)

const rowOf = (item: CallItem): CallRow => {
  const { position = 0, kind = 'reply', origin, receipt, step, number, isMissing = false } = item
  return {
    name: nameOf({ number, position }),
    number,
    position,
    kind,
    model: origin?.model,
    stopReason: origin?.stopReason ?? undefined,
    usage: usageIn(origin?.usage),
    usd: step?.usd,
    costs: step?.costs,
    begun: timeOf(step?.begun),
    ended: timeOf(step?.time),
    tools: step?.tools ?? [],
    moreTools: step?.moreTools ?? 0,
    attempts: step?.attempts ?? [],
    condensed: step?.condensed,
    at: Math.min(receipt?.position ?? position - 1, position - 1),
    before: step?.before,
    turn: step?.turn,
    hasReceipt: receipt !== undefined,
    isMissing,
    abandoned: step?.abandoned,
    isUnderstated: step?.isUnderstated === true,
  }
}

/** Joins a reply with the message that continues it: its tokens are those of the last message, which has counted the most. */
const joined = (row: CallRow, next: CallRow): CallRow => {
  const isFuller = (next.usage?.output ?? 0) >= (row.usage?.output ?? 0)
  return {
    ...row,
    stopReason: next.stopReason ?? row.stopReason,
    ended: next.ended ?? row.ended,
    tools: [...row.tools, ...next.tools],
    moreTools: row.moreTools + next.moreTools,
    attempts: [...row.attempts, ...next.attempts],
    ...(isFuller && { usage: next.usage, usd: next.usd, costs: next.costs }),
    isUnderstated: row.isUnderstated || next.isUnderstated,
  }
}

/** Converts the items of pages, in order, to rows. */
export const rowsOf = (items: readonly CallItem[]): readonly CallRow[] => {
  const rows: CallRow[] = []
  for (const item of items) {
    const last = rows.at(-1)
    const row = rowOf(item)
    if (item.step?.isPart && last) rows[rows.length - 1] = joined(last, row)
    else rows.push(row)
  }
  return rows
}

/** Sums over rows. Tokens and costs of calls that report none are not included. */
export interface CallSums {
  readonly calls: number
  /** Number of those that were made for a summary. */
  readonly summaries: number
  /** Input tokens that were not read from the cache, those that were, and output tokens. */
  readonly fresh: number
  readonly read: number
  readonly output: number
  /** Cost in US dollars; undefined if no call has one. */
  readonly usd: number | undefined
  readonly errors: number
  /** Number of calls that needed more than one attempt. */
  readonly retries: number
  readonly receipts: number
  /** Number of replies whose recorded output is far too low. */
  readonly understated: number
}

export const sumsOf = (rows: readonly CallRow[]): CallSums => {
  const sum = (of: (row: CallRow) => number | undefined): number =>
    rows.reduce((all, row) => all + (of(row) ?? 0), 0)
  return {
    calls: rows.length,
    summaries: sum(({ kind }) => Number(kind === 'summary')),
    fresh: sum(({ usage }) => usage && usage.input - usage.read),
    read: sum(({ usage }) => usage?.read),
    output: sum(({ usage }) => usage?.output),
    usd: rows.some(({ usd }) => usd !== undefined) ? sum(({ usd }) => usd) : undefined,
    errors: sum(({ tools }) => tools.filter(({ isError }) => isError).length),
    retries: sum(({ attempts }) => Number(attempts.length > 0)),
    receipts: sum(({ hasReceipt }) => Number(hasReceipt)),
    understated: sum(({ isUnderstated }) => Number(isUnderstated)),
  }
}

/** A user turn with its calls. */
export interface CallTurn {
  /** Number of the turn among those shown, from 1. */
  readonly nth: number
  /** Position at which it begins; undefined if it began before the calls that were read. */
  readonly from: number | undefined
  readonly prompt: string
  readonly first: number
  readonly last: number
  readonly rows: readonly CallRow[]
  readonly sums: CallSums
  /** Times of the prompt and of the last event of its calls, in milliseconds since 1970. */
  readonly begun: number | undefined
  readonly ended: number | undefined
  /** Position of the rewind that abandoned all of its calls. */
  readonly abandoned: number | undefined
  /** Tool calls that waited or wait for a person, in order. */
  readonly waits: readonly RowTool[]
}

/** Groups rows by turn. A row without a turn belongs to the turn before it. */
export const turnsOf = (rows: readonly CallRow[]): readonly CallTurn[] => {
  const groups: CallRow[][] = []
  for (const row of rows) {
    const last = groups.at(-1)
    const from = row.turn?.from ?? last?.[0]?.turn?.from
    if (last && from === last[0]?.turn?.from) last.push(row)
    else groups.push([row])
  }
  return groups.map((group, index): CallTurn => {
    const { turn } = group[0] ?? {}
    const last = group.at(-1)
    const [abandoned] = group.map((row) => row.abandoned)
    const tools = group.flatMap((row) => row.tools)
    const ends = [...group.map(({ ended }) => ended), ...tools.map(({ time }) => timeOf(time))]
    return {
      nth: index + 1,
      from: turn?.from,
      prompt: turn?.prompt ?? '',
      first: turn?.from ?? group[0]?.position ?? 0,
      last: last?.position ?? 0,
      rows: group,
      sums: sumsOf(group),
      begun: timeOf(turn?.time) ?? group[0]?.begun,
      ended: ends.reduce<number | undefined>(
        (latest, end) => (end !== undefined && end > (latest ?? -Infinity) ? end : latest),
        undefined,
      ),
      abandoned: group.every((row) => row.abandoned !== undefined) ? abandoned : undefined,
      waits: tools.filter(({ wait }) => wait?.why === 'approval'),
    }
  })
}

/** Reports whether a tool call still waits for a decision. */
export const isPending = ({ wait, time }: RowTool): boolean =>
  wait?.why === 'approval' && wait.decision === undefined && time === undefined

/** Returns the time between a call's request and its answer, in milliseconds; undefined if the events do not tell. */
export const latencyOf = ({ begun, ended }: CallRow): number | undefined =>
  begun === undefined || ended === undefined || ended < begun ? undefined : ended - begun

/** Returns the median of numbers; undefined if there are none. */
export const medianOf = (values: readonly number[]): number | undefined => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const [low, high] = [sorted[middle - 1], sorted[middle]]
  return sorted.length % 2 === 0 && low !== undefined && high !== undefined ? (low + high) / 2 : high
}
