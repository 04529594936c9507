import type { AnswerTerms } from '../../events/events.ts'
import { mourning } from './attempts.ts'
import type { SeenEvent } from './seen.ts'

/**
 * What a conversation has to have done next, as far as workers are concerned: by the model, or by the tools that it called. There is none
 * while nobody has asked for an answer.
 *
 * 1. A step is named by what made it: a message, a rewind, a decision, a request. A reply that calls tools continues its step.
 * 2. What asked for it holds until the model has finished.
 * 3. Who has claimed a step continues with the next one, until nothing is left to do: it holds the conversation until then.
 */
export interface OpenStep {
  readonly name: string
  /** `over`: the model has finished, unless the same write says more. */
  readonly stage: 'open' | 'waiting' | 'parked' | 'over'
  readonly asking: AnswerTerms
  /** The event with which it began. Whatever was claimed before that has ended. */
  readonly begunBy: string
  /** Which is that of a fork. */
  readonly isFork?: true | undefined
  /** Nobody has asked: the observer answers whatever awaits the model. */
  readonly isUnasked?: true | undefined
  /** The worker that holds the conversation; what it died of, or whether it did, is not known here. */
  readonly holder?: string | undefined
  /** Who held it last: its cache is warm. */
  readonly last?: string | undefined
  /** Of the next claim: 1 for a step that nobody has tried. */
  readonly attempt: number
  /** How earlier attempts ended. */
  readonly errors: readonly string[]
  /** How many workers have died while they had it, or fallen silent. Default 0. */
  readonly deaths?: number | undefined
  /** When it was recorded: ISO 8601, UTC. */
  readonly since: string
  /** When its holder claimed the conversation: ISO 8601, UTC. */
  readonly claimedAt?: string | undefined
  /** By the observer's own clock, in milliseconds: since when it waits, which gives it its place; since when it is free; when it may be claimed. */
  readonly waitsSince: number
  readonly freeAt: number
  readonly notBefore: number
  /** It waits until `notBefore` at most: then its approvals are too late, and the model has to be told. */
  readonly expires?: true | undefined
  /** Whether something waits in the inbox. */
  readonly hasMail: boolean
  /** Nobody asks workers: a program gives the conversation a turn. */
  readonly isProgram?: true | undefined
  /** The step at which a program has claimed it, which does not know its name. */
  readonly claimedStep?: string | undefined
  /** Somebody has cancelled the turn that its holder gives: unless an answer is requested again, nothing is left to do. */
  readonly isCancelled?: true | undefined
  /** The command that brought the last reply. */
  readonly overBy?: string | undefined
}

/**
 * Whether its observer has received all that there is of the conversation, which is no fork, and of what is beside it: the step was begun
 * by the conversation's first event.
 */
export const isSeenWhole = ({ begunBy, isFork }: OpenStep): boolean => begunBy === 'conversation@0' && !isFork

/** The tenant that a step is for; `''` if its request names none. */
export const tenantOf = ({ asking }: OpenStep): string => asking.tenant ?? ''

/** Whether a worker has it, dead or alive. */
export const isInProgress = ({ stage, holder }: OpenStep): boolean => stage === 'open' && holder !== undefined

/** Whether workers may take it, as soon as it is time. */
export const isFree = ({ stage, holder, expires }: OpenStep): boolean =>
  holder === undefined && (stage === 'open' || (stage === 'waiting' && expires === true))

/** So many workers have died of it, or beside what they died of, that it is suspected. The first time it is taken over like the rest. */
const suspicious = 2

/** Whether workers may die of it. Of a holder that it may be taken from, nothing is heard any more. */
export const isSuspect = ({ stage, holder, deaths = 0 }: OpenStep): boolean =>
  stage === 'open' && deaths + (holder === undefined ? 0 : 1) >= suspicious

/** A step that has become free. */
const freed = (step: OpenStep, now: number, waitMs = 0): OpenStep => ({
  ...step,
  last: step.holder ?? step.last,
  holder: undefined,
  freeAt: now,
  notBefore: now + waitMs,
})

/** The next step of the conversation. Its holder continues with it, which is the first attempt. */
const next = (step: OpenStep, { name, time }: SeenEvent, now: number): OpenStep => ({
  ...step,
  name,
  stage: 'open',
  attempt: step.holder === undefined ? 1 : 2,
  errors: [],
  deaths: undefined,
  since: time,
  ...(step.holder === undefined && { freeAt: now, notBefore: now }),
  // Who says more while it waits keeps its place.
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

/** A program has claimed a conversation of which workers are asked nothing. */
const claimedUnasked = (event: SeenEvent, now: number, answersAll: boolean): OpenStep => ({
  ...begun({}, event, now),
  stage: 'open',
  ...(answersAll ? { isUnasked: true } : { isProgram: true }),
})

/** After these, a conversation may await the model. Whoever claims the step finds out. */
const mayAwait: ReadonlySet<string> = new Set(['said', 'goes-on', 'rewound', 'forked', 'queued'])

/**
 * What the step is after an event. Undefined: nothing is asked of workers.
 *
 * @param answersAll whether the observer answers whatever awaits the model
 */
export const evolved = (
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
    case 'TurnRequested':
      return next(step, event, now)
    case 'queued':
      // Of a parked step nobody else would take it out of the inbox.
      return step.stage === 'over' || step.stage === 'parked'
        ? { ...next(step, event, now), hasMail: true }
        : { ...step, hasMail: true }
    case 'taken':
      return { ...step, hasMail: false }
    case 'CallDecided':
      return next(step, event, now)
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
        ...(isSilent ? { deaths: deaths + 1, errors: withError(step, `${holder} fell silent`) } : { errors }),
      }
    }
    case 'TurnReleased':
      return released(step, what.data, now)
    case 'TurnParked':
      // Something was said, rewound or decided since its writer looked: that opens it again.
      return what.data.step === step.name
        ? { ...freed(step, now), stage: 'parked', errors: what.data.errors }
        : freed(step, now)
    case 'TurnUnparked':
      return next(step, event, now)
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
  // Said, rewound or decided since the worker looked: somebody has to look again.
  const isCurrent = known === step.name || step.claimedStep === step.name
  if (reason === 'done' && isCurrent) return undefined
  if (reason === 'waiting' && isCurrent) {
    const expires = waitMs === undefined ? undefined : true
    return { ...free, stage: 'waiting', attempt: 1, expires }
  }
  if (reason === 'failed') return { ...free, errors: withError(step, error ?? 'failed') }
  // Its error is shown while it is the last one: the next attempt has the same number.
  return {
    ...free,
    attempt: Math.max(1, step.attempt - 1),
    errors: error === undefined ? step.errors : withError(step, error),
  }
}

/** The errors of the attempts that count, and that of the one which ends now. */
const withError = ({ errors, attempt }: OpenStep, error: string): readonly string[] => [
  ...errors.slice(0, Math.max(0, attempt - 2)),
  error,
]

/** A step whose holder is known to have ended; undefined if nothing is left to do. */
export const bereaved = (conversation: string, step: OpenStep, now: number): OpenStep | undefined =>
  step.isCancelled
    ? undefined
    : {
        ...freed(step, now, mourning(conversation, step.attempt)),
        deaths: (step.deaths ?? 0) + 1,
        errors: withError(step, `${step.holder} ended`),
      }
