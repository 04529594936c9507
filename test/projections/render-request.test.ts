import { describe, expect, it } from 'vitest'
import type { Event } from '../../src/events/events.ts'
import { assistant, condensed, configured, said, text, toolResult, toolUse, user } from '../support/log.ts'
import { hello, renderLog } from '../support/render-log.ts'

const rendered = renderLog

describe('system prompt and tools', () => {
  it('are no field of a request where none are set', () => {
    expect(Object.keys(rendered([hello]))).toEqual(['messages', 'repairs', 'awaits'])
  })

  it('are repaired at the position of their configuration', () => {
    const marked = { ...text('Be brief.'), cache_control: { type: 'ephemeral' } }
    const { repairs } = rendered([
      hello,
      configured({
        system: [text(' '), ...Array.from({ length: 5 }, () => marked)],
        tools: [{ name: '\ud83d', cache_control: { type: 'ephemeral' } }],
      }),
    ])
    expect(repairs.map(({ kind, position }) => `${kind} ${position}`)).toEqual([
      'surrogate-replaced 1',
      'blank-dropped 1',
      'cache-control-dropped 1',
      'cache-control-dropped 1',
    ])
  })
})

describe('a prefill', () => {
  const shownFor = (...events: readonly Event[]): unknown => {
    const { messages, repairs } = rendered(events, { prefill: true })
    return [messages.at(-1)?.content, repairs.map(({ kind }) => kind)]
  }

  it('is trimmed at its end, and nothing before it is', () => {
    expect(
      shownFor(hello, assistant('one '), user('two '), assistant([text('three '), text('four ')])),
    ).toEqual([[text('three '), text('four')], ['whitespace-trimmed']])
  })

  it('that ends well is left as it is, and so is a history that ends in no prefill', () => {
    expect(shownFor(hello, assistant('one'))).toEqual([[text('one')], []])
    expect(shownFor(user('Hello. '))).toEqual([[text('Hello. ')], []])
  })
})

describe('a turn that the model paused', () => {
  const paused = { stopReason: 'pause_turn' }
  const shownFor = (event: Event): unknown => {
    const { messages, repairs } = rendered([hello, event, user('And?')])
    return [messages[1]?.content, repairs.map(({ position, detail }) => `${position}: ${detail}`)]
  }

  it('is trimmed at its end for good: what comes later does not change it', () => {
    expect(shownFor(assistant([text('one '), text('two ')], paused))).toEqual([
      [text('one '), text('two')],
      ['1: a turn that goes on cannot end in white space'],
    ])
  })

  it('is left as it is where it ends well, or in no text', () => {
    const found = [
      text('one '),
      { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
      { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
    ]
    expect(shownFor(assistant('one', paused))).toEqual([[text('one')], []])
    expect(shownFor(assistant(found, paused))).toEqual([found, []])
  })

  it('is the only one: a finished answer keeps its white space', () => {
    expect(shownFor(assistant('one ', { stopReason: 'end_turn' }))).toEqual([[text('one ')], []])
    expect(rendered([said('user', 'one ', paused)]).messages[0]?.content).toEqual([text('one ')])
  })
})

describe('system messages, where the model takes them', () => {
  const systemMessages = true
  const brief = said('system', 'Be brief.')

  it('are one where they follow one another', () => {
    const { messages } = rendered([hello, brief, said('system', 'Be kind.')], { systemMessages })
    expect(messages[1]).toEqual({ role: 'system', content: [text('Be brief.'), text('Be kind.')] })
  })

  it('are folded while a call waits for its result: none stands between the two', () => {
    const calls = assistant([toolUse('a'), toolUse('b')])
    const { messages } = rendered([hello, calls, user([toolResult('a')]), brief], { systemMessages })
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
    expect(messages[2]?.content.at(-1)).toEqual(text('Be brief.'))
  })
})

it('a summary awaits the user, whatever the model that wrote it had to say of itself', () => {
  const summary = condensed(1, 1, [{ role: 'assistant', content: [text('S.')] }])
  const paused = { ...summary, data: { ...summary.data, origin: { stopReason: 'pause_turn' } } }
  expect(rendered([hello, assistant('one'), paused]).awaits).toBe('user')
})
