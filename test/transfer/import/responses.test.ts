import { describe, expect, it } from 'vitest'
import { textBlock } from '../../../src/events/blocks.ts'
import { configurationOf, effective } from '../../../src/projections/effective.ts'
import { importFile, onlyLog, planOf, shownIn } from '../../support/import-log.ts'

const items = [
  { role: 'user', content: 'Hi' },
  { type: 'function_call', call_id: 'c', name: 'ls', arguments: '{}' },
  { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I look.' }] },
  { type: 'function_call_output', call_id: 'c', output: 'a.txt' },
]
const said = [
  { role: 'user', content: [textBlock('Hi')] },
  {
    role: 'assistant',
    content: [{ type: 'tool_use', id: 'c', name: 'ls', input: {} }, textBlock('I look.')],
  },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'a.txt' }] },
]
const fileOf = (value: unknown): { readonly text: string; readonly file: string } => ({
  text: JSON.stringify(value),
  file: 'f.json',
})

describe('items of the Responses API', () => {
  it.each([
    ['a list', items],
    ['a request', { model: 'gpt-5', instructions: 'Be brief.', input: items, store: false }],
    ['a response', { object: 'response', id: 'resp_1', model: 'gpt-5', input: 'Hi', output: items.slice(1) }],
  ])('%s is a conversation', (_, value) => {
    expect(planOf(fileOf(value)).format).toBe('responses')
    expect(shownIn(onlyLog(importFile(fileOf(value))))).toEqual(said)
  })

  it('what a request says is its configuration', () => {
    const tools = [{ type: 'function', name: 'ls', parameters: { type: 'object' } }]
    const request = {
      model: 'gpt-5',
      instructions: 'Be brief.',
      tools,
      input: items,
      reasoning: { effort: 'low' },
    }
    expect(configurationOf(effective(onlyLog(importFile(fileOf(request)))))).toMatchObject({
      model: 'gpt-5',
      system: 'Be brief.',
      tools: [{ name: 'ls', input_schema: { type: 'object' } }],
      parameters: { reasoning: { effort: 'low' } },
    })
  })

  it('says where the file is only a part', () => {
    const { report } = planOf(fileOf({ model: 'gpt-5', previous_response_id: 'resp_0', input: 'On.' }))
    expect(report.notes).toEqual([expect.stringContaining('resp_0')])
  })
})
