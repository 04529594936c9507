import * as E from 'fp-ts/lib/Either.js'
import { expect } from 'vitest'
import type { Model } from '../../src/agent/models/model.ts'
import { nextAction, type TurnAction } from '../../src/agent/turn/next-action.ts'
import type { TurnOptions } from '../../src/agent/turn/options.ts'
import { settle } from '../../src/agent/turn/settle.ts'
import type { FinalReply } from '../../src/agent/turn/turn-result.ts'
import {
  evolveTurn,
  newCourse,
  stateAtStart,
  type TurnOutcome,
  type TurnState,
} from '../../src/agent/turn/turn-state.ts'
import type { Event } from '../../src/events/events.ts'
import { type Effective, effective } from '../../src/projections/effective.ts'
import type { Log } from '../../src/projections/path.ts'
import { blocksOf, configured, logOf } from './log.ts'

// A turn as rules: given a log and what the turn has done, when these outcomes arrive, then it does this next. Nothing is read, called
// or waited for.

/** A model that nobody calls. */
const refuse = () => Promise.reject(new Error('A rule calls no model.'))
const model: Model = { call: refuse, countTokens: refuse }

/** The action, or the part of it that a rule speaks of. */
type Expected = { readonly type: TurnAction['type'] } & Readonly<Record<string, unknown>>

export interface TurnRule {
  /** The options of the turn; the log then begins with the configuration that they ask for. */
  readonly by: (options: Partial<TurnOptions>) => TurnRule
  /** Sets what the turn has done before. */
  readonly with: (state: Partial<TurnState>) => TurnRule
  readonly when: (...outcomes: readonly TurnOutcome[]) => TurnRule
  /** The turn asks for the events after this position, and gets them. */
  readonly reads: (after: number) => TurnRule
  readonly then: (expected: TurnAction['type'] | Expected) => TurnRule
  readonly state: TurnState
}

/** The options of a turn as it has them, with a model that nobody calls. */
export const settled = (options: Partial<TurnOptions>) => {
  const settings = settle({ client: model, model: 'a', ...options })
  if (E.isLeft(settings)) throw new Error(settings.left.message)
  return settings.right
}

const logs = new WeakMap<Effective, Log>()
const nowIn = (log: Log): Effective => {
  const now = effective(log)
  logs.set(now, log)
  return now
}

/** A turn that has not begun. */
export const starting = (options: Partial<TurnOptions> = {}): TurnRule =>
  ruleOf(stateAtStart('c', settled(options), newCourse))

/**
 * A turn in a step at the end of this log, whose position 0 is the configuration. It has claimed the conversation, read its inbox, which
 * is empty, and opened its account.
 */
export const given = (...events: readonly Event[]): TurnRule => within({}, events)

const within = (options: Partial<TurnOptions>, events: readonly Event[]): TurnRule => {
  const settings = settled(options)
  const log = logOf(configured(settings.wanted), ...events)
  const now = nowIn(log)
  const entered = [
    { type: 'found', now, mail: [] },
    { type: 'learned', findings: { claim: 'free' } },
    { type: 'account-opened', now, entries: [] },
  ] as const
  const state = entered.reduce<TurnState>(evolveTurn, stateAtStart('c', settings, newCourse))
  return { ...ruleOf(state), by: (others) => within({ ...options, ...others }, events) }
}

const ruleOf = (state: TurnState): TurnRule => {
  const rule: TurnRule = {
    state,
    by: () => {
      throw new Error('The options come first.')
    },
    with: (more) => ruleOf({ ...state, ...more }),
    when: (...outcomes) => ruleOf(outcomes.reduce(evolveTurn, state)),
    reads: (after) => {
      rule.then({ type: 'read-later', after })
      const later = new Map(state.found?.later).set(after, logs.get(nowOf(rule))?.slice(after + 1) ?? [])
      return rule.when({ type: 'learned', findings: { later } })
    },
    then: (expected) => {
      const action = nextAction(state)
      expect(action).toMatchObject(typeof expected === 'string' ? { type: expected } : expected)
      // The state alone decides.
      expect(nextAction(state)).toEqual(action)
      return rule
    },
  }
  return rule
}

/** The history that a turn has found, from which its outcomes speak. */
export const nowOf = ({ state }: TurnRule) => {
  if (!state.found) throw new Error('The turn has not read its log.')
  return state.found.now
}

/** Outcome of reading the log again: these events after the configuration. */
export const found = (...events: readonly Event[]): readonly TurnOutcome[] => {
  const now = nowIn(logOf(configured(settled({}).wanted), ...events))
  return [
    { type: 'found', now, mail: [] },
    { type: 'learned', findings: { claim: 'free' } },
  ]
}

/** A last reply of the turn. */
export const replyAt = (
  position: number,
  content: Parameters<typeof blocksOf>[0] = 'Yes.',
  more: Partial<FinalReply> = {},
): FinalReply => ({
  conversation: 'c',
  position,
  content: blocksOf(content),
  stopReason: 'end_turn',
  waiting: [],
  pending: [],
  ...more,
})
