import assert from 'node:assert/strict'
import type { ReplyEvent } from '../../agent/models/model.ts'
import { call, long, type ModelCase, replyOf, requestTo, textOf, contentOfEvents } from './support.ts'

/** Contract rules for replies and for the events of their streams. */
export const replies: readonly ModelCase[] = [
  {
    title: 'a reply is blocks, with the model that answered, why it stopped, and its tokens',
    run: async (scene) => {
      scene.answers({ text: long })
      const { content, origin } = await replyOf(call(scene))
      assert.deepEqual(
        content.map(({ type }) => type),
        ['text'],
      )
      assert.equal(textOf(content), long)
      assert.ok(origin.model !== undefined && origin.requestId !== undefined)
      assert.equal(origin.stopReason, 'end_turn')
      const { input_tokens: input, output_tokens: output } = origin.usage ?? {}
      assert.ok(Number(input) >= 0 && Number(output) > 0, JSON.stringify(origin.usage))
    },
  },
  {
    title: 'a call of a tool is a tool_use with an id, a name and its input; each has another id',
    run: async (scene) => {
      const calls = [{ path: 'a.ts' }, { path: 'b.ts' }].map((input) => ({ name: 'read_file', input }))
      scene.answers({ text: 'I read both.', calls })
      const { content, origin } = await replyOf(call(scene))
      assert.equal(origin.stopReason, 'tool_use')
      const uses = content.filter(({ type }) => type === 'tool_use')
      assert.deepEqual(
        uses.map(({ name, input }) => ({ name, input })),
        calls,
      )
      assert.equal(new Set(uses.map(({ id }) => id)).size, 2)
    },
  },
  {
    title: 'the results of its calls may be sent with the next request',
    run: async (scene) => {
      scene.answers({ calls: [{ name: 'read_file', input: { path: 'a.ts' } }] }, { text: 'Line 80.' })
      const { content } = await replyOf(call(scene))
      const use = content.find((block) => block.type === 'tool_use')
      assert.ok(use)
      const { messages } = requestTo(scene)
      const result = { type: 'tool_result', tool_use_id: use.id, content: 'let s = "' } as const
      const next = requestTo(scene, [
        ...messages,
        { role: 'assistant', content },
        { role: 'user', content: [result] },
      ])
      assert.equal(textOf((await replyOf(call(scene, {}, next))).content), 'Line 80.')
    },
  },
  {
    title: 'arguments that are no JSON object become the input as it is, so that the model can be told',
    run: async (scene) => {
      scene.answers({ calls: [{ name: 'read_file', input: '{"path": "a.t' }] })
      const { content } = await replyOf(call(scene))
      assert.deepEqual(
        content.map(({ type, input }) => ({ type, input })),
        [{ type: 'tool_use', input: '{"path": "a.t' }],
      )
    },
  },
  {
    title: 'a reply that stops at its limit says max_tokens',
    run: async (scene) => {
      scene.answers({ text: long, isCut: true })
      const { content, origin } = await replyOf(call(scene))
      assert.equal(origin.stopReason, 'max_tokens')
      assert.ok(long.startsWith(textOf(content)))
    },
  },
  {
    title:
      'the events are those of the Messages API: a beginning, each block from its start to its stop, an end',
    run: async (scene) => {
      scene.answers({ text: long, calls: [{ name: 'read_file', input: { path: 'a.ts' } }] })
      const events: ReplyEvent[] = []
      const { content } = await replyOf(call(scene, { onEvent: (event) => events.push(event) }))
      const types = events.map(({ type }) => type).filter((type) => type !== 'ping')
      assert.equal(types[0], 'message_start')
      assert.deepEqual(types.slice(-2), ['message_delta', 'message_stop'])
      const open = new Set<unknown>()
      for (const { type, index } of events) {
        if (type === 'content_block_start') open.add(index)
        if (type === 'content_block_delta') assert.ok(open.has(index), 'a delta outside of its block')
        if (type === 'content_block_stop')
          assert.ok(open.delete(index), 'the stop of a block that is not open')
      }
      assert.equal(open.size, 0)
      const [text = '', input = ''] = contentOfEvents(events)
      assert.equal(text, textOf(content))
      assert.deepEqual(JSON.parse(input), { path: 'a.ts' })
      assert.ok(events.filter(({ type }) => type === 'content_block_delta').length > 2, 'it comes in parts')
    },
  },
  {
    title: 'a call is one request, and leaves what it is given as it is',
    run: async (scene) => {
      scene.answers({ text: long }, { refuses: 'overloaded' }, { text: 'It was asked again.' })
      const request = requestTo(scene)
      const before = structuredClone(request)
      await replyOf(call(scene, {}, request))
      await call(scene, {}, request)
      assert.deepEqual(request, before)
      assert.equal(scene.received(), 2)
    },
  },
  {
    title: 'counting tokens gives their number, or an error that no retry helps against',
    run: async (scene) => {
      const counted = await scene.model.countTokens(requestTo(scene))
      if (counted._tag === 'Right') assert.ok(Number.isInteger(counted.right) && counted.right > 0)
      else assert.ok(!('retryable' in counted.left && counted.left.retryable), counted.left.message)
    },
  },
]
