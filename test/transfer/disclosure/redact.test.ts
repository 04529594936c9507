import { expect, test } from 'vitest'
import { redactor } from '../../../src/transfer/disclosure/redact.ts'

test.each([
  [['secret', 'act'], 'a secret act', 'a [redacted] [redacted]'],
  [['e', 'd', '[', 'redacted'], 'red', 'r[redacted][redacted]'],
  [['a.c', '$&', '(x|y)*\\'], 'abc a.c $& (x|y)*\\', 'abc [redacted] [redacted] [redacted]'],
])('no text is looked for in what stands for another one (%j)', (texts, text, redacted) => {
  expect(redactor(texts)({ text: [text] })).toEqual({ text: [redacted] })
})

test('in what is said only types and ids of blocks stay, whatever else they are called', () => {
  const block = { type: 'later', id: 'a', from: 'secret', context: { digest: 'b', text: 'secret' } }
  const event = { hash: 'secret', data: { content: [{ ...block, state: 'secret', time: 'secret' }] } }
  expect(redactor(['secret'])(event)).toEqual({
    hash: 'secret',
    data: {
      content: [
        {
          type: 'later',
          id: 'a',
          from: '[redacted]',
          context: { digest: 'b', text: '[redacted]' },
          state: '[redacted]',
          time: '[redacted]',
        },
      ],
    },
  })
})
