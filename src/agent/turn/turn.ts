import * as E from 'fp-ts/lib/Either.js'
import { isStale } from '../../commands/rejections.ts'
import { freeze } from '../../events/freeze.ts'
import { newSalt } from '../../events/ids.ts'
import { modelAborted, orAborted } from '../models/abort.ts'
import type { Effective } from '../../projections/effective.ts'
import { unwrap, run, type Fallible } from '../../result/fallible.ts'
import { answerCalls, haveWaited } from './answer-calls.ts'
import { askModel } from './ask-model.ts'
import { withBeginning } from './errors.ts'
import { fit, tellCondensed } from './fit.ts'
import { type TurnActionOf, nextAction, type TurnAction } from './next-action.ts'
import type { StepPreparation } from './prepare.ts'
import { moveBack } from './record-messages.ts'
import { moveIn } from './say/inbox-moves.ts'
import { entriesOf } from './spending/account.ts'
import { sinceUserMessage } from './spending/since.ts'
import type { TurnMeans } from './turn-means.ts'
import { type FinalReply, isLeftWaiting, type TurnResult, type TurnError } from './turn-result.ts'
import { evolveTurn, totalsOf, type TurnCourse, type TurnOutcome, type TurnState } from './turn-state.ts'
import type { StopCause } from './turn-step.ts'

/** Maximum number of times that a turn starts again from a newer history because of concurrent events. */
const maxStale = 10

/** Actions that can be decided again from a newer history if concurrent events prevent them. */
const repeatable: ReadonlySet<TurnAction['type']> = new Set(['prepare', 'move-back', 'fit'])

/**
 * Runs one turn: carries out the next action and folds its outcome into the state, until the turn ends. Returns the outcome, and the
 * progress, which is kept if another holder has taken over the conversation.
 */
export const turn = async (
  begun: TurnState,
  given: Omit<TurnMeans, 'tell'>,
): Promise<{ readonly outcome: E.Either<TurnError, TurnResult>; readonly course: TurnCourse }> => {
  let state = begun
  const means: TurnMeans = { ...given, tell: (outcome) => (state = evolveTurn(state, outcome)) }
  const { signal } = means.watch
  async function* allActions(): Fallible<TurnError, TurnResult> {
    for (;;) {
      if (signal.aborted) state = { ...state, aborted: modelAborted(signal) }
      const action = nextAction(state)
      if (action.type === 'fail') return yield action.error
      if (action.type === 'finish') {
        if (!state.account && action.now) means.tell(yield* openAccount(action.now, means))
        return resultOf(state, action.reply)
      }
      const done = await run(carryOut(action, state, means))
      if (E.isRight(done)) means.tell(done.right)
      else if (repeatable.has(action.type) && isStale(done) && state.stale < maxStale)
        means.tell({ type: 'outdated' })
      else return yield done.left
    }
  }
  const outcome = await run(allActions())
  const { course } = state
  return { outcome: E.mapLeft((error: TurnError) => withFailed(error, course))(outcome), course }
}

/** Action that has to be carried out, as it does not end the turn. */
type TurnEffect = Exclude<TurnAction, { readonly type: 'finish' | 'fail' }>

async function* carryOut(
  action: TurnEffect,
  state: TurnState,
  means: TurnMeans,
): Fallible<TurnError, TurnOutcome> {
  const { chat, claim, history, watch } = means
  switch (action.type) {
    case 'look': {
      const { mail: known } = state
      // In parallel, because each read is a round trip if the store is on a server.
      const [now, mail] = await Promise.all([run(history()), known ? E.right(known) : run(history.mail())])
      const found = E.mapLeft((error: TurnError) => withBeginning(error, chat.id))(now)
      return { type: 'found', now: yield* unwrap(found), mail: yield* unwrap(mail) }
    }
    case 'take-in':
      yield* moveIn(chat, action.mail)
      return { type: 'taken-in' }
    case 'enter': {
      const now = yield* claim.enter(action.now, { ...action, watch })
      return { type: 'learned', findings: { now, claim: now === action.now ? 'free' : 'waited' } }
    }
    case 'open-account':
      return yield* openAccount(action.now, means)
    case 'prepare':
      return yield* prepare(action.preparation, state, means)
    case 'read-later': {
      const later = new Map(state.found?.later).set(action.after, yield* chat.later(action.after))
      return { type: 'learned', findings: { later } }
    }
    case 'recall-calls':
      return { type: 'learned', findings: { haveWaited: yield* haveWaited(chat.turnLog, action.open) } }
    case 'move-back': {
      const { deferred, now, results } = action
      yield* unwrap(moveBack(chat, deferred, { after: now.at, messages: results }))
      return { type: 'written' }
    }
    case 'answer-calls':
      return yield* answerCalls(action, state, means)
    case 'examine-step':
      return {
        type: 'step-examined',
        stopped: yield* heed(action.now, means, () => examine(action, state)),
      }
    case 'prepare-step':
      return yield* prepareStep(action, state, means)
    case 'fit':
      return yield* fit(action, state, means)
    case 'ask-model':
      return yield* askModel(action, state, means)
    case 'check-inbox': {
      const mail = yield* chat.inbox.pending()
      // A process that queues a message after this check finds that the conversation is no longer busy.
      const now = mail.length > 0 ? { now: yield* history() } : {}
      return { type: 'inbox-checked', ending: { reply: action.reply, mail, ...now } }
    }
  }
}

