import { describe, expect, it } from 'vitest'
import type { ImportPlan } from '../../../src/transfer/formats/plan.ts'
import { importFile, jsonl, planOf, shownIn, onlyLog } from '../../support/import-log.ts'

const plan = (document: unknown): ImportPlan =>
  planOf({ text: JSON.stringify(document), file: 'f', format: 'openai' })
const shown = (document: unknown): readonly unknown[] =>
  shownIn(onlyLog(importFile({ text: JSON.stringify(document), file: 'f', format: 'openai' })))
const text = (value: string): unknown => ({ type: 'text', text: value })
const call = (id: string, args: string): unknown => ({
  id,
  type: 'function',
  function: { name: 'run', arguments: args },
})

describe('OpenAI Chat', () => {
  it('the leading system message is the system prompt, a later one a message', () => {
    const { conversations } = plan([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
      { role: 'system', content: 'Now be long.' },
    ])
    expect([...(conversations[0]?.actions ?? [])]).toMatchObject([
      { type: 'configure', configuration: { system: 'Be brief.' } },
      { message: { role: 'user' } },
      { message: { role: 'system', content: [text('Now be long.')] } },
    ])
  })

  it('tool calls and tool messages are tool_use and tool_result blocks', () => {
    expect(
      shown([
        { role: 'user', content: 'go' },
        {
          role: 'assistant',
          content: 'Yes.',
          tool_calls: [call('a', '{"x":1}'), call('b', '{broken'), call('c', '')],
        },
        { role: 'tool', tool_call_id: 'a', name: 'run', content: '1' },
      ]).slice(1),
    ).toEqual([
      {
        role: 'assistant',
        content: [
          text('Yes.'),
          { type: 'tool_use', id: 'a', name: 'run', input: { x: 1 } },
          { type: 'tool_use', id: 'b', name: 'run', input: '{broken' },
          { type: 'tool_use', id: 'c', name: 'run', input: {} },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: '1' }] },
    ])
  })

  it('the legacy function call has the result that follows', () => {
    const [, asked, answered] = shown([
      { role: 'user', content: 'go' },
      { role: 'assistant', content: null, function_call: { name: 'run', arguments: '{}' } },
      { role: 'function', name: 'run', content: 'done' },
    ])
    expect(asked).toMatchObject({ content: [{ type: 'tool_use', id: 'call_1' }] })
    expect(answered).toMatchObject({ content: [{ type: 'tool_result', tool_use_id: 'call_1' }] })
  })

  it('pictures have a source', () => {
    const image = (url: string): unknown => ({ type: 'image_url', image_url: { url } })
    const content = [image('data:image/png;base64,AAAA'), image('https://example.org/a.png')]
    expect(shown([{ role: 'user', content }])).toMatchObject([
      {
        content: [
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
          { type: 'image', source: { type: 'url', url: 'https://example.org/a.png' } },
        ],
      },
    ])
  })

  it('fields that no message holds are reported', () => {
    const { report } = plan([
      { role: 'user', content: 'Hi', name: 'mia' },
      { role: 'assistant', content: 'x', audio: {} },
    ])
    expect(report.leftOut.map(({ kind }) => kind)).toEqual(['field name', 'field audio'])
  })

  it('a line of JSONL, or an item with a trajectory, is a conversation; the same one twice gets a number', () => {
    const hello = {
      messages: [
        { role: 'system', content: 's' },
        { role: 'user', content: 'Hi' },
      ],
    }
    const file = jsonl(hello, hello, { messages: [{ role: 'user', content: 'Ho', tool_call_id: 'x' }] })
    const [one, two, three] = planOf({ text: file, file: 'f' }).conversations.map(({ id }) => id)
    expect(two).toBe(`${one}-2`)
    expect(three).toMatch(/^openai-[0-9a-f]{16}$/)
    expect(
      plan([
        { task_id: 1, traj: hello.messages },
        { task_id: 2, traj: hello.messages },
      ]).conversations,
    ).toHaveLength(2)
    expect(planOf({ text: file, file: 'f', id: 'own' }).conversations.map(({ id }) => id)).toEqual([
      'own',
      'own-2',
      'own-3',
    ])
  })

  it('a request of tools, model and parameters is a configuration', () => {
    const parameters = { type: 'object' }
    const tools = [{ type: 'function', function: { name: 'run', description: 'd', parameters } }]
    expect(
      plan({
        model: 'gpt',
        temperature: 0,
        tools,
        messages: [{ role: 'user', content: 'x' }],
      }).conversations[0]?.actions.at(0),
    ).toMatchObject({
      configuration: {
        model: 'gpt',
        parameters: { temperature: 0 },
        tools: [{ name: 'run', description: 'd', input_schema: parameters }],
      },
    })
  })
})

describe('Anthropic messages', () => {
  it('blocks are kept as they are, unknown ones and unknown fields included', () => {
    const messages = [
      { role: 'user', content: [{ type: 'hologram', depth: 3, cache_control: { type: 'ephemeral' } }] },
    ]
    const [log] = [
      onlyLog(
        importFile({ text: JSON.stringify({ system: [text('s')], max_tokens: 9, messages }), file: 'f' }),
      ),
    ]
    expect(log).toMatchObject([
      { data: { system: [text('s')], parameters: { max_tokens: 9 } } },
      { data: { role: 'user', content: messages[0]?.content } },
    ])
  })

  it('a message that cannot be stored is named', () => {
    const file = {
      text: JSON.stringify([
        { role: 'user', content: 'x' },
        { role: 'robot', content: 'y' },
      ]),
      file: 'f',
    }
    expect(planOf({ ...file, skipBadLines: true }).report.badLines[0]?.problem).toMatch(/^message 1: role/)
  })

  it('a configuration that cannot be stored is named', () => {
    const messages = [{ role: 'user', content: 'x' }]
    const file = { text: JSON.stringify({ system: 7, messages }), file: 'f', format: 'anthropic' as const }
    expect(planOf({ ...file, skipBadLines: true }).report.badLines[0]?.problem).toMatch(
      /^configuration: system/,
    )
  })
})
