import { describe, expect, it } from 'vitest'
import type { ConversationCommand } from '../../src/commands/command.ts'
import { fork } from '../../src/commands/fork.ts'
import type { Event } from '../../src/events/events.ts'
import { assistant, condensed, restored, toolResult, toolUse, user } from '../support/log.ts'
import { given, type Refusal } from '../support/specification.ts'

const talk = [user('m0'), assistant('m1'), user('m2'), assistant('m3')]
const round = [user('m0'), assistant([toolUse('a'), toolUse('b')]), user([toolResult('b'), toolResult('a')])]
const many = (length: number): readonly Event[] => Array.from({ length }, () => user('Again.'))
const hello = { role: 'user' as const, content: 'Hello.' }

const noMarker = (position: number, shown: string, advice: string): string =>
  `conversation c shows no marker at position ${position} now; it shows ${shown}. ${advice}`
const noItem = (position: number, shown: string): string =>
  `conversation c shows no item at position ${position} now; it shows ${shown}`

describe('a refusal says what is wrong, and what to do next', () => {
  it.each<readonly [string, readonly Event[], ConversationCommand, Refusal]>([
    [
      'the conversation has gone on',
      talk,
      { type: 'append', messages: [hello], after: 1 },
      {
        _tag: 'StaleContext',
        message: 'conversation c is now at position 3, not at 1: read it again, then repeat the command',
        conversation: 'c',
        after: 1,
        last: 3,
      },
    ],
    [
      'the position is yet to come',
      talk,
      { type: 'append', messages: [hello], after: 4 },
      {
        _tag: 'StaleContext',
        message:
          'conversation c ends at position 3, but the command is based on position 4: read it again, then repeat the command',
      },
    ],
    [
      'there is no such position',
      talk,
      { type: 'rewind', to: 9 },
      {
        _tag: 'OutOfRange',
        message: 'conversation c has no position 9; it has 0 to 3',
        conversation: 'c',
        position: 9,
        last: 3,
      },
    ],
    [
      'no marker is shown',
      talk,
      { type: 'restore', marker: 0 },
      {
        _tag: 'NotShown',
        message: noMarker(0, 'none', 'That position is a message'),
        conversation: 'c',
        position: 0,
        shown: [],
      },
    ],
    [
      'another marker is shown',
      [...talk, condensed(1, 2)],
      { type: 'restore', marker: 0 },
      { _tag: 'NotShown', message: noMarker(0, '4', 'That position is a message'), shown: [4] },
    ],
    [
      'the marker is yet to come',
      talk,
      { type: 'restore', marker: 7 },
      { _tag: 'NotShown', message: noMarker(7, 'none', 'The conversation ends at position 3') },
    ],
    [
      'another marker hides the marker',
      [...talk, condensed(1, 2), condensed(0, 4)],
      { type: 'restore', marker: 4 },
      {
        _tag: 'NotShown',
        message: noMarker(
          4,
          '5',
          'The marker at 5 hides that position: restore it first; or, if the position is on an abandoned branch, rewind to it',
        ),
      },
    ],
    [
      'another marker hides the marker, as the first item of its slice',
      [...talk, condensed(0, 1), condensed(4, 2)],
      { type: 'restore', marker: 4 },
      {
        _tag: 'NotShown',
        message: noMarker(
          4,
          '5',
          'The marker at 5 hides that position: restore it first; or, if the position is on an abandoned branch, rewind to it',
        ),
      },
    ],
    [
      'another marker hides the marker in the middle of its slice',
      [...talk, condensed(1, 2), condensed(0, 3)],
      { type: 'restore', marker: 4 },
      {
        _tag: 'NotShown',
        message: noMarker(
          4,
          '5',
          'If it has been restored, nothing is left to do; if a later marker (5) hides it, restore that one first; if it is on an abandoned branch, rewind to it',
        ),
      },
    ],
    [
      'the position is a hidden message',
      [...talk, condensed(1, 2)],
      { type: 'restore', marker: 1 },
      {
        _tag: 'NotShown',
        message: noMarker(1, '4', 'That position is a message: restore the marker at 4 if it hides it'),
      },
    ],
    [
      'the marker has been restored',
      [...talk, condensed(1, 2), restored(4)],
      { type: 'restore', marker: 4 },
      {
        _tag: 'NotShown',
        message: noMarker(
          4,
          'none',
          'If it has been restored, nothing is left to do; if it is on an abandoned branch, rewind to it',
        ),
      },
    ],
    [
      'the first of a slice is not shown',
      [...talk, condensed(1, 2)],
      { type: 'truncate', covers: { first: 1, last: 3 } },
      { _tag: 'NotShown', message: noItem(1, '0 4 3'), position: 1, shown: [0, 4, 3] },
    ],
    [
      'the last of a slice is not shown',
      talk,
      { type: 'truncate', covers: { first: 1, last: 9 } },
      { _tag: 'NotShown', message: noItem(9, '0 1 2 3'), position: 9 },
    ],
    [
      'twenty items are all named',
      many(20),
      { type: 'truncate', covers: { first: 20, last: 20 } },
      { _tag: 'NotShown', message: noItem(20, [...Array(20).keys()].join(' ')) },
    ],
    [
      'of more than twenty the first ten and the last ten are',
      many(22),
      { type: 'truncate', covers: { first: 22, last: 22 } },
      {
        _tag: 'NotShown',
        message: noItem(22, '0 1 2 3 4 5 6 7 8 9 … 12 13 14 15 16 17 18 19 20 21'),
      },
    ],
    [
      'a slice ends before it begins',
      talk,
      { type: 'truncate', covers: { first: 2, last: 1 } },
      { _tag: 'InvalidInput', message: 'covers: first comes after last', path: 'covers' },
    ],
    [
      'a slice parts calls from their results',
      round,
      { type: 'truncate', covers: { first: 1, last: 1 } },
      {
        _tag: 'UnsafeCut',
        message:
          'hiding 1 to 1 would separate tool calls from their results (b, a): choose a slice with both or neither, such as 1 to 2',
        conversation: 'c',
        covers: { first: 1, last: 1 },
        calls: ['b', 'a'],
      },
    ],
    [
      'everything is kept',
      talk,
      { type: 'truncate', keepLast: 4 },
      {
        _tag: 'NothingToHide',
        message: 'conversation c has nothing left to hide: keep fewer messages, or name a slice with covers',
        conversation: 'c',
      },
    ],
    [
      'the conversation stands at a message',
      talk,
      { type: 'undo' },
      {
        _tag: 'NothingToUndo',
        message:
          'conversation c does not end with a rewind, condense, truncate or restore: to take back messages, rewind; to show what an earlier marker hid, restore it',
        conversation: 'c',
      },
    ],
    [
      'the conversation stands there already',
      talk,
      { type: 'rewind', to: 3 },
      {
        _tag: 'NothingToRewind',
        message: 'conversation c is already at position 3: rewind to another position',
        conversation: 'c',
      },
    ],
    [
      'there are fewer turns',
      talk,
      { type: 'rewind', turns: 3 },
      {
        _tag: 'NothingToRewind',
        message: 'conversation c has fewer than 3 user turns: rewind fewer turns, or to a position',
      },
    ],
    [
      'what is to be rewound to is no message',
      [...talk, condensed(1, 2)],
      { type: 'rewind', before: 4 },
      {
        _tag: 'InvalidInput',
        message: "before: position 4 holds a Condensed, not a message: rewind with 'to' instead of 'before'",
        path: 'before',
      },
    ],
    [
      'there is no conversation',
      [],
      { type: 'undo' },
      {
        _tag: 'ConversationNotFound',
        message: 'there is no conversation c in this store',
        conversation: 'c',
      },
    ],
  ])('%s', (_, events, command, refusal) => {
    given(...events)
      .when(command)
      .then(refusal)
  })

  it('a fork has a name that is taken, or a position that the parent has not', () => {
    const parent = { conversation: 'parent', last: 5, hash: 'h', exists: false }
    expect(fork({ type: 'fork', id: 'child' }, { ...parent, exists: true })).toEqual({
      _tag: 'Left',
      left: {
        _tag: 'ConversationExists',
        message: 'conversation child already exists: choose another id',
        conversation: 'child',
      },
    })
    expect(fork({ type: 'fork', id: 'child', at: 6 }, parent)).toMatchObject({
      left: { message: 'conversation parent has no position 6; it has 0 to 5' },
    })
  })
})
