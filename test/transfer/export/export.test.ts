import { describe, expect, it } from 'vitest'
import { anthropicRequest } from '../../../src/transfer/formats/write-anthropic.ts'
import { effective } from '../../../src/projections/effective.ts'
import { full } from '../../../src/projections/full.ts'
import { importFile, onlyLog, sample, shownIn } from '../../support/import-log.ts'
import {
  assistant,
  condensed,
  configured,
  logOf,
  rewound,
  text,
  thinking,
  toolResult,
  toolUse,
  user,
} from '../../support/log.ts'
import { markdown } from '../../support/markdown.ts'

describe('an Anthropic request', () => {
  it('holds system, tools, model and the parameters that the API knows', () => {
    const parameters = { max_tokens: 9, thinkingLevel: 'high' }
    const log = logOf(configured({ system: 's', tools: [], model: 'm', parameters }), user('Hi'))
    expect(anthropicRequest(effective(log))).toEqual({
      model: 'm',
      max_tokens: 9,
      system: 's',
      tools: [],
      messages: [{ role: 'user', content: [text('Hi')] }],
    })
  })

  it('names the model of the last reply that a model wrote, if none is configured', () => {
    const reply = (model: string) => assistant('Yes.', { model })
    const log = logOf(user('Hi'), reply('m'), user('And?'), reply('<synthetic>'), user('Well?'))
    expect(anthropicRequest(effective(log)).model).toBe('m')
  })

  it('leaves out beta features, which belong in a header', () => {
    const log = logOf(configured({ parameters: { max_tokens: 9, betas: ['b'] } }), user('Hi'))
    expect(anthropicRequest(effective(log))).not.toHaveProperty('betas')
  })

  it('can be imported again', () => {
    const file = sample('anthropic.json')
    const log = onlyLog(importFile(file))
    const again = importFile({ file: 'f', text: JSON.stringify(anthropicRequest(effective(log))) })
    expect(shownIn(onlyLog(again))).toEqual(shownIn(log))
  })
})

describe('a Markdown document', () => {
  it('fences a text of two hundred thousand fences', () => {
    const result = toolResult('a', `${'```\n'.repeat(200_000)}\`\`\`\``)
    const document = markdown('c', full(logOf(user([result]))))
    expect(document).toContain('\n`````\n```\n')
  })

  const log = logOf(
    user('Why?'),
    assistant([thinking('sig', 'hm\nhm'), text('I look.'), toolUse('a', { path: 'x' })]),
    user([toolResult('a', '```\ncode\n```')]),
    condensed(1, 2, 'Looked.'),
    user('Left.'),
    rewound(3),
    user('Fix it.'),
  )

  it('has every message, and says of what is hidden by what', () => {
    expect(markdown('c', full(log, { abandoned: true }))).toBe(`# Conversation c

5 messages; the model sees 3 of the 6 entries below.

## 0 · user · 2026-01-01T00:00:00.000Z

Why?

## 1 · assistant · 2026-01-01T00:00:00.000Z

*No longer shown: replaced by the summary at 3.*

> hm
> hm

I look.

**Call \`run\`** \`a\`

\`\`\`json
{
  "path": "x"
}
\`\`\`

## 2 · user · 2026-01-01T00:00:00.000Z

*No longer shown: replaced by the summary at 3.*

**Result** \`a\`

\`\`\`\`
\`\`\`
code
\`\`\`
\`\`\`\`

## 3 · summary of 2 messages, 1 to 2 · 2026-01-01T00:00:00.000Z

Looked.

## 4 · user · 2026-01-01T00:00:00.000Z

*On a branch abandoned by the rewind at 5.*

Left.

## 6 · user · 2026-01-01T00:00:00.000Z

Fix it.
`)
  })

  it('leaves the abandoned branches out where the full history does', () => {
    expect(markdown('c', full(log))).not.toContain('Left.')
  })

  it('shows control and bidirectional characters, wherever they stand', () => {
    const evil = 'x\u001b[2J\u061c\u202ey\u009b'
    const hostile = logOf(
      user(evil),
      assistant([thinking(evil), text(evil), toolUse('t1', evil)]),
      user([toolResult('t1', evil)]),
      rewound(0),
      user('after'),
    )
    const document = markdown(evil, full(hostile, { abandoned: true }))
    // oxlint-disable-next-line no-control-regex -- these characters are what it is about
    expect(document).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u202e]/)
    expect(document).toContain('x␛[2J\\u{61c}\\u{202e}y\\u{9b}')
  })
})
