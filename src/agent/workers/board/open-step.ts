import { hash } from 'node:crypto'
import type { AnswerTerms } from '../../../events/events.ts'
import type { SeenEvent } from './seen-event.ts'
import { longestTimer } from '../../../result/timers.ts'

/**
 * The next work for workers in a conversation: a model call, or the tool calls of its reply. A conversation has no step until an answer
 * is requested.
 *
 * 1. A step is named after the event that created it: a message, a rewind, a decision, a request. A reply that calls tools continues
 *    its step.
 * 2. A request holds until the model has finished.
 * 3. A worker that has claimed a step continues with the next one until nothing is left to do: it holds the conversation until then.
 */
export interface OpenStep {
  readonly name: string
  /** Stage of the step. `over`: the model has finished, unless more events follow in the same write. */
  readonly stage: 'open' | 'waiting' | 'parked' | 'over'
  readonly asking: AnswerTerms
  /** Name of the event that began the current work on the conversation. Claims before that event have ended. */
  readonly begunBy: string
  /** True if the event that began the work is `Forked`. */
  readonly isFork?: true | undefined
  /** True if nobody requested an answer, but the observer answers every conversation that awaits the model. */
  readonly isUnasked?: true | undefined
  /** Worker that holds the conversation. The worker may have died: the step does not show whether or why. */
  readonly holder?: string | undefined
  /** Worker that last held the conversation: its prompt cache is warm. */
  readonly last?: string | undefined
  /** Number of the next attempt: 1 for a step that nobody has tried. */
  readonly attempt: number
  readonly errors: readonly string[]
  /** Number of workers that died or fell silent while holding the step. Default 0. */
  readonly deaths?: number | undefined
  /** Time at which the step was created, or first requested: ISO 8601, UTC. */
  readonly since: string
  /** Time at which the holder claimed the conversation: ISO 8601, UTC. */
  readonly claimedAt?: string | undefined
  /**
   * Time at which the step began to wait, which determines its place in the order of steps. `freeAt` is the time at which it became
   * free, and `notBefore` the earliest time at which it may be claimed. All three are in milliseconds by the observer's own clock.
   */
  readonly waitsSince: number
  readonly freeAt: number
  readonly notBefore: number
  /** True if the step's approvals expire at `notBefore`. They are then too late, and the model has to be informed. */
  readonly expires?: true | undefined
  /** True if the conversation's inbox contains messages. */
  readonly hasMail: boolean
  /** True if a program runs the conversation's turn and no answer was requested from workers. */
  readonly isProgram?: true | undefined
  /** Name of the step that a program has claimed; the program itself does not know this name. */
  readonly claimedStep?: string | undefined
  /** True if the holder's turn was cancelled: nothing is left to do unless an answer is requested again. */
  readonly isCancelled?: true | undefined
  /** Id of the command that recorded the last reply. */
  readonly overBy?: string | undefined
}

/**
 * Reports whether the observer has received every event of the conversation and its side streams. This is the case if the conversation
 * is not a fork and its first event began the step.
 */
export const isSeenWhole = ({ begunBy, isFork }: OpenStep): boolean => begunBy === 'conversation@0' && !isFork

/** Returns the tenant of a step; `''` if its request names none. */
export const tenantOf = ({ asking }: OpenStep): string => asking.tenant ?? ''

/** Reports whether a worker, dead or alive, holds the step. */
export const isInProgress = ({ stage, holder }: OpenStep): boolean => stage === 'open' && holder !== undefined

/** Reports whether workers may take the step as soon as it is due. */
export const isFree = ({ stage, holder, expires }: OpenStep): boolean =>
  holder === undefined && (stage === 'open' || (stage === 'waiting' && expires === true))

/**
 * Number of worker deaths that make a step suspect. A single death may have had another cause, such as a step that the worker held at
 * the same time, so after the first death the step is taken over like any other.
 */
const suspicious = 2

/**
 * Reports whether the step may be killing workers. A holder counts as dead here, because a step is taken only from a worker that has
 * fallen silent.
 */
export const isSuspect = ({ stage, holder, deaths = 0 }: OpenStep): boolean =>
  stage === 'open' && deaths + (holder === undefined ? 0 : 1) >= suspicious

/** Returns the step marked as free. It may be claimed `waitMs` milliseconds after `now`. */
const freed = (step: OpenStep, now: number, waitMs = 0): OpenStep => ({
  ...step,
  last: step.holder ?? step.last,
  holder: undefined,
  freeAt: now,
  notBefore: now + waitMs,
})

