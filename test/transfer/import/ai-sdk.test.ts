import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { textBlock } from '../../../src/events/blocks.ts'
import { configurationOf, effective } from '../../../src/projections/effective.ts'
import { render } from '../../../src/projections/render/render.ts'
import { parseSession } from '../../../src/transfer/formats/parse-session.ts'
import { left } from '../../support/either.ts'
import { importFile, onlyLog, planOf, shownIn } from '../../support/import-log.ts'
import { violations } from '../../support/predicates.ts'
import { runs } from '../../support/runs.ts'

interface Fields {
  readonly [field: string]: unknown
}
const fileOf = (value: unknown): { readonly text: string; readonly file: string } => ({
  text: JSON.stringify(value, undefined, 1),
  file: 'f.json',
})
const shown = (value: unknown): readonly unknown[] => shownIn(onlyLog(importFile(fileOf(value))))
const said = (role: string, ...content: readonly unknown[]): Fields => ({ role, content })
const use = (id: string, input: unknown = {}): Fields => ({ type: 'tool_use', id, name: 'ls', input })
const result = (id: string, content: unknown, more: Fields = {}): Fields => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
  ...more,
})
const failed = { is_error: true }
const step = { type: 'step-start' }
const text = (words: string): Fields => ({ type: 'text', text: words, state: 'done' })
const call = (id: string, state: string, more: Fields = {}): Fields => ({
  type: 'tool-ls',
  toolCallId: id,
  state,
  input: {},
  ...more,
})
const ui = (role: string, id: string, ...parts: readonly Fields[]): Fields => ({ id, role, parts })
const png = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0' } }

describe('messages of the AI SDK for the user interface', () => {
  it('the steps of a reply are messages, each followed by the results of its calls', () => {
    const messages = [
      ui('system', 's', text('Be brief.')),
      ui('user', 'u', text('Look.'), {
        type: 'file',
        mediaType: 'image/png',
        url: 'data:image/png;base64,iVBORw0',
      }),
      ui(
        'assistant',
        'a',
        step,
        { type: 'reasoning', text: 'Hm.', providerMetadata: { anthropic: { signature: 'sig' } } },
        text('I look.'),
        call('1', 'output-available', { output: 'a.txt' }),
        call('2', 'output-available', { output: { files: 2 } }),
        call('3', 'output-error', { errorText: 'no such folder' }),
        call('4', 'output-denied', { approval: { id: 'p', approved: false, reason: 'Not now.' } }),
        call('5', 'approval-responded', { approval: { id: 'q', approved: false } }),
        call('6', 'approval-requested', { approval: { id: 'r' } }),
        call('7', 'input-streaming'),
        { type: 'dynamic-tool', toolName: 'ls', toolCallId: '8', state: 'input-available', input: { at: 1 } },
        { type: 'source-url', sourceId: 'x', url: 'https://example.org' },
        { type: 'data-chart', data: {} },
        step,
        text('Done.'),
      ),
    ]
    const history = [
      said('user', textBlock('Look.'), png),
      said(
        'assistant',
        { type: 'thinking', thinking: 'Hm.', signature: 'sig' },
        textBlock('I look.'),
        ...['1', '2', '3', '4', '5', '6'].map((id) => use(id)),
        use('8', { at: 1 }),
      ),
      said(
        'user',
        result('1', 'a.txt'),
        result('2', '{"files":2}'),
        result('3', 'no such folder', failed),
        result('4', 'Not now.', failed),
        result('5', 'Tool execution denied.', failed),
      ),
      said('assistant', textBlock('Done.')),
    ]
    for (const value of [messages, { id: 'c', messages, trigger: 'submit-message' }]) {
      expect(planOf(fileOf(value)).format).toBe('ai-sdk')
      const log = onlyLog(importFile(fileOf(value)))
      expect(shownIn(log)).toEqual(history)
      expect(configurationOf(effective(log))).toMatchObject({ system: 'Be brief.' })
      expect(violations({ rendered: render(effective(log)) })).toEqual([])
    }
    expect(planOf(fileOf({ id: 'c', messages, trigger: 'x' }))).toMatchObject({
      conversations: [{ id: 'c' }],
      report: {
        leftOut: ['field trigger', 'part call', 'part source-url', 'part data-chart'].map((kind) => ({
          kind,
          count: 1,
        })),
      },
    })
  })

  it('a reply continues after what the provider ran; calls of version 4 are calls', () => {
    const ran = { providerExecuted: true, output: 'found' }
    expect(
      shown([
        ui('user', 'u', text('Search.')),
        ui(
          'assistant',
          'a',
          call('1', 'output-available', ran),
          call('2', 'output-available', ran),
          text('It is.'),
        ),
        ui('assistant', 'b', {
          type: 'tool-invocation',
          toolInvocation: { state: 'result', toolCallId: '3', toolName: 'ls', args: { at: 1 }, result: 'b' },
        }),
      ]),
    ).toEqual([
      said('user', textBlock('Search.')),
      said('assistant', use('1'), use('2')),
      said('user', result('1', 'found'), result('2', 'found')),
      said('assistant', textBlock('It is.')),
      said('assistant', use('3', { at: 1 })),
      said('user', result('3', 'b')),
    ])
  })

  it('a part that cannot be stored is a bad line', () => {
    for (const part of [7, { type: 'tool-', toolCallId: 'x', state: 'input-available' }]) {
      const session = fileOf([ui('user', 'u', text('Hi.')), ui('assistant', 'a', part as Fields)])
      expect(left(parseSession(session))).toMatchObject({ _tag: 'BadLine', line: 1 })
    }
  })
})

