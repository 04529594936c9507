import type { AgentInputItem, SessionHistoryTransaction } from '@openai/agents-core'
import { Agent, MemorySession, type Model, protocol, Runner, tool, Usage } from '@openai/agents-core'
import { z } from 'zod'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { agentsSession } from '../../src/frameworks/openai-agents.ts'
import { messageOf, itemsOf } from '../../src/frameworks/agent-items.ts'
import { openStore, type Store } from '../../src/index.ts'
import { atEnd } from '../support/at-end.ts'
import { runs } from '../support/runs.ts'

const text = fc.string({ maxLength: 20 })
const id = fc.constantFrom('call_1', 'call_2', 'call_3')
const told = fc.oneof(
  fc.record({ type: fc.constant('input_text'), text, providerData: fc.dictionary(text, fc.jsonValue()) }),
  fc.record({ type: fc.constant('input_image'), image: text }),
)
const answered = fc.oneof(
  fc.record({ type: fc.constant('output_text'), text }),
  fc.record({ type: fc.constant('refusal'), refusal: text }),
)
const output = fc.oneof(
  text,
  fc.record({ type: fc.constant('text'), text }),
  fc.array(told, { maxLength: 3 }),
)
const item = fc.oneof(
  fc.record({ role: fc.constant('user'), content: fc.oneof(text, fc.array(told, { maxLength: 3 })) }),
  fc.record({ role: fc.constant('system'), content: text }),
  fc.record({
    type: fc.constant('message'),
    id: text,
    role: fc.constant('assistant'),
    status: fc.constantFrom('completed', 'incomplete'),
    content: fc.array(answered, { maxLength: 3 }),
  }),
  fc.record({
    type: fc.constant('function_call'),
    callId: id,
    name: fc.constantFrom('grep', 'read'),
    arguments: fc.oneof(
      fc.json(),
      fc.constantFrom('', '{ "a" : 1 }', '{"a":1}', '{"a":1e3}', '{"__proto__":1}'),
    ),
    status: fc.constant('completed'),
  }),
  fc.record({
    type: fc.constant('function_call_result'),
    name: fc.constant('grep'),
    callId: id,
    status: fc.constant('completed'),
    output,
  }),
  fc.record({
    type: fc.constant('reasoning'),
    content: fc.array(fc.record({ type: fc.constant('input_text'), text }), { maxLength: 2 }),
    providerData: fc.record({ encrypted_content: text }),
  }),
  fc.record({ type: fc.constant('compaction'), encrypted_content: text }),
  fc.record({ type: fc.constant('unknown'), providerData: fc.dictionary(text, fc.jsonValue()) }),
) as fc.Arbitrary<AgentInputItem>
/** Items that the SDK's own session accepts in a transaction. */
const valid = item.filter((each) => protocol.ModelItem.safeParse(each).success)
const items = fc.array(valid, { maxLength: 4 })

type Operation =
  | { readonly kind: 'add' | 'compact'; readonly items: AgentInputItem[] }
  | { readonly kind: 'get'; readonly limit: number | undefined }
  | { readonly kind: 'pop' | 'clear' | 'reopen' }
  | { readonly kind: 'replace'; readonly callId: string; readonly item: AgentInputItem }
  | {
      readonly kind: 'transaction'
      readonly operation: string
      readonly last: number
      readonly items: AgentInputItem[]
    }
const operation = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('add'), items }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('get'), limit: fc.option(fc.nat(5), { nil: undefined }) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('pop') }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('clear', 'reopen') }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('compact'),
      items: fc.array(valid, { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('replace'),
      callId: id,
      item: valid.filter(({ type }) => type === 'function_call'),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('transaction'),
      operation: fc.constantFrom('one', 'two', 'three', 'four'),
      last: fc.nat(3),
      items,
    }),
  },
) as fc.Arbitrary<Operation>

