import { describe, it } from 'vitest'
import { assistant, condensed, restored, rewound, text, toolUse, truncated, user } from '../support/log.ts'
import { given } from '../support/specification.ts'

const hello = { role: 'user' as const, content: 'Hello.' }
const talk = [user('m0'), assistant('m1'), user('m2')]

describe('append', () => {
  it('begins a conversation', () => {
    given()
      .when({ type: 'append', messages: [hello] })
      .then([{ type: 'MessageAppended', data: { role: 'user', content: [text('Hello.')] } }])
  })

  it('writes several messages as an event each, in order', () => {
    given(...talk)
      .when({ type: 'append', messages: [{ role: 'assistant', content: [toolUse('a')] }, hello] })
      .then([
        { type: 'MessageAppended', data: { role: 'assistant', content: [toolUse('a')] } },
        { type: 'MessageAppended', data: { role: 'user' } },
      ])
      .shows('0 1 2 3 4')
  })

  it('judges nothing: an unanswered call, a blank text and a message without blocks are recorded', () => {
    given(assistant([toolUse('a')]))
      .when({
        type: 'append',
        messages: [
          { role: 'user', content: ' ' },
          { role: 'assistant', content: [] },
        ],
      })
      .then([
        { type: 'MessageAppended', data: { content: [text(' ')] } },
        { type: 'MessageAppended', data: { content: [] } },
      ])
  })

  it('keeps the message id and where the message came from', () => {
    const origin = { model: 'm', stopReason: 'end_turn', usage: { input_tokens: 1 }, requestId: 'r' }
    given(...talk)
      .when({ type: 'append', messages: [{ ...hello, messageId: 'id', origin }] })
      .then([{ type: 'MessageAppended', data: { messageId: 'id', origin } }])
  })
})

describe('append of a message that the model is shown otherwise', () => {
  const shown = { content: 'Hel…', policy: { of: 'result' as const, used: 6, allowed: 4 } }

  it('writes the message as it is, and an edit of it right after it', () => {
    given(...talk)
      .when({ type: 'append', messages: [hello, { ...hello, shown }, hello] })
      .then([
        { type: 'MessageAppended', data: { content: [text('Hello.')] } },
        { type: 'MessageAppended', data: { role: 'user', content: [text('Hello.')] } },
        {
          type: 'Condensed',
          data: {
            covers: { first: 4, last: 4 },
            summary: [{ role: 'user', content: [text('Hel…')] }],
            method: 'client',
            messagesHidden: 1,
            policy: shown.policy,
          },
        },
        { type: 'MessageAppended', data: { content: [text('Hello.')] } },
      ])
      .shows('0 1 2 3 S5 6')
      .when({ type: 'restore', marker: 5 })
      .shows('0 1 2 3 4 6')
  })

  it('begins a conversation, too, and lands on a branch of its own or where the conversation continues', () => {
    given()
      .when({ type: 'append', messages: [{ ...hello, shown }] })
      .shows('S1')
    given(...talk)
      .when({ type: 'append', messages: [{ ...hello, shown }], rewindTo: 1 })
      .shows('0 1 S5')
    given(...talk)
      .when({ type: 'append', messages: [{ ...hello, shown }], branchAt: 1 })
      .shows('0 1 2')
      .when({ type: 'rewind', to: 5 })
      .shows('0 1 S5')
  })
})

describe('append after a position', () => {
  it('lands while the last event is still the one at that position', () => {
    given(...talk)
      .when({ type: 'append', after: 2, messages: [hello] })
      .shows('0 1 2 3')
  })

  it('lands after -1 in an empty conversation, and in no other', () => {
    given()
      .when({ type: 'append', after: -1, messages: [hello] })
      .shows('0')
    given(...talk)
      .when({ type: 'append', after: -1, messages: [hello] })
      .then('StaleContext')
  })

  it('is refused once a message came', () => {
    given(...talk)
      .when({ type: 'append', after: 1, messages: [hello] })
      .then('StaleContext')
  })

  it('is refused after a rewind and a redo, although the head is the same again', () => {
    given(...talk, rewound(1), rewound(2))
      .when({ type: 'append', after: 2, messages: [hello] })
      .then('StaleContext')
  })

  it('is refused after a position that is yet to come', () => {
    given(...talk)
      .when({ type: 'append', after: 3, messages: [hello] })
      .then('StaleContext')
  })

  it('is refused once a marker came, unless markers are tolerated', () => {
    const marked = [...talk, condensed(1, 1), truncated(3, 3), restored(4)]
    given(...marked)
      .when({ type: 'append', after: 2, messages: [hello] })
      .then('StaleContext')
    given(...marked)
      .when({ type: 'append', after: 2, tolerate: 'markers', messages: [hello] })
      .shows('0 S3 2 6')
  })

  it('tolerates markers only: a message or a rewind among them refuses it', () => {
    for (const other of [user('m3'), rewound(2)])
      given(...talk, condensed(1, 1), other)
        .when({ type: 'append', after: 2, tolerate: 'markers', messages: [hello] })
        .then('StaleContext')
    given(...talk)
      .when({ type: 'append', after: 3, tolerate: 'markers', messages: [hello] })
      .then('StaleContext')
  })
})

