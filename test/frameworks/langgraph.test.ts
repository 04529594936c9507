import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from '@langchain/core/messages'
import {
  Command,
  END,
  interrupt,
  MemorySaver,
  MessagesValue,
  START,
  StateGraph,
  StateSchema,
} from '@langchain/langgraph'
import {
  type BaseCheckpointSaver,
  type Checkpoint,
  type CheckpointTuple,
  emptyCheckpoint,
  JsonPlusSerializer,
  uuid6,
} from '@langchain/langgraph-checkpoint'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isLangChainMessage, langChainMessageOf, messageOf } from '../../src/frameworks/langchain-messages.ts'
import { checkpointSaver, conversationIdOf } from '../../src/frameworks/langgraph.ts'
import { openStore } from '../../src/index.ts'
import { node, program } from '../support/node.ts'
import { runs } from '../support/runs.ts'
import { opened, temporaryFolder } from '../support/stores.ts'

const text = fc.string({ maxLength: 20 })
const id = fc.option(fc.constantFrom('m-1', 'm-2', 'm-3', 'm-4', 'm-5'), { nil: undefined })
const part = fc.oneof(
  fc.record({ type: fc.constant('text'), text }),
  fc.record({ type: fc.constant('image_url'), image_url: fc.record({ url: text }) }),
)
const content = fc.oneof(text, fc.array(part, { maxLength: 3 }))
const call = fc.record({
  name: fc.constantFrom('grep', ''),
  args: fc.dictionary(fc.constantFrom('a', 'input', 'type'), fc.integer()),
  id: fc.option(fc.constantFrom('call-1', ''), { nil: undefined }),
})
const extra = fc.dictionary(fc.constantFrom('a', 'class', 'parts'), fc.integer(), { maxKeys: 2 })
type Fields = ConstructorParameters<typeof AIMessage>[0]
const message: fc.Arbitrary<BaseMessage> = fc.oneof(
  fc.record({ content, id, additional_kwargs: extra }).map((fields) => new HumanMessage(fields as never)),
  fc.record({ content, id }).map((fields) => new SystemMessage(fields as never)),
  fc
    .record({ content, id, tool_calls: fc.array(call, { maxLength: 2 }), response_metadata: extra })
    .map((fields) => new AIMessage(fields as Fields)),
  fc
    .record({ content, id, tool_call_id: fc.constantFrom('call-1', ''), name: text })
    .map((fields) => new ToolMessage(fields as never)),
)

const serde = new JsonPlusSerializer()
const plain = async (value: unknown): Promise<unknown> => {
  const [, bytes] = await serde.dumpsTyped(value)
  return JSON.parse(Buffer.from(bytes).toString())
}

describe('messages of LangChain', () => {
  test('come back as they are', async () => {
    await fc.assert(
      fc.asyncProperty(message, async (given) => {
        const serialized = await plain(given)
        if (!isLangChainMessage(serialized)) throw new Error('a message')
        const stored = JSON.parse(JSON.stringify(messageOf(serialized)))
        expect(langChainMessageOf(stored)).toEqual(serialized)
      }),
    )
  })
})

type Operation =
  | {
      readonly kind: 'put'
      readonly parent: number
      readonly drop: number
      readonly messages: readonly BaseMessage[]
      readonly value: unknown
      readonly number: number
    }
  | {
      readonly kind: 'write'
      readonly to: number
      readonly task: number
      readonly channel: string
      readonly messages: readonly BaseMessage[]
    }
  | { readonly kind: 'reopen' | 'delete' | 'list' }
const index = fc.nat(40)
const messages = fc.array(message, { maxLength: 3 })
const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('put'),
      parent: index,
      drop: fc.nat(2),
      messages,
      value: fc.oneof(
        fc.jsonValue(),
        fc.constant('long '.repeat(100)),
        fc.constant({ lc: 3, at: 0, sha256: 'x' }),
      ),
      number: index,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('write'),
      to: index,
      task: fc.nat(2),
      channel: fc.constantFrom('messages', 'other', '__error__'),
      messages,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('reopen', 'delete', 'list') }) },
)

