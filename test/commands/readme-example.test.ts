import { it } from 'vitest'
import { assistant, text, user } from '../support/log.ts'
import { given } from '../support/specification.ts'

it('the example of the README, decision by decision', () => {
  given()
    .when({ type: 'append', messages: [{ role: 'user', content: 'Why does the parser fail?' }] })
    .then([{ type: 'MessageAppended', data: { role: 'user', content: [text('Why does the parser fail?')] } }])
    .when({ type: 'append', messages: [{ role: 'assistant', content: [text('Let me look.')] }] })
    .when({ type: 'append', messages: [{ role: 'user', content: 'Look at line 80 too.' }] })
    .when({ type: 'append', messages: [{ role: 'assistant', content: 'An unclosed string.' }] })
    .when({ type: 'append', messages: [{ role: 'user', content: 'Fix it.' }] })
    .shows('0 1 2 3 4')
    .when({ type: 'truncate', fraction: 0.5 })
    .then([{ type: 'Truncated', data: { covers: { first: 1, last: 2 }, messagesHidden: 2 } }])
    .shows('0 T5 3 4')
    .when({ type: 'condense', summary: 'The parser was examined.', keepFirst: 1, keepLast: 1 })
    .then([
      {
        type: 'Condensed',
        data: {
          covers: { first: 5, last: 3 },
          messagesHidden: 3,
          method: 'manual',
          summary: [{ role: 'user', content: [text('The parser was examined.')] }],
        },
      },
    ])
    .shows('0 S6 4')
    .when({ type: 'restore', marker: 6 })
    .shows('0 T5 3 4')
    .when({ type: 'rewind', to: 4 })
    .then([{ type: 'Rewound', data: { to: 4 } }])
    .shows('0 1 2 3 4')
    .when({ type: 'undo' })
    .then([{ type: 'Rewound', data: { to: 7 } }])
    .shows('0 T5 3 4')
})

it('the example continues: an answer, and the fence refuses what was computed before it', () => {
  given(user('Why?'), assistant('Because.'), user('Fix it.'))
    .when({ type: 'append', after: 2, messages: [{ role: 'assistant', content: 'Fixed.' }] })
    .shows('0 1 2 3')
    .when({ type: 'append', after: 2, messages: [{ role: 'assistant', content: 'Fixed as well.' }] })
    .then('StaleContext')
})
