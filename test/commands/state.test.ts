import { describe, expect, it } from 'vitest'
import type { ConversationCommand } from '../../src/commands/command.ts'
import { type CommandState, stateOf } from '../../src/commands/state.ts'
import { apply } from '../support/histories.ts'
import { assistant, condensed, logOf, rewound, user } from '../support/log.ts'

const talk = [user('m0'), assistant('m1'), user('m2'), assistant('m3')]
const stateAt = (log = logOf(...talk), command: ConversationCommand = { type: 'undo' }): CommandState =>
  stateOf('c', log, command)

describe('the state that a command is decided on', () => {
  it('counts the events of the path since the last view', () => {
    const hidden = apply(logOf(...talk), { type: 'truncate', covers: { first: 1, last: 2 } })
    const more = apply(hidden, { type: 'append', messages: [{ role: 'user', content: 'm5' }] })
    expect([[], logOf(...talk), hidden, more].map((log) => stateAt(log).sinceView)).toEqual([0, 4, 0, 1])
    expect(stateAt(apply(more, { type: 'rewind', to: 2 })).sinceView).toBe(3)
  })

  it('names the events after the position that a command was computed from, and only then', () => {
    const log = logOf(...talk, condensed(1, 2), rewound(3))
    expect(stateAt(log).since).toEqual([])
    expect(stateAt(log, { type: 'undo', after: 3 }).since).toEqual(['Condensed', 'Rewound'])
    expect(stateAt(log, { type: 'undo', after: 5 }).since).toEqual([])
  })

  it.each<ConversationCommand>([
    { type: 'append', messages: [{ role: 'user', content: 'm4' }] },
    { type: 'configure', model: 'm' },
    { type: 'condense', summary: 'S.' },
    { type: 'truncate' },
    { type: 'rewind', turns: 3 },
  ])('holds no event and no head for a command that points at none: $type', (command) => {
    expect(stateAt(logOf(...talk), command).named).toEqual({})
  })

  it('holds what a command points at', () => {
    const log = logOf(...talk, condensed(1, 2), rewound(1))
    expect(stateAt(log, { type: 'undo' }).named).toEqual({ head: 4 })
    expect(stateAt(log, { type: 'rewind', to: 5 }).named).toEqual({ head: 1 })
    expect(stateAt(log, { type: 'rewind', before: 2 }).named).toEqual({ event: log[2], head: 1 })
    expect(stateAt(log.slice(0, 5), { type: 'restore', marker: 4 }).named).toMatchObject({
      event: { position: 4 },
      replaced: [
        { position: 1, marker: false },
        { position: 2, marker: false },
      ],
    })
  })
})
