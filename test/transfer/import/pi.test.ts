import { describe, expect, it } from 'vitest'
import type { ImportAction } from '../../../src/transfer/formats/plan.ts'
import { importFile, jsonl, onlyLog, planOf, shownIn } from '../../support/import-log.ts'

interface Fields {
  readonly [field: string]: unknown
}
const header = { type: 'session', version: 3, id: 'p', timestamp: '2026-01-01T00:00:00.000Z', cwd: '/' }
const entry = (id: string, parentId: string | null, type: string, more: Fields): Fields => ({
  type,
  id,
  parentId,
  ...more,
})
const says = (id: string, parentId: string | null, message: Fields = { role: 'user', content: id }): Fields =>
  entry(id, parentId, 'message', { message })

const session = (...entries: readonly Fields[]): string => jsonl(header, ...entries)
const actions = (...entries: readonly Fields[]): readonly ImportAction[] =>
  planOf({ text: session(...entries), file: 'f' }).conversations.flatMap((plan) => [...plan.actions])
const shown = (text: string): readonly unknown[] => shownIn(onlyLog(importFile({ text, file: 'f' })))
const text = (value: string): Fields => ({ type: 'text', text: value })
const contents = (items: readonly unknown[]): readonly unknown[] =>
  items.map((item) => (item as { readonly content?: readonly Fields[] }).content?.[0]?.['text'] ?? 'summary')

describe('pi: messages', () => {
  it('calls, results and thinking are blocks of the Messages API', () => {
    const thinking = { type: 'thinking', thinking: 'hm', thinkingSignature: 'sig' }
    const call = { type: 'toolCall', id: 'c', name: 'read', arguments: { path: 'x' } }
    const result = {
      role: 'toolResult',
      toolCallId: 'c',
      toolName: 'read',
      content: [text('no such file')],
      isError: true,
    }
    const reply = {
      role: 'assistant',
      content: [thinking, call],
      model: 'claude',
      stopReason: 'toolUse',
      usage: { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 },
    }
    expect(actions(says('a', null), says('b', 'a', reply), says('c', 'b', result))).toMatchObject([
      {},
      {
        message: {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 'sig' },
            { type: 'tool_use', id: 'c', name: 'read', input: { path: 'x' } },
          ],
          origin: {
            model: 'claude',
            stopReason: 'tool_use',
            usage: { input_tokens: 1, cache_read_input_tokens: 3 },
          },
        },
      },
      {
        message: {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'c', content: [text('no such file')], is_error: true },
          ],
        },
      },
    ])
  })

  it('a command of the user is text, as pi shows it, unless it is kept from the model', () => {
    const bash = {
      role: 'bashExecution',
      command: 'ls',
      output: 'a',
      exitCode: 2,
      cancelled: false,
      truncated: false,
    }
    const file = session(says('a', null, bash), says('b', 'a', { ...bash, excludeFromContext: true }))
    expect(shown(file)).toEqual([
      { role: 'user', content: [text('Ran `ls`\n```\na\n```\n\nCommand exited with code 2')] },
    ])
    expect(planOf({ text: file, file: 'f' }).report.leftOut).toMatchObject([
      { kind: 'message bashExecution' },
    ])
  })

  it('an image has a source; an aborted reply is kept, empty', () => {
    const image = { type: 'image', data: 'AAAA', mimeType: 'image/png' }
    const aborted = { role: 'assistant', content: [], stopReason: 'aborted' }
    expect(
      actions(says('a', null, { role: 'user', content: [image] }), says('b', 'a', aborted)),
    ).toMatchObject([
      {
        message: {
          content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }],
        },
      },
      { message: { content: [], origin: { stopReason: 'aborted' } } },
    ])
  })

  it('changes of model and thinking level are configurations, each whole', () => {
    const all = actions(
      entry('a', null, 'model_change', { provider: 'anthropic', modelId: 'm' }),
      entry('b', 'a', 'thinking_level_change', { thinkingLevel: 'high' }),
      says('c', 'b'),
    )
    expect(all.at(-2)).toMatchObject({
      type: 'configure',
      configuration: { model: 'm', parameters: { provider: 'anthropic', thinkingLevel: 'high' } },
    })
  })
})