/** Returns the entries that the log contains for this turn, including entries by earlier holders of the conversation. */
async function* openAccount(now: Effective, { chat }: TurnMeans): Fallible<TurnError, TurnOutcome> {
  return { type: 'account-opened', now, entries: entriesOf(yield* sinceUserMessage(chat, now)) }
}

async function* prepare(
  { type, input }: StepPreparation,
  state: TurnState,
  means: TurnMeans,
): Fallible<TurnError, TurnOutcome> {
  const { chat, history } = means
  const salt = newSalt()
  const made = yield* unwrap(type === 'configure' ? chat.configure({ ...input, salt }) : chat.condense(input))
  history.wrote(made, salt)
  tellCondensed(made, { state, means })
  return { type: 'written' }
}

/** Shows a step to the caller's functions. Returns the reason to end the turn, if any. */
const examine = async (
  { step, isForced }: TurnActionOf<'examine-step'>,
  { options: { onStep, stopWhen } }: TurnState,
): Promise<StopCause | undefined> => {
  if (!step) return undefined
  await onStep?.(step)
  const isStopped =
    typeof stopWhen === 'function'
      ? await stopWhen(step)
      : step.calls.some(({ name }) => stopWhen?.includes(name))
  return isStopped ? 'stop-when' : isForced && step.calls.length > 0 ? 'tool-choice' : undefined
}

async function* prepareStep(
  { step }: TurnActionOf<'prepare-step'>,
  { options }: TurnState,
  means: TurnMeans,
): Fallible<TurnError, TurnOutcome> {
  const { emit, signal } = options
  const own = yield* heed(step.effective, means, async () => options.prepareStep?.(freeze(step)))
  if (!own) return { type: 'step-prepared', settings: options }
  const settings = { ...(yield* unwrap(options.withStep(own))), emit, ...(signal && { signal }) }
  return { type: 'step-prepared', settings }
}

/** Returns the result of a function of the caller. The function may take long: it is not awaited if the turn ends first. */
async function* heed<A>(
  now: Effective,
  { watch }: TurnMeans,
  work: () => Promise<A>,
): Fallible<TurnError, A> {
  const { result } = await watch.during(
    { context: now.at, seen: now.at, endedBy: ['lost'] },
    async (ends) => {
      try {
        return E.right(await orAborted(work(), ends))
      } catch (error) {
        if (!ends.aborted) throw error
        return E.left(modelAborted(ends))
      }
    },
  )
  return yield* unwrap(result)
}

/** Returns the turn's result, after emitting the events for the calls that are still open. */
const resultOf = (state: TurnState, reply: FinalReply): TurnResult => {
  const { course, options, stopped } = state
  const { waiting, pending } = reply
  if (waiting.length > 0) options.emit({ type: 'waiting', why: 'approval', calls: waiting })
  if (pending.length > 0) options.emit({ type: 'waiting', why: 'handed-back', calls: pending })
  const { replies: _, ...totals } = totalsOf(state)
  const { calls, tools, condenseFailed } = course
  const ended = stopped ?? (isLeftWaiting(reply) ? 'waiting' : 'stop')
  return { ...reply, ended, calls, ...totals, tools, ...(condenseFailed && { condenseFailed }) }
}

/** Adds the failed calls that no reply records to the error with which a turn ends. */
const withFailed = (error: TurnError, { failed }: TurnCourse): TurnError =>
  failed.length > 0 ? { ...error, message: error.message, failed } : error