/** Returns the next step of the conversation. A worker that holds the conversation continues with this step, as its first attempt. */
const next = (step: OpenStep, { name, time }: SeenEvent, now: number): OpenStep => ({
  ...step,
  name,
  stage: 'open',
  attempt: step.holder === undefined ? 1 : 2,
  errors: [],
  deaths: undefined,
  since: time,
  ...(step.holder === undefined && { freeAt: now, notBefore: now }),
  // A step that is already open keeps its place when another event arrives.
  ...(step.stage !== 'open' && { waitsSince: now }),
  overBy: undefined,
})

const begun = (asking: AnswerTerms, { name, time, what }: SeenEvent, now: number): OpenStep => ({
  ...(what.type === 'forked' && { isFork: true }),
  name,
  stage: 'over',
  asking,
  begunBy: name,
  attempt: 1,
  errors: [],
  since: time,
  waitsSince: now,
  freeAt: now,
  notBefore: now,
  hasMail: false,
})

/** Returns the step for a conversation that a program has claimed without a request to workers. */
const claimedUnasked = (event: SeenEvent, now: number, answersAll: boolean): OpenStep => ({
  ...begun({}, event, now),
  stage: 'open',
  ...(answersAll ? { isUnasked: true } : { isProgram: true }),
})

/** Events after which a conversation may await the model. The worker that claims the step determines whether it does. */
const mayAwait: ReadonlySet<string> = new Set(['said', 'goes-on', 'rewound', 'forked', 'queued'])

/**
 * Returns the step after an event; undefined if nothing is requested from workers.
 *
 * @param answersAll true if the observer answers every conversation that awaits the model
 */
export const evolveStep = (
  before: OpenStep | undefined,
  event: SeenEvent,
  now: number,
  answersAll = false,
): OpenStep | undefined => {
  const { asks, commandId, what } = event
  const current = before?.stage === 'over' && before.overBy !== commandId ? undefined : before
  if (answersAll && !current && !asks && mayAwait.has(what.type))
    return { ...next(begun({}, event, now), event, now), isUnasked: true, hasMail: what.type === 'queued' }
  const asked = asks && (current ?? begun(asks, event, now))
  const step = asked
    ? {
        ...asked,
        asking: { ...asked.asking, ...asks },
        isUnasked: undefined,
        isProgram: undefined,
        isCancelled: undefined,
      }
    : (current ?? (what.type === 'TurnClaimed' ? claimedUnasked(event, now, answersAll) : undefined))
  if (!step) return undefined
  switch (what.type) {
    case 'said':
    case 'rewound':
    case 'CallDecided':
      return next(step, event, now)
    case 'TurnRequested':
    case 'TurnUnparked':
      // Asked for again, nothing is newer: an open step keeps its age.
      return { ...next(step, event, now), ...(step.stage === 'open' && { since: step.since }) }
    case 'queued':
      // No turn of a finished or parked step would take the message out of the inbox.
      return step.stage === 'over' || step.stage === 'parked'
        ? { ...next(step, event, now), hasMail: true }
        : { ...step, hasMail: true }
    case 'taken':
      return { ...step, hasMail: false }
    case 'final':
      return step.hasMail ? next(step, event, now) : { ...step, stage: 'over', overBy: commandId }
    case 'TurnClaimed': {
      const { worker, attempt, step: claimed, isTurn } = what.data
      const { holder, errors, deaths = 0 } = step
      const counted = (claimed === step.name ? attempt : 1) + 1
      const isSilent = holder !== undefined && holder !== worker
      return {
        ...step,
        stage: 'open',
        holder: worker,
        claimedAt: event.time,
        attempt: isTurn ? step.attempt + (holder === worker ? 0 : 1) : counted,
        claimedStep: isTurn ? step.name : undefined,
        ...(isSilent ? { deaths: deaths + 1, errors: withError(step, silent(holder)) } : { errors }),
      }
    }
    case 'TurnReleased':
      return released(step, what.data, now)
    case 'TurnParked':
      // If the names differ, a message, rewind or decision came after the writer last looked, and opens the step again.
      return what.data.step === step.name
        ? { ...freed(step, now), stage: 'parked', errors: withExitsOf(step.errors, what.data.errors) }
        : freed(step, now)
    case 'TurnCancelled':
      return step.holder === undefined ? step : { ...step, isCancelled: true }
    case 'goes-on':
    case 'forked':
    case 'other':
    case 'TurnsBegun':
    case 'ToolStarted':
    case 'CallsWaiting':
    case 'TurnsPaused':
    case 'TurnsResumed':
      return step
  }
}

type Released = Extract<SeenEvent['what'], { readonly type: 'TurnReleased' }>['data']

