import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { openAiModel, type OpenAiOptions } from '../../../src/agent/models/openai/model.ts'
import type { Manners } from '../../../src/testing/chat-completions/body.ts'
import type { ChatReply } from '../../../src/testing/chat-completions/replies.ts'
import { chatCompletions } from '../../../src/testing/chat-completions/server.ts'
import { atEnd } from '../../support/at-end.ts'
import { left, right } from '../../support/either.ts'

const question = [{ role: 'user', content: [{ type: 'text', text: 'Hi.' }] }] as const
const asking = { model: 'local', messages: question, parameters: {} }

/** An endpoint that differs from OpenAI's own, and a client of it. */
const endpoint = async (manners: Manners, said: ChatReply, options?: OpenAiOptions) => {
  const api = await chatCompletions({ reply: () => said, models: { local: manners } })
  atEnd(api.close)
  return { api, model: openAiModel(new OpenAI({ baseURL: api.url, apiKey: 'any' }), options) }
}

/** A server that answers every request with this text. */
const answering = async (text: string, type?: string) => {
  const server = createServer((_, response) => {
    if (type !== undefined) response.setHeader('content-type', type)
    response.end(text)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEnd(async () => {
    server.close()
    await once(server, 'close')
  })
  const { port } = server.address() as AddressInfo
  return openAiModel(new OpenAI({ baseURL: `http://127.0.0.1:${port}/v1`, apiKey: 'any' }))
}

const twoCalls: ChatReply = {
  content: 'Both.',
  tool_calls: [
    { name: 'read', arguments: { n: 0 } },
    { name: 'read', arguments: { n: 1 } },
  ],
}
const bothCalled = [
  { type: 'text', text: 'Both.' },
  { type: 'tool_use', name: 'read', input: { n: 0 } },
  { type: 'tool_use', name: 'read', input: { n: 1 } },
]

describe('parallel calls of real endpoints are as many calls', () => {
  const manners: readonly Manners[] = [
    { calls: 'same-index' },
    { calls: 'same-id' },
    { calls: 'bare' },
    { ignoresStream: true },
    { ignoresStream: true, calls: 'same-id' },
    { hasParts: true },
  ]
  it.each(manners)('%o', async (manner) => {
    const { model } = await endpoint(manner, { ...twoCalls, finish_reason: 'eos' })
    const { content, origin } = right(await model.call(asking))
    expect(content).toMatchObject(bothCalled)
    expect(new Set(content.map(({ id }) => id)).size).toBe(3)
    expect(origin.stopReason).toBe('tool_use')
  })

  it('an endpoint that numbers its calls anew in each reply gives each call of a conversation its own id', async () => {
    const { model } = await endpoint({ calls: 'same-id' }, { tool_calls: [{ name: 'read' }] })
    const first = right(await model.call(asking)).content
    const id = String(first[0]?.['id'])
    const answer = { type: 'tool_result', tool_use_id: id, content: 'So.' } as const
    const messages = [
      ...question,
      { role: 'assistant', content: first } as const,
      { role: 'user', content: [answer] } as const,
    ]
    const second = right(await model.call({ ...asking, messages })).content
    expect(second).toMatchObject([{ type: 'tool_use', name: 'read' }])
    expect(second[0]?.['id']).not.toBe(id)
  })
})

describe('a server that ignores `stream`', () => {
  it('answers in one piece, which is read as a stream would be', async () => {
    const said: ChatReply = { content: 'Hello.', reasoning: 'Hm.' }
    const manner = { reasoning: 'reasoning_content' } as const
    const servers = await Promise.all(
      [false, true].map((ignoresStream) => endpoint({ ...manner, ignoresStream }, said)),
    )
    const types: string[] = []
    const [one, other] = await Promise.all(
      servers.map(async ({ model }) =>
        right(await model.call(asking, { onEvent: ({ type }) => types.push(type) })),
      ),
    )
    expect(other?.content).toMatchObject([
      { type: 'thinking', thinking: 'Hm.' },
      { type: 'text', text: 'Hello.' },
    ])
    expect(other?.origin.stopReason).toBe('end_turn')
    expect(other?.origin.usage).toEqual(one?.origin.usage)
    expect(types.filter((type) => type === 'message_stop').length).toBe(2)
  })

  const completion = (finish: unknown, content: unknown = 'Yes.') =>
    JSON.stringify({
      id: 'x',
      model: 'm',
      choices: [{ message: { role: 'assistant', content }, finish_reason: finish }],
    })

  it.each([
    ['no type, and white space first', `\n ${completion('stop')}`, undefined],
    ['no reason', completion(null), 'application/json'],
    ['content in parts', completion('stop', [{ type: 'text', text: 'Yes.' }]), 'application/json'],
    [
      'a stream that is called JSON',
      `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta: { content: 'Yes.' }, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`,
      'application/json',
    ],
  ])('whatever it says of itself: %s', async (_, text, type) => {
    const { content, origin } = right(await (await answering(text, type)).call(asking))
    expect(content).toMatchObject([{ type: 'text', text: 'Yes.' }])
    expect(origin.stopReason).toBe('end_turn')
  })

  it('half an answer is none, and worth a retry; an error in its place is told', async () => {
    const half = await answering(completion('stop').slice(0, 40), 'application/json')
    expect(left(await half.call(asking))).toMatchObject({ _tag: 'ModelFailed', retryable: true })
    const error = { error: { message: 'No such model.', type: 'not_found_error' } }
    const refusing = await answering(JSON.stringify(error), 'application/json')
    expect(left(await refusing.call(asking))).toMatchObject({
      _tag: 'ModelFailed',
      retryable: false,
      type: 'not_found_error',
    })
    const other = await answering('{"status":"ok"}', 'application/json')
    expect(left(await other.call(asking)).message).toContain('it has no choices')
    expect(left(await (await answering('', 'application/json')).call(asking))._tag).toBe('ModelFailed')
  })
})
