import type { AccessRights } from '../source/source.ts'
import { count, number } from '../words.ts'

// A dry run, in words.

/** What the model sees before or after a command. */
export interface ContextStats {
  readonly items: number
  readonly tokens: number
  /** How many of them the API has not counted. */
  readonly estimated: number
  /** What a request of it departs in from what is stored: how many repairs of each kind. */
  readonly repairs?: Readonly<Record<string, number>> | undefined
  /** Whose turn it is. */
  readonly awaits?: string | undefined
}
export interface ActPreview {
  /** The last position that it was decided on. */
  readonly position: number
  readonly events: readonly { readonly type: string; readonly data: object }[]
  readonly before: ContextStats
  readonly after: ContextStats
}

/** A figure before and after. `change`: with its sign, empty if there is none. */
export interface Figure {
  readonly name: string
  readonly before: string
  readonly after: string
  readonly change: string
}

/** With a minus sign as wide as the plus. */
export const signed = (value: number): string =>
  value === 0 ? '' : `${value > 0 ? '+' : '−'}${number(Math.abs(value))}`

export const figuresOf = ({ before, after }: ActPreview): readonly Figure[] => {
  const figure = (name: string, was: number, is: number): Figure => ({
    name,
    before: number(was),
    after: number(is),
    change: signed(is - was),
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
  'message-inserted': ['message is inserted', 'messages are inserted'],
  'message-dropped': ['empty message is left out', 'empty messages are left out'],
  'blank-dropped': ['blank text is left out', 'blank texts are left out'],
  'server-tool-dropped': [
    'half of a server tool call is left out',
    'halves of server tool calls are left out',
  ],
}
/** `3 blocks of thinking are left out`. */
export const repairIn = (kind: string, times: number): string => {
  const [one, many] = repairWords[kind] ?? [kind.replaceAll('-', ' '), `× ${kind.replaceAll('-', ' ')}`]
  return count(times, one, many)
}

/** The repairs that a request needs afterwards and did not need before, or needs more often. */
export const newRepairs = ({ before, after }: ActPreview): readonly string[] =>
  Object.entries(after.repairs ?? {}).flatMap(([kind, times]) => {
    const more = times - (before.repairs?.[kind] ?? 0)
    return more > 0 ? [repairIn(kind, more)] : []
  })

/** Of `GET /turns` and `GET /workers`, what a warning is made of. */
export interface WorkStatus {
  readonly steps: readonly {
    readonly conversation: string
    readonly state: string
    readonly holder?: string | undefined
  }[]
  readonly workers: number
}

/** What workers do once the command is carried out; undefined if they have nothing to do with it. */
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

/** What a problem says about a command that was decided on an older state. */
export interface Stale {
  readonly came: number
  readonly last: number
  /** The API's path of the difference. */
  readonly diff: string | undefined
}

/** Undefined: it was refused for another reason. */
export const staleIn = (problem: Readonly<Record<string, unknown>>): Stale | undefined => {
  const { status, after, last, diff } = problem
  if (status !== 412 || typeof last !== 'number') return undefined
  const seen = typeof after === 'number' ? after : last
  return {
    came: last - seen,
    last,
    diff: typeof diff === 'string' ? diff.replace(/^\/api\/v1/, '') : undefined,
  }
}

/** Of `GET /session`: what one may do here. */
export interface SessionResponse extends AccessRights {
  /** The URL of the store, without credentials. */
  readonly store: string
}

/** Why nothing can be written, for who points at a button; undefined if it can, or if nobody has said so yet. */
export const offBecause = (isLive: boolean, session: AccessRights | undefined): string | undefined => {
  if (!isLive) return 'This is a file: it can only be read.'
  if (session?.isReadOnly) return 'This server only reads.'
  if (session && !session.scopes.includes('write')) return 'Your token only reads.'
  return undefined
}