const thread = { configurable: { thread_id: 'a thread', checkpoint_ns: '' } }
const collected = async (saver: BaseCheckpointSaver): Promise<unknown> => {
  const all: CheckpointTuple[] = []
  for await (const tuple of saver.list(thread)) all.push(tuple)
  return plain(all)
}

describe('a checkpointer of LangGraph', () => {
  test('behaves like a MemorySaver, also when it is opened again', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 15 }), async (operations) => {
        const store = await openStore('memory:')
        let ours: BaseCheckpointSaver = checkpointSaver(store)
        let memory = new MemorySaver()
        let lists = new Map<string, readonly BaseMessage[]>()
        let count = 0
        const chosen = (at: number) => [...lists.keys()][at % (lists.size + 1)]
        const configOf = (checkpoint: string | undefined) => ({
          configurable: {
            ...thread.configurable,
            ...(checkpoint !== undefined && { checkpoint_id: checkpoint }),
          },
        })
        for (const step of operations) {
          if (step.kind === 'put') {
            const parent = chosen(step.parent)
            count += 1
            const list = [...(lists.get(parent ?? '')?.slice(step.drop) ?? []), ...step.messages]
            const checkpoint: Checkpoint = {
              ...emptyCheckpoint(),
              id: `${String(step.number).padStart(3, '0')}-${step.number % 3}`,
              channel_values: { messages: list, other: step.value, __start__: { messages: step.messages } },
              channel_versions: { messages: count, other: count, __start__: count },
            }
            lists.set(checkpoint.id, list)
            const metadata = { source: 'loop', step: count, parents: {} } as const
            for (const saver of [ours, memory])
              await saver.put(configOf(parent), checkpoint, metadata, checkpoint.channel_versions)
          } else if (step.kind === 'write') {
            const to = chosen(step.to)
            if (to !== undefined)
              for (const saver of [ours, memory])
                await saver.putWrites(
                  configOf(to),
                  [
                    [step.channel, step.messages],
                    ['other', { inner: step.messages }],
                  ],
                  `task-${step.task}`,
                  `path-${step.task % 2}`,
                )
          } else if (step.kind === 'reopen') ours = checkpointSaver(store)
          else if (step.kind === 'delete') {
            await ours.deleteThread('a thread')
            memory = new MemorySaver()
            lists = new Map()
          } else expect(await collected(ours)).toEqual(await collected(memory))
          expect(await plain(await ours.getTuple(thread))).toEqual(await plain(await memory.getTuple(thread)))
        }
        expect(await collected(ours)).toEqual(await collected(memory))
        expect(await collected(checkpointSaver(store))).toEqual(await collected(memory))
        await store.close()
      }),
      { numRuns: runs(300) },
    )
  })

  const agent = (checkpointer: BaseCheckpointSaver) =>
    new StateGraph(new StateSchema({ messages: MessagesValue }))
      .addNode('ask', () => ({ messages: [new AIMessage('May I delete line 60?')] }))
      .addNode('act', () => {
        const answer: string = interrupt('May I?')
        return { messages: [new AIMessage(answer === 'yes' ? 'Deleted.' : 'Kept.')] }
      })
      .addEdge(START, 'ask')
      .addEdge('ask', 'act')
      .addEdge('act', END)
      .compile({ checkpointer })
  const said = ({ messages: all }: { readonly messages: readonly BaseMessage[] }) =>
    all.map(({ content: one }) => one)

  test('lets a graph be interrupted, resumed by another process, and forked from its past', async () => {
    const url = `sqlite:${join(temporaryFolder(), 'store.db')}`
    const config = { configurable: { thread_id: 'user@example.org' } }
    const first = await openStore(url)
    const stopped = await agent(checkpointSaver(first)).invoke(
      { messages: [new HumanMessage('Fix the parser.')] },
      config,
    )
    expect(stopped).toHaveProperty('__interrupt__')
    await first.close()

    const store = await opened(url)
    const graph = agent(checkpointSaver(store))
    const done = await graph.invoke(new Command({ resume: 'yes' }), config)
    expect(said(done)).toEqual(['Fix the parser.', 'May I delete line 60?', 'Deleted.'])

    const chat = store.conversation(conversationIdOf('user@example.org'))
    const shown = (await chat.effective()).map((item) => (item.kind === 'message' ? item.content : item))
    expect(shown).toEqual(said(done).map((one) => [{ type: 'text', text: one }]))
    expect((await chat.search('line 60')).items).toHaveLength(1)

    const past = []
    for await (const state of graph.getStateHistory(config)) past.push(state)
    const before = past.find(({ next }) => next[0] === 'act')
    if (!before) throw new Error('the graph stopped before act')
    const other = await graph.updateState(before.config, { messages: [new HumanMessage('Wait.')] }, 'ask')
    await graph.invoke(null, other)
    const forked = await graph.invoke(new Command({ resume: 'no' }), config)
    expect(said(forked)).toEqual(['Fix the parser.', 'May I delete line 60?', 'Wait.', 'Kept.'])
    expect(said((await graph.getState(config)).values)).toEqual(said(forked))
    expect(said((await graph.getState(past[0]?.config ?? config)).values)).toEqual(said(done))
    const branches = await chat.full({ abandoned: true })
    expect(branches.map((entry) => ('status' in entry ? entry.status : undefined))).toContain('abandoned')
    expect(await chat.verify()).toMatchObject({ events: (await chat.position()) + 1 })
  })

  test('keeps apart the namespaces of a thread, and finds all of them', async () => {
    const store = await opened('memory:')
    const saver = checkpointSaver(store)
    const long = `sub:${'x'.repeat(300)}`
    const metadata = { source: 'loop', step: 0, parents: {} } as const
    for (const namespace of ['', 'sub:1|inner:2', long])
      await saver.put(
        { configurable: { thread_id: '1', checkpoint_ns: namespace } },
        { ...emptyCheckpoint(), id: `in ${namespace}` },
        metadata,
        {},
      )
    await saver.put({ configurable: { thread_id: '10' } }, emptyCheckpoint(), metadata, {})
    const namespaces: string[] = []
    for await (const { config } of saver.list({ configurable: { thread_id: '1' } }))
      namespaces.push(String(config.configurable?.['checkpoint_ns']))
    expect(namespaces.toSorted()).toEqual(['', 'sub:1|inner:2', long].toSorted())
    await saver.deleteThread('1')
    expect(await saver.getTuple({ configurable: { thread_id: '1', checkpoint_ns: long } })).toBeUndefined()
    expect(await saver.getTuple({ configurable: { thread_id: '10' } })).toBeDefined()
  })

  const putOne = async (
    saver: BaseCheckpointSaver,
    step: number,
    given: Record<string, unknown>,
    parent?: string,
    threadId = 't',
  ) => {
    const versions = Object.fromEntries(Object.keys(given).map((channel) => [channel, step]))
    const checkpoint = {
      ...emptyCheckpoint(),
      id: uuid6(step),
      channel_values: given,
      channel_versions: versions,
    }
    const config = {
      configurable: { thread_id: threadId, ...(parent !== undefined && { checkpoint_id: parent }) },
    }
    await saver.put(config, checkpoint, { source: 'loop', step, parents: {} }, versions)
    return checkpoint.id
  }

  test('erases the content of a deleted thread, and of what is pruned, and keeps the newest checkpoint', async () => {
    const store = await opened('memory:')
    const saver = checkpointSaver(store)
    const kept = [new HumanMessage('a question')]
    const first = await putOne(saver, 1, { messages: kept, other: `pruned ${'x'.repeat(500)}` })
    const values = { messages: kept, other: `kept ${'y'.repeat(500)}`, flag: true }
    const second = await putOne(saver, 2, values, first)
    await saver.putWrites(
      { configurable: { thread_id: 't', checkpoint_id: second, checkpoint_ns: '' } },
      [['other', ['z'.repeat(500), ...kept]]],
      'task',
    )
    const before = await plain(await saver.getTuple({ configurable: { thread_id: 't' } }))
    await saver.prune(['t'])
    const { configurable } = { configurable: { thread_id: 't' } }
    for (const each of [saver, checkpointSaver(store)]) {
      expect(await plain(await each.getTuple({ configurable }))).toEqual(before)
      expect(await each.getTuple({ configurable: { ...configurable, checkpoint_id: first } })).toBeUndefined()
    }
    await putOne(saver, 3, values, second)

    await saver.deleteThread('t')
    const chat = store.conversation(conversationIdOf('t'))
    expect(JSON.stringify(await chat.full())).not.toContain('a question')
    for (const { kind, data } of await chat.notes())
      if (kind !== 'langgraph/forgotten') expect(data).toBeUndefined()
    for (const each of [saver, checkpointSaver(store)]) {
      expect(await each.getTuple({ configurable })).toBeUndefined()
    }
    const again = await putOne(saver, 4, { messages: [new HumanMessage('new')] })
    const found = await checkpointSaver(store).getTuple({ configurable })
    expect(found?.checkpoint.id).toBe(again)
    expect(await plain(found?.checkpoint.channel_values)).toEqual(
      await plain({ messages: [new HumanMessage('new')] }),
    )
  })

  test('deletes a thread in which a call waits for its result', async () => {
    const store = await opened('memory:')
    const saver = checkpointSaver(store)
    const asked = new AIMessage({
      content: '',
      tool_calls: [{ id: 'c', name: 'delete_line', args: { line: 60 } }],
    })
    await putOne(saver, 1, { messages: [new HumanMessage('Delete line 60.'), asked] })
    await saver.deleteThread('t')
    expect(await saver.getTuple({ configurable: { thread_id: 't' } })).toBeUndefined()
    const left = JSON.stringify(await store.conversation(conversationIdOf('t')).full())
    expect(left).not.toMatch(/Delete line|"line":/)
  })

  test('keeps a message that is put again after its thread was deleted, also by another process', async () => {
    const store = await opened('memory:')
    const [one, other] = [checkpointSaver(store), checkpointSaver(store)]
    const values = { messages: [new HumanMessage({ id: 'm', content: 'a question' })] }
    await putOne(one, 1, values)
    await putOne(other, 2, values)
    await one.deleteThread('t')
    for (const [added, saver] of [one, other, checkpointSaver(store)].entries()) {
      await putOne(saver, 3 + added, values)
      const found = await checkpointSaver(store).getTuple({ configurable: { thread_id: 't' } })
      expect(await plain(found?.checkpoint.channel_values)).toEqual(await plain(values))
    }
  })

  test('keeps a message that is put again in a fork after its parent was erased', async () => {
    const store = await opened('memory:')
    const values = { messages: [new HumanMessage({ id: 'm', content: 'a question' })] }
    await putOne(checkpointSaver(store), 1, values)
    const parent = store.conversation(conversationIdOf('t'))
    await parent.fork(conversationIdOf('fork'))
    const saver = checkpointSaver(store)
    await putOne(saver, 2, values, undefined, 'fork')
    await parent.erase({})
    await putOne(saver, 3, values, undefined, 'fork')
    const found = await checkpointSaver(store).getTuple({ configurable: { thread_id: 'fork' } })
    expect(await plain(found?.checkpoint.channel_values)).toEqual(await plain(values))
  })

  test('stores a message and a large value once for all checkpoints', async () => {
    const store = await opened('memory:')
    const saver = checkpointSaver(store)
    const list = [new HumanMessage('the only one')]
    let parent: string | undefined
    for (let step = 1; step <= 20; step += 1)
      parent = await putOne(
        saver,
        step,
        { messages: [...list], other: 'v'.repeat(1_000), copy: { list } },
        parent,
      )
    const chat = store.conversation(conversationIdOf('t'))
    expect(await chat.position()).toBe(0)
    const notes = await chat.notes()
    expect(notes.filter(({ kind }) => kind === 'langgraph/value')).toHaveLength(1)
    expect(notes.slice(-10).every(({ data }) => JSON.stringify(data).length < 300)).toBe(true)
  })

  test('refuses an incomplete config, and writes nothing', async () => {
    const store = await opened('memory:')
    const saver = checkpointSaver(store)
    const metadata = { source: 'loop', step: 0, parents: {} } as const
    await expect(
      saver.put({ configurable: { thread_id: 7 } }, emptyCheckpoint(), metadata, {}),
    ).rejects.toMatchObject({
      _tag: 'InvalidInput',
      path: 'configurable.thread_id',
    })
    await expect(
      saver.putWrites({ configurable: { thread_id: 't' } }, [['a', 1]], 'task'),
    ).rejects.toMatchObject({
      _tag: 'InvalidInput',
      path: 'configurable.checkpoint_id',
    })
    await expect(saver.prune([''])).rejects.toMatchObject({ _tag: 'InvalidInput' })
    for await (const { id: found } of store.conversations()) expect(found).toBe('none')
  })

  test('two processes may write to one thread: every checkpoint comes back unchanged', async () => {
    const url = `sqlite:${join(temporaryFolder(), 'store.db')}`
    const savers = [checkpointSaver(await opened(url)), checkpointSaver(await opened(url))]
    const root = await putOne(savers[0] as BaseCheckpointSaver, 1, { messages: [new HumanMessage('same')] })
    const put = new Map<string, unknown>()
    await Promise.all(
      savers.map(async (saver, which) => {
        let parent = root
        const list: BaseMessage[] = [new HumanMessage({ content: 'same', id: `id of ${which}` })]
        for (let step = 2; step < 12; step += 1) {
          list.push(new AIMessage({ content: step % 2 ? 'both' : `${which} says ${step}` }))
          parent = await putOne(saver, step, { messages: [...list] }, parent)
          put.set(parent, await plain(list))
        }
      }),
    )
    for (const saver of [...savers, checkpointSaver(await opened(url))])
      for (const [checkpoint, list] of put) {
        const tuple = await saver.getTuple({ configurable: { thread_id: 't', checkpoint_id: checkpoint } })
        expect(await plain(tuple?.checkpoint.channel_values['messages'])).toEqual(list)
      }
  })

  test('loses nothing that it has acknowledged when the process is killed', async () => {
    const url = `sqlite:${join(temporaryFolder(), 'store.db')}`
    for (let round = 0; round < runs(10); round += 1) {
      const child = spawn(node, [program('frameworks/children/putter.ts'), url, `thread ${round}`], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const acknowledged = new Map<string, number>()
      for await (const line of createInterface({ input: child.stdout })) {
        const [checkpoint = '', count] = line.split(' ')
        acknowledged.set(checkpoint, Number(count))
        if (acknowledged.size === 3 + round) child.kill('SIGKILL')
      }
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      const store = await openStore(url)
      const saver = checkpointSaver(store)
      expect(acknowledged.size).toBeGreaterThanOrEqual(3)
      for (const [checkpoint, count] of acknowledged) {
        const configurable = { thread_id: `thread ${round}`, checkpoint_id: checkpoint }
        const tuple = await saver.getTuple({ configurable })
        expect(tuple?.checkpoint.channel_values['messages']).toHaveLength(count)
        expect(tuple?.pendingWrites).toHaveLength(1)
      }
      await store.close()
    }
  })
})

describe('notes', () => {
  test('are read by their revisions, without those of the conversation that a fork came from', async () => {
    const store = await opened('memory:')
    const chat = store.conversation('c')
    await chat.append({ role: 'user', content: 'Hello.' })
    for (const data of [0, 1, 2, 3]) await chat.note({ kind: data % 2 ? 'my/odd' : 'my/even', data })
    const numbers = async (...given: Parameters<typeof chat.notes>) =>
      (await chat.notes(...given)).map(({ data }) => data)
    expect(await numbers({ from: 1 })).toEqual([1, 2, 3])
    expect(await numbers({ from: 1, limit: 2 })).toEqual([1, 2])
    expect(await numbers({ from: 0, kind: 'my/even', last: 1 })).toEqual([2])
    expect(await numbers({ from: 4 })).toEqual([])
    await expect(chat.notes({ from: 0, limit: 0 })).rejects.toMatchObject({
      _tag: 'InvalidInput',
      path: 'limit',
    })
    const fork = await chat.fork('f')
    expect(await fork.notes()).toHaveLength(4)
    expect(await fork.notes({ from: 0 })).toEqual([])
  })
})