const released = (
  step: OpenStep,
  { worker, step: known, reason, waitMs, error }: Released,
  now: number,
): OpenStep | undefined => {
  if (step.holder !== worker) return step
  if (step.isProgram || step.isCancelled) return undefined
  const free = freed(step, now, waitMs)
  // If false, a message, rewind or decision came after the worker last looked, and any free worker must look again.
  const isCurrent = known === step.name || step.claimedStep === step.name
  if (reason === 'done' && isCurrent) return undefined
  if (reason === 'waiting' && isCurrent) {
    const expires = waitMs === undefined ? undefined : true
    return { ...free, stage: 'waiting', attempt: 1, expires }
  }
  if (reason === 'failed') return { ...free, errors: withError(step, error ?? 'failed') }
  // The attempt does not count: the next one has the same number, and if it fails, its error replaces this one.
  return {
    ...free,
    attempt: Math.max(1, step.attempt - 1),
    errors: error === undefined ? step.errors : withError(step, error),
  }
}

/** Returns the errors of the attempts that count, including the error of the attempt that is now ending. */
const withError = ({ errors, attempt }: OpenStep, error: string): readonly string[] => [
  ...errors.slice(0, Math.max(0, attempt - 2)),
  error,
]

/**
 * Returns a step whose holder is known to have ended; undefined if nothing is left to do.
 *
 * @param age milliseconds since the end was recorded, which are no longer to be waited
 * @param reason recorded reason of the end
 */
export const withoutHolder = (
  conversation: string,
  step: OpenStep,
  now: number,
  age = 0,
  reason?: unknown,
): OpenStep | undefined =>
  step.isCancelled
    ? undefined
    : {
        ...freed(step, now, Math.max(0, takeoverDelay(conversation, step.attempt) - age)),
        deaths: (step.deaths ?? 0) + 1,
        errors: withError(step, endedText(step.holder, reason)),
      }

/** Returns the error of the last attempt if its worker died or fell silent; undefined if the attempt ended otherwise. */
export const deathIn = ({ holder, errors }: Pick<OpenStep, 'holder' | 'errors'>): string | undefined => {
  if (holder !== undefined) return silent(holder)
  const last = errors.at(-1)
  return last !== undefined && isDeath(last) ? last : undefined
}
/** Matches the reason of an end if it is an exit code or a signal. */
const exit = /^(?:exit \d+|SIG[A-Z\d]+)$/

/** Returns the error of an attempt whose worker is known to have ended. */
const endedText = (holder: string | undefined, reason: unknown): string =>
  `${holder} ended${typeof reason === 'string' && exit.test(reason) ? ` (${reason})` : ''}`

/**
 * Returns a step with the exit code or signal of a worker that had ended before: others may notice the end first, and do not know the
 * reason. Returns the same step if that changes nothing.
 */
export const withExit = (step: OpenStep, worker: string, reason: unknown): OpenStep => {
  const index = step.errors.indexOf(endedText(worker, undefined))
  return index < 0 ? step : { ...step, errors: step.errors.with(index, endedText(worker, reason)) }
}

/** Returns recorded errors with the exit codes and signals that are known by now: their writer may not have known them yet. */
const withExitsOf = (known: readonly string[], recorded: readonly string[]): readonly string[] =>
  recorded.map((error, index) => {
    const own = known[index]
    return own?.startsWith(`${error} (`) && isDeath(own) ? own : error
  })

/** Returns the index of the attempt during which a worker has ended; -1 if there is none. */
export const deathOf = (errors: readonly string[], worker: string): number =>
  errors.findIndex((error) => isDeath(error) && error.startsWith(`${worker} ended`))

const silent = (holder?: string): string => `${holder} fell silent`

/** Reports whether the error of an attempt says that its worker died or fell silent. Errors of turns begin with a tag and a colon. */
export const isDeath = (error: string): boolean =>
  /^[^:\s]+ (?:ended(?: \([\w ]+\))?|fell silent)$/.test(error)

/** Number of attempts after which a step is parked. */
export const maxAttempts = 5

/**
 * Rounds a wait requested by the API or a custom model up to whole milliseconds, the unit in which waits are recorded, and caps it at
 * the longest possible timer.
 */
export const wholeWait = (ms: number): number => Math.ceil(Math.min(ms, longestTimer))

/** Returns the milliseconds to wait after this attempt has failed. After the last attempt it returns 0, because the step is parked. */
export const backoff = (attempt: number, retryAfter = 0): number =>
  attempt < maxAttempts ? wholeWait(Math.max(retryAfter, Math.min(60_000, 1_000 * 2 ** (attempt - 1)))) : 0

/**
 * Returns the milliseconds to wait before a step is taken over for this attempt. The first takeover is immediate. Later ones wait,
 * because the step itself may be killing its workers. The wait differs among the steps of a dead worker, so that a step that kills
 * workers does not interrupt the others each time.
 */
export const takeoverDelay = (conversation: string, attempt: number): number => {
  if (attempt <= 2 || attempt > maxAttempts) return 0
  const spread = Number.parseInt(hash('sha1', `${attempt} ${conversation}`).slice(0, 8), 16) / 2 ** 31
  return Math.round(backoff(attempt - 2) * spread)
}