describe('pi: the tree', () => {
  it('a branch is a rewind; what an extension says to the model is a message, its state is not', () => {
    const file = session(
      says('a', null),
      says('b', 'a'),
      entry('s', 'a', 'branch_summary', { fromId: 'b', summary: 'It failed.' }),
      entry('x', 's', 'custom', { customType: 'state' }),
      entry('y', 'x', 'custom_message', { customType: 'note', content: 'Mind the gap.', display: true }),
    )
    expect(contents(shown(file))).toEqual(['a', expect.stringContaining('It failed.'), 'Mind the gap.'])
    expect(planOf({ text: file, file: 'f' }).report.leftOut).toMatchObject([{ kind: 'custom', count: 1 }])
  })

  const talk = [says('a', null), says('b', 'a'), says('c', 'b')]
  const marks = [
    entry('e', 'a', 'label', { targetId: 'a', label: 'good' }),
    entry('e', 'a', 'custom', { customType: 'state' }),
    entry('e', 'a', 'session_info', { name: 'One' }),
  ]

  it.each(marks)('the path that pi resumes is that of the last entry, also of a $type', (mark) => {
    expect(contents(shown(session(...talk, mark)))).toEqual(['a'])
    expect(contents(shown(session(...talk, mark, says('d', 'e'))))).toEqual(['a', 'd'])
    const rewinds = actions(...talk, mark, says('d', 'e')).filter(({ type }) => type === 'rewind')
    expect(rewinds).toMatchObject([{ ref: 'e:rewind', to: 'a' }])
  })

  it('a mark behind the last message rewinds nothing', () => {
    const all = actions(...talk, entry('e', 'c', 'label', { targetId: 'a', label: 'good' }))
    expect(all.map(({ type }) => type)).toEqual(['message', 'message', 'message'])
  })

  it('a file that was imported before a mark has what the mark resumes', () => {
    const [mark] = marks
    const before = importFile({ text: session(...talk), file: 'f' })
    const grown = { text: session(...talk, ...(mark ? [mark] : []), says('d', 'e')), file: 'f' }
    expect(contents(shownIn(onlyLog(importFile(grown, before))))).toEqual(['a', 'd'])
  })

  it('a migrated header with a model is the root of the tree', () => {
    const file = jsonl({ ...header, modelId: 'm' }, says('a', null), says('b', 'a'), says('c', null))
    expect(contents(shown(file))).toEqual(['c'])
    expect(onlyLog(importFile({ text: file, file: 'f' })).map(({ type }) => type)).toEqual([
      'Configured',
      'MessageAppended',
      'MessageAppended',
      'Rewound',
      'MessageAppended',
    ])
  })
})

describe('pi: compactions', () => {
  const compaction = (id: string, parent: string, firstKeptEntryId: string): Fields =>
    entry(id, parent, 'compaction', { summary: `S${id}`, firstKeptEntryId, tokensBefore: 9 })
  const talk = [says('a', null), says('b', 'a'), says('c', 'b'), says('d', 'c')]

  it('hide what is before the first kept entry', () => {
    expect(contents(shown(session(...talk, compaction('k', 'd', 'c'), says('e', 'k'))))).toEqual([
      'summary',
      'c',
      'd',
      'e',
    ])
  })

  it('hide the earlier summary, and what it kept', () => {
    const later = [compaction('k', 'd', 'c'), says('e', 'k'), compaction('l', 'e', 'e'), says('f', 'l')]
    expect(contents(shown(session(...talk, ...later)))).toEqual(['summary', 'e', 'f'])
  })

  it('hide everything when the kept entry is not on the path', () => {
    expect(contents(shown(session(...talk, compaction('k', 'd', 'nowhere'))))).toEqual(['summary'])
  })

  it('that hide nothing are reported', () => {
    const { report } = planOf({ text: session(...talk, compaction('k', 'd', 'a')), file: 'f' })
    expect(report.leftOut).toMatchObject([{ kind: 'compaction', reason: 'it hides no message' }])
  })

  it('of the linear format name the first kept entry by its index', () => {
    const linear = ['a', 'b', 'c'].map((content) => ({ type: 'message', message: { role: 'user', content } }))
    const file = jsonl({ ...header, version: undefined }, ...linear, {
      type: 'compaction',
      summary: 'S',
      firstKeptEntryIndex: 3,
    })
    expect(contents(shown(file))).toEqual(['summary', 'c'])
  })
})

