import type { ActPreview, BoardStep, ContextStats } from '../source/answers.ts'
import type { AccessRights } from '../source/source.ts'
import { count, number } from '../words.ts'

// Descriptions of a dry run in words.

/** Figure before and after a command. `change` is signed, and empty if the figure stays the same. */
export interface Figure {
  readonly name: string
  readonly before: string
  readonly after: string
  readonly change: string
}

/** Formats a number with its sign; returns an empty string for 0. Uses a minus sign that is as wide as the plus sign. */
export const formatSigned = (value: number): string =>
  value === 0 ? '' : `${value > 0 ? '+' : '−'}${number(Math.abs(value))}`

export const figuresOf = ({ before, after }: ActPreview): readonly Figure[] => {
  const figure = (name: string, was: number, is: number): Figure => ({
    name,
    before: number(was),
    after: number(is),
    change: formatSigned(is - was),
  })
  return [
    figure('items', before.items, after.items),
    figure(`tokens, ${countedBy([before, after])}`, before.tokens, after.tokens),
  ]
}

const countedBy = (shown: readonly ContextStats[]): string => {
  if (shown.every(({ estimated }) => estimated === 0)) return 'counted'
  return shown.every(({ estimated, tokens }) => estimated === tokens) ? 'estimated' : 'in part estimated'
}

const repairWords: Readonly<Record<string, readonly [one: string, many: string]>> = {
  'thinking-dropped': ['block of thinking is left out', 'blocks of thinking are left out'],
  'result-dropped': ['result without its call is left out', 'results without their calls are left out'],
  'result-as-text': ['late result is shown as text', 'late results are shown as text'],
  'call-answered': ['call without a result is answered', 'calls without results are answered'],
  'roles-merged': ['message is joined to the one before it', 'messages are joined to the ones before them'],
  'system-moved': ['system message is moved', 'system messages are moved'],
  'message-inserted': ['message is inserted', 'messages are inserted'],
  'message-dropped': ['empty message is left out', 'empty messages are left out'],
  'blank-dropped': ['blank text is left out', 'blank texts are left out'],
  'server-tool-dropped': [
    'half of a server tool call is left out',
    'halves of server tool calls are left out',
  ],
}
/** Describes the repairs of one kind: `3 blocks of thinking are left out`. */
export const repairIn = (kind: string, times: number): string => {
  const [one, many] = repairWords[kind] ?? [kind.replaceAll('-', ' '), `× ${kind.replaceAll('-', ' ')}`]
  return count(times, one, many)
}

/** Number of repairs of each kind that a request needs before and after a command. */
interface RepairCounts {
  readonly before: Pick<ContextStats, 'repairs'>
  readonly after: Pick<ContextStats, 'repairs'>
}
/** Describes the repairs that a request needs after a command in addition to those it needed before. */
export const newRepairs = ({ before, after }: RepairCounts): readonly string[] =>
  Object.entries(after.repairs).flatMap(([kind, times]) => {
    const more = times - (before.repairs[kind] ?? 0)
    return more > 0 ? [repairIn(kind, more)] : []
  })

/** Fields of `GET /steps` and `GET /workers` that a warning needs. */
export interface WorkStatus {
  readonly steps: readonly Pick<BoardStep, 'conversation' | 'state' | 'holder'>[]
  readonly workers: number
}

/** Describes how workers will react to a command; undefined if they will not react. */
export const warningOf = (
  id: string,
  { steps, workers }: WorkStatus,
  after: ContextStats | undefined,
): string | undefined => {
  const step = steps.find(({ conversation }) => conversation === id)
  if (step?.holder !== undefined && step.state === 'claimed')
    return `${step.holder} is answering this conversation: it drops the reply it is waiting for, and answers from there at once.`
  if (step) return 'Workers serve this conversation: one answers from there at once.'
  if (workers > 0 && after?.awaits === 'model')
    return `${count(workers, 'worker')} may answer from there at once: it ends with a message that awaits the model.`
  return undefined
}

/** Number of events written since the user last looked, and the position of the last one. */
export interface Stale {
  readonly came: number
  readonly last: number
}

/**
 * Reads the number of newer events and the position of the last one from a problem; undefined if the server rejected the command for
 * another reason.
 */
export const staleIn = (problem: Readonly<Record<string, unknown>>): Stale | undefined => {
  const { status, after, last } = problem
  if (status !== 412 || typeof last !== 'number') return undefined
  return { came: last - (typeof after === 'number' ? after : last), last }
}

/** Returns the reason why the user cannot write, for a tooltip; undefined if writing is enabled, or while the session is loading. */
export const offBecause = (isLive: boolean, session: AccessRights | undefined): string | undefined => {
  if (!isLive) return 'This is a saved file: it is read-only.'
  if (session?.isReadOnly) return 'This server is read-only.'
  if (session && !session.scopes.includes('write')) return 'Your token is read-only.'
  return undefined
}
