import { expect, test } from 'vitest'
import { redactor } from '../../src/server/redact.ts'

test.each([
  [['secret', 'act'], 'a secret act', 'a [redacted] [redacted]'],
  [['e', 'd', '[', 'redacted'], 'red', 'r[redacted][redacted]'],
  [['a.c', '$&', '(x|y)*\\'], 'abc a.c $& (x|y)*\\', 'abc [redacted] [redacted] [redacted]'],
])('no text is looked for in what stands for another one (%j)', (texts, text, redacted) => {
  expect(redactor(texts)({ text: [text] })).toEqual({ text: [redacted] })
})
