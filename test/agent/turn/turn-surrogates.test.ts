import { describe, expect, it } from 'vitest'
import { text } from '../../support/log.ts'
import { scene, task, yes } from '../../support/turn-scene.ts'

// JSON can hold half a character, and the API takes none.

const half = 'a\ud83d'
const whole = 'a\ufffd'
const tools = [{ name: 'read', description: half, input_schema: { type: 'object', [half]: half } }]
const models = { [whole]: {} }

describe('half a character in what a turn is given is replaced', () => {
  it.each<readonly [string, object, object]>([
    ['the system prompt', { system: half }, { system: [{ text: whole }] }],
    ['a block of the system prompt', { system: [text(half)] }, { system: [{ text: whole }] }],
    ['a tool', { tools }, { tools: [{ description: whole, input_schema: { [whole]: whole } }] }],
    ['the model', { model: half }, { model: whole }],
    ['a parameter', { parameters: { metadata: { user_id: half } } }, { metadata: { user_id: whole } }],
  ])('in %s, also where it is configured so already', async (_, given, sent) => {
    const { chat, turn, api } = await scene([yes], { models })
    await turn(given)
    await chat.configure(given)
    await chat.append(task)
    await turn(given)
    expect(api.requests.map(({ status }) => status)).toEqual([200, 200])
    for (const { body } of api.requests) expect(body).toMatchObject(sent)
    expect(await chat.verifyReceipts()).toMatchObject({ receipts: 2, findings: [] })
  })

  it('in the settings of a summary', async () => {
    const { chat, turn, api } = await scene([{ content: [text('They talked.')] }, yes], { models })
    for (let turns = 0; turns < 12; turns++)
      await chat.append([{ role: 'assistant', content: 'word '.repeat(200) }, task])
    await turn({
      context: { window: 3_000, reserved: 500 },
      parameters: { max_tokens: 500 },
      summarizer: { model: half, instructions: half },
    })
    expect(new Set(api.requests.map(({ status }) => status))).toEqual(new Set([200]))
    expect(api.requests[0]?.body?.model).toBe(whole)
    const receipts = api.requests.length
    expect(await chat.verifyReceipts()).toMatchObject({ receipts, findings: [] })
  })
})
