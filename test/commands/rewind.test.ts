import { describe, it } from 'vitest'
import {
  assistant,
  condensed,
  configured,
  restored,
  rewound,
  text,
  toolResult,
  toolUse,
  truncated,
  user,
} from '../support/log.ts'
import { given } from '../support/specification.ts'

const talk = [user('m0'), assistant('m1'), user('m2'), assistant('m3')]

describe('rewind to', () => {
  it('a position makes the conversation what it was right after it', () => {
    given(...talk)
      .when({ type: 'rewind', to: 1, reason: 'wrong turn' })
      .then([{ type: 'Rewound', data: { to: 1, reason: 'wrong turn' } }])
      .shows('0 1')
  })

  it('-1 empties the conversation', () => {
    given(...talk)
      .when({ type: 'rewind', to: -1 })
      .then([{ type: 'Rewound', data: { to: -1 } }])
      .shows('')
  })

  it('a position on an abandoned branch is a redo', () => {
    given(...talk, rewound(0), user('else'))
      .when({ type: 'rewind', to: 3 })
      .shows('0 1 2 3')
  })

  it('a rewind names the position that this one led to', () => {
    given(...talk, rewound(0), user('else'))
      .when({ type: 'rewind', to: 4 })
      .then([{ type: 'Rewound', data: { to: 0 } }])
  })

  it('a position that is not there is refused', () => {
    given(...talk)
      .when({ type: 'rewind', to: 4 })
      .then('OutOfRange')
    given(...talk)
      .when({ type: 'rewind', before: 9 })
      .then('OutOfRange')
  })

  it('where the conversation stands already is refused', () => {
    given(...talk)
      .when({ type: 'rewind', to: 3 })
      .then('NothingToRewind')
    given(...talk, rewound(1))
      .when({ type: 'rewind', to: 1 })
      .then('NothingToRewind')
    given(...talk, rewound(-1))
      .when({ type: 'rewind', to: -1 })
      .then('NothingToRewind')
  })
})

describe('rewind before', () => {
  it('a message takes it and all that came after it away', () => {
    given(...talk)
      .when({ type: 'rewind', before: 2 })
      .then([{ type: 'Rewound', data: { to: 1 } }])
      .shows('0 1')
    given(...talk)
      .when({ type: 'rewind', before: 0 })
      .shows('')
  })

  it('a message after a rewind goes to where that led', () => {
    given(...talk, rewound(0), user('else'))
      .when({ type: 'rewind', before: 5 })
      .then([{ type: 'Rewound', data: { to: 0 } }])
  })

  it('anything else is refused', () => {
    given(...talk, condensed(1, 2))
      .when({ type: 'rewind', before: 4 })
      .then('InvalidInput')
  })
})

describe('rewind turns', () => {
  it('goes back before the n-th last message in which the user says something', () => {
    given(...talk)
      .when({ type: 'rewind', turns: 1 })
      .shows('0 1')
    given(...talk)
      .when({ type: 'rewind', turns: 2 })
      .shows('')
    const rounds = [user('m0'), assistant([toolUse('a')]), user([toolResult('a')]), assistant('m3')]
    given(...rounds)
      .when({ type: 'rewind', turns: 1 })
      .shows('')
    given(user('m0'), assistant([toolUse('a')]), user([toolResult('a'), text('and')]))
      .when({ type: 'rewind', turns: 1 })
      .shows('0 1')
  })

  it('counts a message without blocks as a turn, and a summary as none', () => {
    given(user('m0'), assistant('m1'), user([])).when({ type: 'rewind', turns: 1 }).shows('0 1')
    given(...talk, condensed(1, 2))
      .when({ type: 'rewind', turns: 1 })
      .then([{ type: 'Rewound', data: { to: 1 } }])
  })

  it('counts turns on the path only', () => {
    given(...talk, rewound(1), user('else'))
      .when({ type: 'rewind', turns: 2 })
      .shows('')
  })

  it('more than there are is refused', () => {
    given(...talk)
      .when({ type: 'rewind', turns: 3 })
      .then('NothingToRewind')
  })
})

describe('undo', () => {
  it('takes back a rewind, and undone itself it is a redo', () => {
    given(...talk, rewound(0))
      .when({ type: 'undo' })
      .shows('0 1 2 3')
      .when({ type: 'undo' })
      .shows('0')
  })

  it('takes back a condense, a truncate or a restore', () => {
    given(...talk, condensed(1, 2))
      .when({ type: 'undo' })
      .shows('0 1 2 3')
    given(...talk, truncated(1, 2))
      .when({ type: 'undo', reason: 'no' })
      .then([{ type: 'Rewound', data: { to: 3, reason: 'no' } }])
    given(...talk, condensed(1, 2), restored(4))
      .when({ type: 'undo' })
      .shows('0 S4 3')
  })

  it('does not take back what was said or set, nor a fork', () => {
    given({ type: 'Forked', data: { from: { conversation: 'parent', position: 0, hash: 'h' } } })
      .when({ type: 'undo' })
      .then('NothingToUndo')
    given(...talk)
      .when({ type: 'undo' })
      .then('NothingToUndo')
    given(...talk, condensed(1, 2), user('m5'))
      .when({ type: 'undo' })
      .then('NothingToUndo')
    given(...talk, configured({ system: 'Be brief.' }))
      .when({ type: 'undo' })
      .then('NothingToUndo')
  })
})

describe('restore', () => {
  it('shows again what a marker hid, in its place, and keeps what came later', () => {
    given(...talk, condensed(1, 2), user('m5'))
      .when({ type: 'restore', marker: 4 })
      .then([{ type: 'Restored', data: { marker: 4, view: { items: [{ first: 0, last: 5 }] } } }])
      .shows('0 1 2 3 5')
  })

  it('of an outer marker shows the inner one again, which can be restored then', () => {
    given(...talk, condensed(1, 2), truncated(0, 4, 3))
      .when({ type: 'restore', marker: 4 })
      .then('NotShown')
      .when({ type: 'restore', marker: 5 })
      .shows('0 S4 3')
      .when({ type: 'restore', marker: 4 })
      .shows('0 1 2 3')
  })

  it('needs a marker that is shown', () => {
    given(...talk)
      .when({ type: 'restore', marker: 1 })
      .then('NotShown')
    given(...talk, condensed(1, 2), rewound(3))
      .when({ type: 'restore', marker: 4 })
      .then('NotShown')
    given(...talk)
      .when({ type: 'restore', marker: 9 })
      .then('NotShown')
  })
})
