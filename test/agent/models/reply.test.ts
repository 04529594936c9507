import { describe, expect, it } from 'vitest'
import { replyDraft } from '../../../src/agent/models/streaming/reply.ts'
import type { ReplyEvent } from '../../../src/agent/models/model.ts'
import { text } from '../../support/log.ts'

const start = (usage: object = { input_tokens: 10, output_tokens: 1 }): ReplyEvent => ({
  type: 'message_start',
  message: { id: 'msg_1', model: 'm', usage },
})
const block = (index: number, content: object, ...deltas: readonly object[]): readonly ReplyEvent[] => [
  { type: 'content_block_start', index, content_block: content },
  ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
]
const stop = (index: number): ReplyEvent => ({ type: 'content_block_stop', index })
const end: readonly ReplyEvent[] = [
  {
    type: 'message_delta',
    delta: { stop_reason: 'end_turn' },
    usage: { output_tokens: 5, input_tokens: null },
  },
  { type: 'message_stop' },
]
const drafted = (...events: readonly ReplyEvent[]) => {
  const draft = replyDraft('req_1')
  for (const event of events) draft.add(event)
  return draft
}
const call = { type: 'tool_use', id: 't', name: 'read', input: {} }
const json = (partial_json: string) => ({ type: 'input_json_delta', partial_json })

describe('a reply that streams', () => {
  it('is whole only when the stream says that it ends', () => {
    const events = [start(), ...block(0, text(''), { type: 'text_delta', text: 'Yes.' }), stop(0)]
    expect(drafted(...events).whole()).toBe(undefined)
    expect(drafted(...events, ...end).whole()).toEqual({
      content: [text('Yes.')],
      origin: {
        model: 'm',
        stopReason: 'end_turn',
        usage: { input_tokens: 10, output_tokens: 5 },
        requestId: 'req_1',
        message: { id: 'msg_1' },
      },
    })
  })

  it('is named by its message where the answer has no request id', () => {
    const draft = replyDraft(null)
    for (const event of [start(), ...end]) draft.add(event)
    expect(draft.whole()?.origin.requestId).toBe('msg_1')
  })

  it.each<readonly [string, object, readonly object[], object]>([
    [
      'text with citations',
      text(''),
      [
        { type: 'citations_delta', citation: 1 },
        { type: 'citations_delta', citation: 2 },
      ],
      { ...text(''), citations: [1, 2] },
    ],
    [
      'thinking, and keeps an empty one',
      { type: 'thinking', thinking: '' },
      [{ type: 'signature_delta', signature: 's' }],
      { type: 'thinking', thinking: '', signature: 's' },
    ],
    ['a call without input', call, [json('')], call],
    ['a call', call, [json('{"pa'), json('th":"a"}')], { ...call, input: { path: 'a' } }],
    ['a call that was cut off, as it is', call, [json('{"pa')], { ...call, input: '{"pa' }],
    [
      'a compaction',
      { type: 'compaction', content: null },
      [{ type: 'compaction_delta', content: 'So far.', encrypted_content: 'x' }],
      { type: 'compaction', content: 'So far.', encrypted_content: 'x' },
    ],
    ['fields that nobody knows', { type: 'new', a: { b: 1 } }, [], { type: 'new', a: { b: 1 } }],
  ])('has %s', (_, content, deltas, expected) => {
    const draft = drafted(start(), ...block(0, content, ...deltas), stop(0), ...end)
    expect(draft.whole()?.content).toEqual([expected])
  })

  it('fails on what this version does not know: a recorded reply is whole', () => {
    const draft = drafted(start(), ...block(0, text('')))
    expect(() => draft.add({ type: 'content_block_delta', index: 0, delta: { type: 'new_delta' } })).toThrow(
      /upgrade/,
    )
    expect(() =>
      draft.add({ type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: '' } }),
    ).toThrow(/not begun/)
  })

  it('that broke off has its completed blocks and the beginning of a text, and nothing else', () => {
    const events = [
      start(),
      ...block(0, { type: 'thinking', thinking: '' }, { type: 'signature_delta', signature: 's' }),
      stop(0),
      ...block(1, text(''), { type: 'text_delta', text: 'On' }),
    ]
    expect(drafted(...events).partial()).toMatchObject({
      content: [{ type: 'thinking' }, text('On')],
      origin: { stopReason: null },
    })
    expect(drafted(...events, stop(1), ...block(2, call, json('{"pa'))).partial()?.content).toHaveLength(2)
    expect(drafted(start(), ...block(0, { type: 'thinking', thinking: 'Hm' })).partial()).toBe(undefined)
    expect(drafted(start(), ...block(0, text(''))).partial()).toBe(undefined)
  })
})