describe('every command', () => {
  it('can be fenced by a position', () => {
    given(...talk)
      .when({ type: 'truncate', after: 1, covers: { first: 1, last: 1 } })
      .then('StaleContext')
    given(...talk)
      .when({ type: 'configure', after: 1, model: 'm' })
      .then('StaleContext')
    given(...talk)
      .when({ type: 'rewind', after: 2, to: 0 })
      .shows('0')
  })

  it('but append and configure needs a conversation that is there', () => {
    given().when({ type: 'truncate' }).then('ConversationNotFound')
    given().when({ type: 'condense', summary: 'S.' }).then('ConversationNotFound')
    given().when({ type: 'restore', marker: 0 }).then('ConversationNotFound')
    given().when({ type: 'rewind', to: -1 }).then('ConversationNotFound')
    given().when({ type: 'undo' }).then('ConversationNotFound')
  })
})

describe('append with branchAt', () => {
  const late = { type: 'append' as const, messages: [hello] }

  it('records the messages on an abandoned branch, and leaves the conversation what it is', () => {
    given(...talk, rewound(0), user('m4'))
      .when({ ...late, branchAt: 2 })
      .then([
        { type: 'Rewound', data: { to: 2 } },
        { type: 'MessageAppended', data: { role: 'user' } },
        { type: 'Rewound', data: { to: 4 } },
      ])
      .shows('0 4')
  })

  it('does so before the first message, and after a rewind', () => {
    given(...talk, rewound(0))
      .when({ ...late, branchAt: -1 })
      .shows('0')
  })

  it('is refused at a position that is not there, and where nothing is', () => {
    given(...talk)
      .when({ ...late, branchAt: 3 })
      .then({ _tag: 'OutOfRange', position: 3, last: 2 })
    given()
      .when({ ...late, branchAt: -1 })
      .then('ConversationNotFound')
  })
})

describe('append with rewindTo', () => {
  const missed = { type: 'append' as const, messages: [hello] }

  it('continues from there', () => {
    given(...talk)
      .when({ ...missed, rewindTo: 1 })
      .then([
        { type: 'Rewound', data: { to: 1 } },
        { type: 'MessageAppended', data: { role: 'user' } },
      ])
      .shows('0 1 4')
  })

  it('records again, before the messages, what came since and is to stay', () => {
    const summary = [{ role: 'user' as const, content: [text('So.')] }]
    const facts = { covers: { first: 0, last: 1 }, messagesHidden: 2, tokens: { before: 2, after: 1 } }
    const condense = { type: 'Condensed' as const, data: { ...facts, summary, method: 'manual' as const } }
    const parameters = { mcp_servers: [{ authorization_token: 'secret' }] }
    const configure = { type: 'Configured' as const, data: { parameters } }
    given(...talk, user('m3'), condensed(0, 1))
      .when({ ...missed, rewindTo: 2, again: [configure, condense] })
      .then([
        { type: 'Rewound', data: { to: 2 } },
        { type: 'Configured', data: { parameters: { mcp_servers: [{ authorization_token: {} }] } } },
        { type: 'Condensed', data: { covers: { first: 0, last: 1 } } },
        { type: 'MessageAppended', data: { role: 'user' } },
      ])
      .shows('S7 2 8')
    given(...talk)
      .when({ ...missed, again: [] })
      .then({ _tag: 'InvalidInput', path: 'again' })
  })

  it('is refused at a position that is not there, where nothing is, and with branchAt', () => {
    given(...talk)
      .when({ ...missed, rewindTo: 3 })
      .then({ _tag: 'OutOfRange', position: 3, last: 2 })
    given()
      .when({ ...missed, rewindTo: -1 })
      .then('ConversationNotFound')
    given(...talk)
      .when({ ...missed, rewindTo: 1, branchAt: 1 })
      .then({ _tag: 'InvalidInput', path: 'branchAt' })
  })
})
