import * as E from 'fp-ts/lib/Either.js'
import { expect } from 'vitest'
import type { Event } from '../../src/events/events.ts'
import type { ConversationCommand } from '../../src/commands/command.ts'
import { decide } from '../../src/commands/decide.ts'
import type { CommandRejection } from '../../src/commands/rejections.ts'
import { stateOf } from '../../src/commands/state.ts'
import { effective } from '../../src/projections/effective.ts'
import type { Log } from '../../src/projections/path.ts'
import { eventAt, logOf } from './log.ts'

/** A type and the part of the data that a rule speaks of. */
interface Expected {
  readonly type: Event['type']
  readonly data: Readonly<Record<string, unknown>>
}

/** A refusal: its tag and the part of the rest that a rule speaks of. */
export type Refusal = { readonly _tag: CommandRejection['_tag'] } & Readonly<Record<string, unknown>>

const letters = { message: '', summary: 'S', truncation: 'T' }

/** The effective history as the design writes it: `m0` is `0`, a summary `S6`, a truncation `T8`. */
export const shownAs = (log: Log, at = log.length - 1): string =>
  effective(log, at)
    .items.map(({ kind, position }) => `${letters[kind]}${position}`)
    .join(' ')

export interface Outcome {
  /** Exactly these events, each with at least this data; or refused with this tag, or like this. */
  readonly then: (expected: readonly Expected[] | CommandRejection['_tag'] | Refusal) => Outcome
  /** What the model sees afterwards, as `shownAs` writes it. */
  readonly shows: (items: string) => Outcome
  /** The next command, on what is there then. */
  readonly when: (command: ConversationCommand) => Outcome
}

/** A conversation with these events, to which a command comes. */
export const given = (...events: readonly Event[]): Pick<Outcome, 'when'> => on(logOf(...events))

const on = (log: Log): Pick<Outcome, 'when'> => ({
  when: (command) => {
    const decided = decide(command, stateOf('c', log, command))
    const events = E.isRight(decided) ? decided.right : []
    // JSON has no such field: an event must be the same before and after it is stored.
    for (const { data } of events) expect(Object.values(data)).not.toContain(undefined)
    const next = [...log, ...events.map((event, index) => eventAt(event, log.length + index))]
    const outcome: Outcome = {
      then: (expected) => {
        if (typeof expected === 'string' || '_tag' in expected) {
          const refusal = typeof expected === 'string' ? { _tag: expected } : expected
          expect(decided).toMatchObject({ _tag: 'Left', left: refusal })
          expect(E.isLeft(decided) && decided.left.message).toMatch(/\S/)
        } else expect(decided).toMatchObject({ _tag: 'Right', right: expected })
        return outcome
      },
      shows: (items) => {
        expect(shownAs(next)).toBe(items)
        return outcome
      },
      ...on(next),
    }
    return outcome
  },
})
