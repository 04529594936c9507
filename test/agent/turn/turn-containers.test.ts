import { describe, expect, it } from 'vitest'
import { anthropicModel } from '../../../src/agent/models/anthropic/model.ts'
import type { TurnOptions } from '../../../src/agent/turn/options.ts'
import { text } from '../../support/log.ts'
import type { ApiReply } from '../../../src/testing/messages-api/replies.ts'
import { type Said, scene as sceneOf, type Scene, task, yes } from '../../support/turn-scene.ts'

const later = '2999-01-01T00:00:00Z'
const named = (id: string, more: object = {}): ApiReply => ({
  content: [text(id)],
  message: { container: { id, expires_at: later, skills: null, ...more } },
})
const refused: Said = (body) =>
  body['container'] === undefined
    ? yes
    : {
        status: 400,
        type: 'invalid_request_error',
        message: `container: \`${JSON.stringify(body['container'])}\` was not found or has expired`,
      }

/** The containers that the requests of one turn after another named. */
const sent = ({ api }: Scene): readonly unknown[] => api.requests.map(({ body }) => body?.['container'])
const turns = async ({ chat, turn }: Scene, count: number, options: Partial<TurnOptions> = {}) => {
  for (let done = 0; done < count; done++) {
    await turn(options)
    await chat.append(task)
  }
}
/** Every receipt holds, and every call shows the container that it was sent with. */
const proven = async ({ chat, api }: Scene) => {
  const { receipts, findings } = await chat.verifyReceipts()
  expect(findings).toEqual([])
  const accepted = api.requests.filter(({ status }) => status === 200)
  expect(receipts).toBe(accepted.length)
  for (const [index, { body }] of accepted.entries()) {
    const { request, isSame } = await chat.sent(index + 1)
    expect(isSame).toBe(true)
    expect(request.parameters['container']).toEqual(body?.['container'])
  }
}

describe('of a reply’s message', () => {
  it('every field is kept, unknown ones included', async () => {
    const details = { type: 'refusal', category: null }
    const { chat, turn } = await sceneOf([
      {
        ...yes,
        message: {
          stop_sequence: '###',
          stop_details: details,
          diagnostics: { a: [1] },
          new_in_2027: { b: 2 },
        },
      },
    ])
    await turn()
    expect((await chat.effective())[1]).toMatchObject({
      origin: {
        message: {
          id: expect.stringMatching(/^msg_/),
          stop_sequence: '###',
          stop_details: details,
          diagnostics: { a: [1] },
          new_in_2027: { b: 2 },
        },
      },
    })
  })

  it('what is null is left out, and what the origin holds elsewhere', async () => {
    const { chat, turn } = await sceneOf([yes])
    await turn()
    expect((await chat.effective())[1]).toHaveProperty('origin.message', {
      id: expect.stringMatching(/^msg_/) as string,
    })
  })
})