describe('messages of the AI SDK for the model', () => {
  it('parts of every kind are blocks; what the provider ran is answered within the reply', () => {
    const output = (type: string, value: unknown): Fields => ({ type, value })
    const toolResult = (id: string, given: Fields): Fields => ({
      type: 'tool-result',
      toolCallId: id,
      toolName: 'ls',
      output: given,
    })
    const toolCall = (id: string): Fields => ({
      type: 'tool-call',
      toolCallId: id,
      toolName: 'ls',
      input: {},
    })
    const ask = (id: string): Fields => ({
      type: 'tool-approval-request',
      approvalId: `p${id}`,
      toolCallId: id,
    })
    const answer = (id: string, approved: boolean): Fields => ({
      type: 'tool-approval-response',
      approvalId: `p${id}`,
      approved,
    })
    const log = onlyLog(
      importFile(
        fileOf([
          { role: 'system', content: 'Be brief.' },
          {
            role: 'user',
            content: [
              { type: 'text', text: 'Look.' },
              { type: 'image', image: 'iVBORw0' },
              { type: 'image', image: 'https://example.org/a.png' },
              { type: 'file', data: 'JVBERi0', mediaType: 'application/pdf' },
            ],
          },
          {
            role: 'assistant',
            content: [
              { type: 'reasoning', text: 'Hm.' },
              toolCall('0'),
              toolResult('0', output('text', 'found')),
              { type: 'text', text: 'On.' },
              ...['1', '2', '3', '4', '5', '6'].map(toolCall),
              ...['5', '6'].map(ask),
            ],
          },
          {
            role: 'tool',
            content: [
              toolResult('1', output('json', [1])),
              toolResult('2', output('error-json', { code: 2 })),
              toolResult(
                '3',
                output('content', [
                  text('Here.'),
                  { type: 'media', data: 'iVBORw0', mediaType: 'image/png' },
                ]),
              ),
              { ...toolResult('4', {}), output: undefined, result: 'of version 4' },
              answer('5', false),
              answer('6', true),
              toolResult('6', output('text', 'run')),
            ],
          },
          { role: 'assistant', content: 'Done.' },
        ]),
      ),
    )
    expect(shownIn(log)).toEqual([
      said(
        'user',
        textBlock('Look.'),
        png,
        { type: 'image', source: { type: 'url', url: 'https://example.org/a.png' } },
        { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0' } },
      ),
      said('assistant', { type: 'thinking', thinking: 'Hm.' }, use('0')),
      said('user', result('0', 'found')),
      said('assistant', textBlock('On.'), ...['1', '2', '3', '4', '5', '6'].map((id) => use(id))),
      said(
        'user',
        result('1', '[1]'),
        result('2', '{"code":2}', failed),
        result('3', [textBlock('Here.'), png]),
        result('4', 'of version 4'),
        result('5', 'Tool execution denied.', failed),
        result('6', 'run'),
      ),
      said('assistant', textBlock('Done.')),
    ])
    expect(violations({ rendered: render(effective(log)) })).toEqual([])
  })
})

const word = fc.constantFrom('one', 'two', 'three')
const uiPart = fc.oneof(
  { weight: 2, arbitrary: fc.constant('step' as const) },
  { weight: 3, arbitrary: word },
  { weight: 4, arbitrary: fc.constantFrom('waits' as const, 'answered' as const) },
)
/** What a chat says, in turns of parts. */
const chats = fc.array(fc.array(uiPart, { maxLength: 8 }), { minLength: 1, maxLength: 6 })

/** Writes the messages of a chat, and the history as the SDK's rules have it: the texts and calls of each step, then its results. */
const written = (
  chat: readonly (readonly string[])[],
): { readonly messages: readonly Fields[]; readonly history: readonly string[] } => {
  const messages: Fields[] = []
  const history: string[] = []
  for (const [turn, parts] of chat.entries()) {
    messages.push(ui('user', `u${turn}`, text(`ask ${turn}`)))
    history.push(`ask ${turn}`)
    const results: string[] = []
    const all = parts.map((kind, index): Fields => {
      const id = `${turn}.${index}`
      if (kind === 'step') {
        history.push(...results.splice(0))
        return step
      }
      if (kind === 'waits' || kind === 'answered') {
        history.push(`call ${id}`)
        if (kind === 'answered') results.push(`${id}: out`)
        return kind === 'waits'
          ? call(id, 'input-available')
          : call(id, 'output-available', { output: 'out' })
      }
      history.push(kind)
      return text(kind)
    })
    history.push(...results)
    messages.push(ui('assistant', `a${turn}`, ...all))
  }
  return { messages, history }
}

describe('chats of the AI SDK at random', () => {
  it('show what the SDK would send, at once and as they grew; what is rendered is valid', () => {
    fc.assert(
      fc.property(chats, fc.nat(), fc.nat(), (chat, where, within) => {
        const { messages, history } = written(chat)
        const turns = 1 + (where % chat.length)
        const cut = chat
          .slice(0, turns)
          .map((parts, turn) => (turn === turns - 1 ? parts.slice(0, within % (parts.length + 1)) : parts))
        const earlier = written(cut).messages
        const named = (list: readonly Fields[]): unknown => ({ id: 'chat', messages: list })
        for (const archive of [undefined, importFile(fileOf(named(earlier)))]) {
          const log = onlyLog(importFile(fileOf(named(messages)), archive))
          const blocks = shownIn(log).flatMap(
            (message) => (message as { readonly content: readonly Fields[] }).content,
          )
          expect(
            blocks.map(({ type, id, text: words, tool_use_id: of, content }) =>
              type === 'text'
                ? words
                : type === 'tool_use'
                  ? `call ${String(id)}`
                  : `${String(of)}: ${String(content)}`,
            ),
          ).toEqual(history)
          expect(violations({ rendered: render(effective(log)) })).toEqual([])
        }
      }),
      { numRuns: runs(300) },
    )
  })
})