describe('a session of the OpenAI Agents SDK', () => {
  test('keeps every item as it is', () => {
    fc.assert(
      fc.property(item, (given) => {
        const { content, ...message } = messageOf(given)
        if (typeof content === 'string') throw new Error('blocks')
        expect(itemsOf(JSON.parse(JSON.stringify({ ...message, content })))).toEqual([
          JSON.parse(JSON.stringify(given)),
        ])
      }),
    )
  })

  test('does what a MemorySession does, whatever is done to it, also when it is opened again', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 30 }), async (operations) => {
        const store = await openStore('memory:')
        let ours = agentsSession(store, 'session')
        const memory = new MemorySession({ sessionId: 'session' })
        for (const step of operations) {
          switch (step.kind) {
            case 'add':
              await Promise.all([ours.addItems(step.items), memory.addItems(step.items)])
              break
            case 'get':
              expect(await ours.getItems(step.limit)).toEqual(plain(await memory.getItems(step.limit)))
              break
            case 'pop':
              expect(await ours.popItem()).toEqual(plain(await memory.popItem()))
              break
            case 'clear':
              await ours.clearSession()
              // An empty session has nothing to forget: ours then keeps the ids of its transactions.
              if ((await memory.getItems()).length > 0) await memory.clearSession()
              break
            case 'reopen':
              ours = agentsSession(store, 'session')
              break
            case 'compact': {
              await ours.replaceHistoryWithCompaction(step.items)
              while (await memory.popItem());
              await memory.addItems(step.items)
              break
            }
            case 'replace': {
              const mutations = [
                {
                  type: 'replace_function_call' as const,
                  callId: step.callId,
                  replacement: step.item as never,
                },
              ]
              await Promise.all([
                ours.applyHistoryMutations({ mutations }),
                memory.applyHistoryMutations({ mutations }),
              ])
              break
            }
            case 'transaction': {
              const all = plain(await memory.getItems()) ?? []
              const transaction: SessionHistoryTransaction =
                step.last === 0
                  ? { type: 'append_items', items: step.items }
                  : { type: 'replace_suffix', expectedSuffix: all.slice(-step.last), replacement: step.items }
              // Of what changes nothing there is no event by which another session could know it.
              if (step.items.length === 0 && (step.last === 0 || all.length === 0)) break
              const change = { operationId: step.operation, transaction }
              const [one, other] = await Promise.allSettled([
                ours.applyHistoryTransaction(change),
                memory.applyHistoryTransaction(change),
              ])
              expect(one.status).toBe(other.status)
              break
            }
          }
          expect(await ours.getItems()).toEqual(plain(await memory.getItems()))
        }
        await store.close()
      }),
      { numRuns: runs(1_000) },
    )
  })

  test('is what the model sees, in the next process, after a rewind, and in place of what a summary covers', async () => {
    const store = await openStore('memory:')
    atEnd(store.close)
    const chat = store.conversation('task')
    const { run, inputs } = agentOn(store, 'task')
    await run('Read line 1.')
    await run('Thanks.')
    expect(inputs.map((input) => input.length)).toEqual([1, 3, 5])
    await chat.rewind({ turns: 1 })
    await run('And why?')
    expect(inputs.at(-1)).toEqual([...(inputs[2] ?? []).slice(0, 4), says('And why?')])
    await chat.condense({ covers: { first: 0, last: 3 }, summary: 'Line 1 was read: x = 1.' })
    await run('Go on.')
    expect(inputs.at(-1)?.slice(0, 1)).toEqual([{ role: 'user', content: 'Line 1 was read: x = 1.' }])
    expect(await chat.full({ abandoned: true })).toHaveLength(11)
  })

  test('gives messages of others as items', async () => {
    const store = await openStore('memory:')
    atEnd(store.close)
    await store.conversation('task').append([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'I look.' },
          { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 1 } },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'A cat.' }] },
    ])
    const session = agentsSession(store, 'task')
    const all = await session.getItems()
    expect(all).toEqual([
      { role: 'user', content: 'What is this?' },
      { role: 'user', content: [{ type: 'input_image', image: 'data:image/png;base64,AAAA' }] },
      { role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'I look.' }] },
      { type: 'function_call', callId: 'toolu_1', name: 'look', arguments: '{"at":1}' },
      { type: 'function_call_result', callId: 'toolu_1', output: 'A cat.' },
    ])
    for (let left = all.length; left > 0; left -= 1) {
      expect(await session.popItem()).toEqual(all[left - 1])
      expect(await session.getItems()).toEqual(all.slice(0, left - 1))
    }
  })

  test('loses nothing when several processes write to it', async () => {
    const store = await openStore('memory:')
    atEnd(store.close)
    const sessions = ['a', 'b', 'c'].map((name) => ({ name, session: agentsSession(store, 'shared') }))
    await Promise.all(
      sessions.flatMap(({ name, session }) =>
        Array.from({ length: 10 }, async (_, index) => {
          await session.applyHistoryTransaction({
            operationId: `${name}${index}`,
            transaction: { type: 'append_items', items: [says(`${name}${index}`), says('gone')] },
          })
        }),
      ),
    )
    const said = await agentsSession(store, 'shared').getItems()
    expect(said).toHaveLength(60)
    expect(new Set(said.map((each) => JSON.stringify(each))).size).toBe(31)
  })

  test('refuses what is not JSON, and writes nothing of it', async () => {
    const store = await openStore('memory:')
    atEnd(store.close)
    const session = agentsSession(store, 'task')
    const bytes = { role: 'user', content: [{ type: 'input_image', image: new Uint8Array(1) }] }
    await expect(session.addItems([says('Look.'), bytes as unknown as AgentInputItem])).rejects.toMatchObject(
      {
        _tag: 'InvalidInput',
        path: 'items[1].content[0].image',
      },
    )
    expect(await session.getItems()).toEqual([])
  })
})

const says = (content: string): AgentInputItem => ({ type: 'message', role: 'user', content })

/** An agent of the SDK whose model calls the tool when it is asked to read, and answers otherwise. */
const agentOn = (store: Store, sessionId: string) => {
  const inputs: AgentInputItem[][] = []
  const model: Model = {
    getResponse: async ({ input }) => {
      if (typeof input === 'string') throw new Error('items')
      inputs.push(structuredClone(input))
      const call = inputs.length
      const isAsked = JSON.stringify(input.at(-1)).includes('Read')
      return {
        usage: new Usage({ requests: 1, inputTokens: 10, outputTokens: 5, totalTokens: 15 }),
        responseId: `resp_${call}`,
        output: isAsked
          ? [
              {
                type: 'function_call',
                callId: `call_${call}`,
                name: 'read',
                arguments: '{"line":1}',
                status: 'completed',
              },
            ]
          : [
              {
                type: 'message',
                role: 'assistant',
                status: 'completed',
                content: [{ type: 'output_text', text: `Answer ${call}.` }],
              },
            ],
      }
    },
    getStreamedResponse: () => {
      throw new Error('not asked for')
    },
  }
  const read = tool({
    name: 'read',
    description: 'Reads a line.',
    parameters: z.object({ line: z.number() }),
    execute: () => 'x = 1',
  })
  const agent = new Agent({ name: 'Helper', model, tools: [read] })
  const runner = new Runner({ tracingDisabled: true })
  const run = (prompt: string) => runner.run(agent, prompt, { session: agentsSession(store, sessionId) })
  return { run, inputs }
}

const plain = <A>(value: A): A => (value === undefined ? value : JSON.parse(JSON.stringify(value)))