describe('the container that the newest reply on the path names', () => {
  it('is sent again, and stays the newest where replies name none', async () => {
    const playing = await sceneOf([named('c1'), yes, named('c2'), yes])
    await turns(playing, 4)
    expect(sent(playing)).toEqual([undefined, 'c1', 'c1', 'c2'])
    await proven(playing)
  })

  it('is another after a rewind, and in a fork that begins before it', async () => {
    const playing = await sceneOf([named('c1'), named('c2'), yes, yes])
    const { chat, client } = playing
    await turns(playing, 2)
    await chat.rewind({ turns: 2 })
    await chat.append(task)
    await turns(playing, 1)
    const fork = await chat.fork('f', { at: 1 })
    await fork.turn({ client, model: 'claude-opus-5-5' })
    expect(sent(playing)).toEqual([undefined, 'c1', 'c1', undefined])
    expect(await fork.verifyReceipts()).toMatchObject({ findings: [] })
  })

  it('is known where its reply is hidden, however deep, and where it is shown again', async () => {
    const playing = await sceneOf([named('c1'), yes])
    const { chat } = playing
    await turns(playing, 2)
    const { position } = await chat.condense({ covers: { first: 2, last: 4 }, summary: 'They talked.' })
    await turns(playing, 1)
    const truncated = await chat.truncate({ covers: { first: position, last: position } })
    await turns(playing, 1)
    await chat.restore({ marker: truncated.position })
    await turns(playing, 1)
    await chat.restore({ marker: position })
    await turns(playing, 1)
    expect(sent(playing)).toEqual([undefined, 'c1', 'c1', 'c1', 'c1', 'c1'])
    await proven(playing)
  })

  it('is not sent once it has expired', async () => {
    const playing = await sceneOf([named('c1', { expires_at: '2020-01-01T00:00:00Z' }), yes])
    await turns(playing, 2)
    expect(sent(playing)).toEqual([undefined, undefined])
    expect((await playing.chat.sent(2)).receipt.options).toMatchObject({
      container: { id: 'c1', left: 'expired' },
    })
    await proven(playing)
  })

  it('is left out where the API refuses it, which is recorded, and not tried again', async () => {
    const playing = await sceneOf([named('c1'), refused])
    await turns(playing, 3)
    expect(sent(playing)).toEqual([undefined, 'c1', undefined, undefined])
    const reply = (await playing.chat.effective()).find(
      (item) => item.kind === 'message' && item.origin?.failed !== undefined,
    )
    expect(reply).toMatchObject({
      origin: {
        failed: [{ error: 'ModelFailed', status: 400 }],
        context: { options: { container: { id: 'c1', left: 'refused' } } },
      },
    })
    await proven(playing)
  })

  it('goes with the skills that the parameters ask for, and not where they name one', async () => {
    const skills = [{ type: 'anthropic', skill_id: 'pdf' }]
    const playing = await sceneOf([named('c1'), yes])
    await turns(playing, 2, { parameters: { container: { skills } } })
    await turns(playing, 1, { parameters: { container: 'mine' } })
    await turns(playing, 1, { parameters: { container: { id: 'mine', skills } } })
    expect(sent(playing)).toEqual([{ skills }, { id: 'c1', skills }, 'mine', { id: 'mine', skills }])
    await proven(playing)
  })

  it('is a finding where a receipt names another', async () => {
    const playing = await sceneOf([named('c1'), yes])
    await turns(playing, 2)
    const { receipt } = await playing.chat.sent(2)
    const options = { ...receipt.options, container: { id: 'c9' } }
    await playing.chat.rewind({ to: receipt.position })
    await playing.chat.append({
      role: 'assistant',
      content: 'Yes.',
      origin: { context: { ...receipt, options } },
    })
    expect((await playing.chat.verifyReceipts()).findings).toMatchObject([
      {
        call: 3,
        kind: 'container',
        message: 'the receipt names the container c9; the newest on the path is c1',
      },
    ])
  })
})

describe('what is sent along is recorded, and shown', () => {
  it('the beta features of replies', async () => {
    const { chat, client, turn, api } = await sceneOf([yes])
    await turn({ client: anthropicModel(client, { betas: ['context-1m-2025-08-07'] }) })
    expect(api.requests[0]?.headers['anthropic-beta']).toBe('context-1m-2025-08-07')
    expect(await chat.sent()).toMatchObject({ betas: ['context-1m-2025-08-07'], isSame: true })
    expect(await chat.verifyReceipts()).toMatchObject({ receipts: 1, findings: [] })
  })

  it('model, max_tokens, tool_choice and beta features of every request for a summary', async () => {
    const playing = await sceneOf([{ content: [text('They talked.')] }])
    const { chat, client, turn, api } = playing
    for (let call = 0; call < 14; call++)
      await chat.append([
        { role: 'assistant', content: [{ type: 'tool_use', id: `t${call}`, name: 'read', input: {} }] },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: `t${call}`, content: 'word '.repeat(180) }],
        },
      ])
    await turn({
      client: anthropicModel(client, { betas: ['b1'] }),
      context: { window: 3_000, reserved: 500 },
      parameters: { max_tokens: 500 },
      summarizer: { model: 'claude-sonnet-5-5', window: 2_500, maxTokens: 300 },
    })
    const calls = []
    for await (const call of chat.calls()) calls.push(call)
    expect(calls.filter(({ kind }) => kind === 'summary').length).toBeGreaterThan(1)
    expect(calls).toHaveLength(api.requests.length)
    for (const [index, { body }] of api.requests.entries()) {
      const { request, betas, isSame } = await chat.sent(index + 1)
      const { stream: _, ...asked } = body ?? {}
      const { parameters, ...rest } = request
      expect(isSame).toBe(true)
      expect({ ...parameters, ...rest }).toEqual(asked)
      expect(betas).toEqual(['b1'])
    }
  })
})

describe('a model’s reply without a receipt', () => {
  const origin = { model: 'm', usage: { input_tokens: 1 } }
  const unproven = { role: 'assistant', content: 'Yes.', origin } as const

  it('is a finding among replies with receipts', async () => {
    const { chat, turn } = await sceneOf([yes])
    await turn()
    const { position } = await chat.append([task, unproven])
    expect(await chat.verifyReceipts()).toMatchObject({
      receipts: 1,
      findings: [{ kind: 'missing', position }],
    })
  })

  it('is not there before the first of them, nor if no model said it', async () => {
    const { chat, turn } = await sceneOf([yes])
    await chat.append([unproven, task])
    await turn()
    await chat.append([task, { role: 'assistant', content: 'Yes.' }])
    expect(await chat.verifyReceipts()).toMatchObject({ receipts: 1, findings: [] })
  })
})
