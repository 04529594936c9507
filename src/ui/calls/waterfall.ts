import { clock } from '../words.ts'
import type { CallRow, CallTurn, RowTool } from './turns.ts'

// The steps of a turn on one clock, from the times of events.

export type SpanKind = 'condensed' | 'assistant' | 'call' | 'error' | 'approval'

/** A step of a turn with its time. */
export interface StepSpan {
  readonly key: string
  readonly kind: SpanKind
  readonly label: string
  /** Words beside the bar. */
  readonly note: string
  readonly depth: number
  /** Times in milliseconds since 1970. */
  readonly from: number
  readonly to: number
  /** True if the step has not ended. */
  readonly isOpen: boolean
  readonly position: number
}

/** Calls of a subagent, by the id of the tool call that started it. */
export type SubagentCalls = ReadonlyMap<string, { readonly id: string; readonly rows: readonly CallRow[] }>

interface SpanOptions {
  /** Calls of subagents, and the words for a call's tokens. */
  readonly subagents: SubagentCalls
  readonly noteOf: (row: CallRow) => string
  /** Current time in milliseconds since 1970, at which the bars of open steps end. */
  readonly now: number
}

/** Returns the steps of a turn, in order: its calls, the tools of each, and the calls of subagents inside. Steps without times are left out. */
export const spansOf = ({ rows }: CallTurn, options: SpanOptions): readonly StepSpan[] =>
  rows.flatMap((row) => spansOfCall(row, labelOf(row, ''), 0, options))

const labelOf = ({ number, position, kind }: CallRow, prefix: string): string =>
  kind === 'summary' ? 'Condense' : number === undefined ? `Reply at ${position}` : `Call ${prefix}${number}`

const spansOfCall = (
  row: CallRow,
  label: string,
  depth: number,
  options: SpanOptions,
): readonly StepSpan[] => {
  const { begun, ended, position, kind, tools, name, attempts } = row
  const failed = attempts.flatMap(({ error, begun: from, time: to }, index): readonly StepSpan[] =>
    from === undefined || to === undefined
      ? []
      : [
          {
            key: `${depth} ${name} ${position} attempt ${index}`,
            kind: 'error',
            label: `${label}, attempt ${index + 1}`,
            note: error,
            depth,
            from: Date.parse(from),
            to: Date.parse(to),
            isOpen: false,
            position,
          },
        ],
  )
  const own: readonly StepSpan[] =
    begun === undefined || ended === undefined || ended < begun
      ? []
      : [
          {
            key: `${depth} ${name} ${position}`,
            kind: kind === 'summary' ? 'condensed' : 'assistant',
            label,
            note: options.noteOf(row),
            depth,
            from: begun,
            to: ended,
            isOpen: false,
            position,
          },
        ]
  return [...failed, ...own, ...tools.flatMap((tool) => spansOfTool(tool, row, depth + 1, options))]
}

/** Describes the end of a wait: who decided, and when. */
const decidedText = (wait: RowTool['wait']): string =>
  wait?.decision === undefined || wait.time === undefined
    ? 'not approved'
    : `${wait.decision} by ${wait.by} at ${clock(wait.time)}`

