import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Block, isBlock } from '../../src/events/blocks.ts'
import type { MessageInput } from '../../src/index.ts'
import { text, toolResult, toolUse } from '../support/log.ts'
import { runs } from '../support/runs.ts'
import { scene, yes } from '../support/turn-scene.ts'

// Results and other blocks in one message are the standard form of the API; and several programs may write to a conversation.

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const image: Block = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } }
const calls = ['a', 'b', 'c'] as const
const tools = calls.map((name) => ({ name, input_schema: { type: 'object' } }))
const result = (call: string): Block => toolResult(call, `result of ${call}`)

const user = (...content: readonly Block[]): MessageInput => ({ role: 'user', content })
const ways = ['append', 'interrupt', 'enqueue'] as const

/** The results of the calls, each once, in any order and with anything between them; and how they are brought. */
const answers = fc
  .record({
    order: fc.shuffledSubarray([...calls], { minLength: 1 }),
    again: fc.array(fc.constantFrom(...calls), { maxLength: 2 }),
    others: fc.array(fc.constantFrom('text', 'image', 'system'), { maxLength: 4 }),
    places: fc.infiniteStream(fc.nat()),
    cuts: fc.infiniteStream(fc.boolean()),
    how: fc.infiniteStream(fc.constantFrom(...ways)),
  })
  .map(({ order, again, others, places, cuts, how }) => {
    const brought = [...order, ...again.filter((call) => order.includes(call))]
    const blocks: (Block | 'system')[] = brought.map(result)
    for (const [n, other] of others.entries()) {
      const block = other === 'text' ? text(`word-${n}.`) : other === 'image' ? image : 'system'
      blocks.splice((places.next().value ?? 0) % (blocks.length + 1), 0, block)
    }
    const messages: Block[][] = []
    const said: (readonly [(typeof ways)[number], MessageInput])[] = []
    const close = (): void => {
      const content = messages.pop()
      if (content) said.push([how.next().value ?? 'append', user(...content)])
    }
    for (const block of blocks)
      if (block === 'system') {
        close()
        said.push(['append', { role: 'system', content: 'Be brief.' }])
      } else {
        if (cuts.next().value) close()
        if (messages.length === 0) messages.push([])
        messages.at(-1)?.push(block)
      }
    close()
    return { order, said }
  })

const isOnlyResults = ({ content }: MessageInput): boolean =>
  Array.isArray(content) && content.every(({ type }) => type === 'tool_result')

describe('results that come after the model has replied past their calls', () => {
  it('reach the model once, as text, in any order and split', () =>
    fc.assert(
      fc.asyncProperty(answers, fc.nat(3), async ({ order, said }, from) => {
        const { api, chat, turn } = await scene([
          { content: calls.map((call) => ({ ...toolUse(call), name: call })) },
          yes,
          yes,
        ])
        await turn({ tools })
        const early = said.slice(0, from)
        for (const [, message] of [...early, ['append', user(text('Never mind.'))] as const])
          await chat.append(message)
        await turn({ tools })
        const late = said.slice(from)
        for (const [, message] of [...late, ['append', user(text('Well?'))] as const])
          await chat.append(message)
        await turn({ tools })
        expect(api.requests.map(({ status }) => status)).toEqual([200, 200, 200])
        const sent = JSON.stringify(api.requests[2]?.body?.messages)
        for (const call of order) expect(sent.split(`result of ${call}`)).toHaveLength(2)
        expect(await chat.verifyReceipts()).toMatchObject({ findings: [] })
      }),
      { numRuns: runs(60) },
    ))
})

describe('whatever stands beside the results of calls that were handed back, or wait for an approval', () => {
  const approved = { run: () => 'it ran', approve: true }

  it.each([
    ['handed back', {}],
    ['waiting for an approval', { a: approved, b: approved, c: approved }],
  ])('the model gets each of them once: %s', (_, run) =>
    fc.assert(
      fc.asyncProperty(answers, fc.boolean(), async ({ order, said }, isMixed) => {
        const { api, chat, turn } = await scene([
          { content: calls.map((call) => ({ ...toolUse(call), name: call })) },
          yes,
        ])
        await turn({ tools, run })
        for (const [how, message] of said)
          if (how === 'append' || message.role === 'system' || isOnlyResults(message))
            await chat.append(message)
          else await chat.say(message, { whileBusy: how })
        if (isMixed) await chat.configure({ system: 'Rule.' })
        await turn({ tools, run })
        if (api.requests.length === 1) {
          // What was queued comes once nothing else is waited for.
          const left = (await chat.waiting()).map(({ call }) => call)
          const queued = JSON.stringify(await chat.queued())
          const isOpen = (call: string): boolean => !order.some((other) => other === call)
          expect(left.filter(isOpen)).toEqual(calls.filter(isOpen))
          expect(left.filter(isOpen)).not.toEqual([])
          for (const call of left) expect(isOpen(call) || queued.includes(`result of ${call}`)).toBe(true)
          return
        }
        expect(api.requests.map(({ status }) => status)).toEqual([200, 200])
        const sent = (api.requests[1]?.body?.messages ?? []).flatMap(({ content }) =>
          Array.isArray(content) ? content : [],
        )
        const results = sent.filter((block) => isBlock(block as Block, 'tool_result'))
        for (const call of calls) {
          const its = results.filter((block) => (block as Block)['tool_use_id'] === call)
          expect(its).toHaveLength(1)
          if (order.includes(call)) expect(JSON.stringify(its)).toContain(`result of ${call}`)
        }
        for (const [, { content }] of said)
          for (const block of Array.isArray(content) ? content : [])
            if (isBlock(block, 'text')) expect(JSON.stringify(sent).split(block.text)).toHaveLength(2)
        expect(await chat.waiting()).toEqual([])
        expect(await chat.queued()).toEqual([])
        expect(await chat.verifyReceipts()).toMatchObject({ findings: [] })
      }),
      { numRuns: runs(70) },
    ),
  )
})