describe('pi: edits of what the model sees', () => {
  const edit = (id: string, parent: string, targetId: string, replacement: Fields | null): Fields =>
    entry(id, parent, 'context_edit', { targetId, replacement })
  const compaction = (id: string, parent: string, firstKeptEntryId: string): Fields =>
    entry(id, parent, 'compaction', { summary: `S${id}`, firstKeptEntryId })
  const talk = [says('a', null), says('b', 'a'), says('c', 'b')]
  const messagesIn = (file: string): readonly unknown[] =>
    contents(
      shown(file).flatMap((item) => {
        const { summary, truncated } = item as {
          readonly summary?: readonly unknown[]
          readonly truncated?: number
        }
        return truncated === undefined ? (summary ?? [item]) : []
      }),
    ).map((each) => (String(each).includes('compacted') ? 'summary' : each))
  const shownAfter = (...entries: readonly Fields[]): readonly unknown[] =>
    messagesIn(session(...talk, ...entries))

  it('remove a message, or put other content in its place', () => {
    expect(shownAfter(edit('d', 'c', 'a', null), says('e', 'd'))).toEqual(['b', 'c', 'e'])
    expect(shownAfter(edit('d', 'c', 'b', { content: 'B' }))).toEqual(['a', 'B', 'c'])
    expect(
      shownAfter(edit('d', 'c', 'b', { content: [text('B')] }), edit('e', 'd', 'b', { content: 'BB' })),
    ).toEqual(['a', 'BB', 'c'])
  })

  it('of the content of a result keep its call', () => {
    const result = { role: 'toolResult', toolCallId: 'x', content: [text('long')], isError: true }
    const call = { role: 'assistant', content: [{ type: 'toolCall', id: 'x', name: 'read', arguments: {} }] }
    const file = session(
      says('a', null),
      says('b', 'a', call),
      says('c', 'b', result),
      edit('d', 'c', 'c', { content: 'short' }),
    )
    const content = [{ type: 'tool_result', tool_use_id: 'x', content: [text('short')], is_error: true }]
    expect(shown(file)).toMatchObject([{}, {}, { summary: [{ role: 'user', content }] }])
  })

  it('end with a compaction, and a later one hides them', () => {
    const edits = [edit('d', 'c', 'a', null), edit('e', 'd', 'b', { content: 'B' })]
    expect(shownAfter(...edits, compaction('k', 'e', 'c'))).toEqual(['summary', 'c'])
    expect(shownAfter(...edits, compaction('k', 'e', 'b'))).toEqual(['summary', 'B', 'c'])
  })

  it('of a message that is not shown are reported', () => {
    const later = [compaction('k', 'c', 'c'), edit('d', 'k', 'a', null), edit('e', 'd', 'nowhere', null)]
    expect(shownAfter(...later)).toEqual(['summary', 'c'])
    const { report } = planOf({ text: session(...talk, ...later), file: 'f' })
    const reason = 'it edits no message that the model sees'
    expect(report.leftOut).toMatchObject([{ kind: 'context_edit', reason, count: 2 }])
  })

  it('a file that was imported before they were read is imported again from there', () => {
    const late = session(...talk, edit('d', 'c', 'b', null), says('e', 'd'))
    const early = session(...talk, entry('d', 'c', 'label', {}), says('e', 'd'))
    const log = onlyLog(importFile({ text: late, file: 'f' }, importFile({ text: early, file: 'f' })))
    expect(shownIn(log)).toEqual(shown(late))
  })
})
