import { isLeft } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { textBlock } from '../../../src/events/blocks.ts'
import { configurationOf, effective } from '../../../src/projections/effective.ts'
import { render } from '../../../src/projections/render/render.ts'
import { parseSession } from '../../../src/transfer/formats/parse-session.ts'
import { left } from '../../support/either.ts'
import { importFile, onlyLog, planOf, shownIn } from '../../support/import-log.ts'
import { violations } from '../../support/predicates.ts'

const contents = [
  {
    role: 'user',
    parts: [{ text: 'List.' }, { fileData: { fileUri: 'gs://b/a.pdf', mimeType: 'application/pdf' } }],
  },
  {
    role: 'model',
    parts: [
      { text: 'Hm.', thought: true },
      { functionCall: { name: 'ls', args: { at: 1 } } },
      { functionCall: { name: 'cat' }, thoughtSignature: 'x' },
      { functionCall: { name: 'ls', args: { at: 2 } } },
      { executableCode: { code: '1' } },
    ],
  },
  {
    role: 'function',
    parts: [
      { functionResponse: { name: 'ls', response: { files: ['a'] } } },
      { functionResponse: { name: 'cat', response: { output: 'b' } } },
      { functionResponse: { name: 'ls', response: 'c' } },
    ],
  },
  { parts: [{ text: '' }] },
  { parts: [{ text: 'On.' }] },
]
const use = (id: string, name: string, input: unknown): unknown => ({ type: 'tool_use', id, name, input })
const result = (id: string, content: string): unknown => ({ type: 'tool_result', tool_use_id: id, content })
const history = [
  {
    role: 'user',
    content: [textBlock('List.'), { type: 'document', source: { type: 'url', url: 'gs://b/a.pdf' } }],
  },
  {
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'Hm.' },
      use('call_0', 'ls', { at: 1 }),
      use('call_1', 'cat', {}),
      use('call_2', 'ls', { at: 2 }),
      { type: 'gemini_part', part: { executableCode: { code: '1' } } },
    ],
  },
  {
    role: 'user',
    content: [result('call_0', '{"files":["a"]}'), result('call_1', 'b'), result('call_2', 'c')],
  },
  { role: 'user', content: [textBlock('On.')] },
]
const fileOf = (value: unknown): { readonly text: string; readonly file: string } => ({
  text: JSON.stringify(value, undefined, 2),
  file: 'f.json',
})

describe('contents of the Gemini API', () => {
  it.each([
    ['a list', contents],
    ['a request', { model: 'gemini-3-pro', contents }],
    ['a checkpoint', { history: contents, authType: 'oauth-personal' }],
  ])('%s is a conversation', (_, value) => {
    const { format, report } = planOf(fileOf(value))
    expect(format).toBe('gemini')
    expect(report.leftOut).toContainEqual(expect.objectContaining({ kind: 'thought signature', count: 1 }))
    const log = onlyLog(importFile(fileOf(value)))
    expect(shownIn(log)).toEqual(history)
    expect(violations({ rendered: render(effective(log)) })).toEqual([])
  })

  it.each(['of the API', 'of its library'])('what a request %s says is its configuration', (kind) => {
    const schema = { type: 'object' }
    const settings = {
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      tools: [
        { functionDeclarations: [{ name: 'ls', description: 'Lists.', parameters: schema }] },
        { googleSearch: {} },
      ],
      generationConfig: { temperature: 0 },
    }
    const request = {
      model: 'gemini-3-pro',
      contents,
      ...(kind === 'of the API' ? settings : { config: settings }),
    }
    expect(configurationOf(effective(onlyLog(importFile(fileOf(request)))))).toMatchObject({
      model: 'gemini-3-pro',
      system: 'Be brief.',
      tools: [{ name: 'ls', description: 'Lists.', input_schema: schema }, { googleSearch: {} }],
      parameters: { generationConfig: { temperature: 0 } },
    })
  })

  it('a part that is none, or an unknown role, is a bad line; parts of other programs are not of this API', () => {
    for (const content of [
      { role: 'model', parts: [7] },
      { role: 'robot', parts: [{ text: 'Hi.' }] },
    ]) {
      const text = JSON.stringify([...contents, content])
      expect(left(parseSession({ text, file: 'f' }))).toMatchObject({ _tag: 'BadLine', line: 1 })
    }
    const other = JSON.stringify([{ role: 'agent', parts: [{ kind: 'text', text: 'Hi.' }] }])
    expect(isLeft(parseSession({ text: other, file: 'f' }))).toBe(true)
  })
})
