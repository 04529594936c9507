import { expect, test } from 'vitest'
import { redactor } from '../../../src/transfer/disclosure/redact.ts'
import { textListOf } from '../../../src/transfer/disclosure/texts.ts'

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

test('the commit of the files stays, and is no text; what a tool calls a workspace is', () => {
  const metadata = { workspace: { kind: 'git', commit: '3f2a1c4' } }
  const content = [{ type: 'tool_use', id: 'a', name: 'read', input: { workspace: '/srv/3f2a1c4' } }]
  expect(redactor(['3f2a'])({ metadata, content })).toEqual({
    metadata,
    content: [{ ...content[0], input: { workspace: '/srv/[redacted]1c4' } }],
  })
  expect(textListOf({ metadata, content })).toEqual(['/srv/3f2a1c4'])
})