const spansOfTool = (
  { call, tool, about, started, time, isError, wait }: RowTool,
  { ended, position, number }: CallRow,
  depth: number,
  options: SpanOptions,
): readonly StepSpan[] => {
  const label = about === undefined ? tool : `${tool} ${about}`
  const of = { label, depth, position }
  const since = wait === undefined ? undefined : Date.parse(wait.since)
  const end = time === undefined ? undefined : Date.parse(time)
  const waitEnd = wait?.time === undefined ? end : Date.parse(wait.time)
  const waited: readonly StepSpan[] =
    since === undefined
      ? []
      : [
          {
            ...of,
            key: `wait ${call}`,
            kind: 'approval',
            note: decidedText(wait),
            from: since,
            to: Math.max(since, waitEnd ?? options.now),
            isOpen: waitEnd === undefined,
          },
        ]
  const begun = started === undefined ? (wait?.decision === undefined ? ended : waitEnd) : Date.parse(started)
  const isRun = end !== undefined && begun !== undefined && end >= begun && wait?.decision !== 'denied'
  const subagent = options.subagents.get(call)
  const ran: readonly StepSpan[] = isRun
    ? [
        {
          ...of,
          key: `tool ${call}`,
          kind: isError ? 'error' : 'call',
          note: subagent ? `subagent ${subagent.id}` : isError ? 'failed' : '',
          from: begun,
          to: end,
          isOpen: false,
        },
      ]
    : []
  const inside = subagent?.rows ?? []
  return [
    ...waited,
    ...ran,
    ...inside.flatMap((row) => spansOfCall(row, labelOf(row, `${number ?? position}.`), depth + 1, options)),
  ]
}

/** A clock for steps: maps times to places from 0 to 1. Long times in which nothing happens are cut short. */
export interface StepClock {
  readonly placeOf: (time: number) => number
  readonly ticks: readonly { readonly place: number; readonly ms: number }[]
  /** Places at which time was left out, with its length in milliseconds. */
  readonly cuts: readonly { readonly place: number; readonly ms: number }[]
  /** Length of the steps together, from the first to the last, in milliseconds. */
  readonly ms: number
}

const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400]
/** Number of ticks that an axis has at most. */
const mostTicks = 6

export const clockOf = (spans: readonly Pick<StepSpan, 'from' | 'to'>[]): StepClock => {
  const sorted = spans.toSorted((a, b) => a.from - b.from)
  const start = sorted[0]?.from ?? 0
  const end = sorted.reduce((latest, { to }) => Math.max(latest, to), start)
  const busy: { from: number; to: number }[] = []
  for (const { from, to } of sorted) {
    const last = busy.at(-1)
    if (last && from <= last.to) last.to = Math.max(last.to, to)
    else busy.push({ from, to })
  }
  const busyMs = busy.reduce((sum, { from, to }) => sum + to - from, 0)
  const longest = Math.max(2_000, busyMs / 5)
  const cutMs = Math.max(1, busyMs / 25)
  /** Segments of the clock: times before each are shown up to its place. */
  const segments: { from: number; to: number; at: number }[] = []
  const cutsAt: { at: number; ms: number }[] = []
  let at = 0
  for (const [index, { from, to }] of busy.entries()) {
    const before = busy[index - 1]
    if (before) {
      const gap = from - before.to
      if (gap > longest) {
        cutsAt.push({ at: at + cutMs / 2, ms: gap })
        at += cutMs
      } else at += gap
    }
    segments.push({ from, to, at })
    at += to - from
  }
  const whole = Math.max(1, at)
  const placeOf = (time: number): number => {
    const segment = segments.findLast(({ from }) => from <= time) ?? segments[0]
    if (!segment) return 0
    const next = segments[segments.indexOf(segment) + 1]
    const place = segment.at + Math.max(0, time - segment.from)
    return Math.min(place, next?.at ?? whole) / whole
  }
  const step = (steps.find((one) => whole / (one * 1_000) <= mostTicks) ?? 86_400) * 1_000
  const ticks =
    cutsAt.length > 0
      ? segments.map(({ from, at: place }) => ({ place: place / whole, ms: from - start }))
      : Array.from({ length: Math.floor(whole / step) + 1 }, (_, index) => ({
          place: (index * step) / whole,
          ms: index * step,
        }))
  return {
    placeOf,
    ticks: ticks.filter(
      ({ place }, index) =>
        index === 0 || place - (ticks[index - 1]?.place ?? 0) > 0.04 || cutsAt.length === 0,
    ),
    cuts: cutsAt.map(({ at: place, ms }) => ({ place: place / whole, ms })),
    ms: end - start,
  }
}
