// Checkpoints of LangGraph (`@langchain/langgraph`) as conversations of a store. docs/frameworks.md.

import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { RunnableConfig } from '@langchain/core/runnables'
import {
  BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointPendingWrite,
  type CheckpointTuple,
  compareWritesSortKeys,
  maxChannelVersion,
  type PendingWrite,
  TASKS,
  WRITES_IDX_MAP,
  writesSortKey,
} from '@langchain/langgraph-checkpoint'
import type { Store } from '../api/promises.ts'
import { staleContext } from '../commands/rejections.ts'
import { inOrder } from '../conversation/writing/in-order.ts'
import { invalidInput } from '../events/errors.ts'
import { type Fields, isFields } from '../events/json.ts'
import { toError } from '../result/typed-error.ts'
import { checkedOptions, checkStore } from '../store/given.ts'
import { createLruCache } from '../store/lru.ts'
import { oneOf } from '../store/options.ts'
import { isLangChainMessage, type LangChainMessage } from './langchain-messages.ts'
import { isFrom, type MessageIds, type MessageNode } from './langgraph-messages.ts'
import { type GraphThread, graphThread, mostInNote } from './langgraph-thread.ts'
import { untilCurrent } from './shared-chats.ts'

/** A checkpointer of LangGraph that keeps its threads in a store. */
export interface CheckpointSaver extends BaseCheckpointSaver {
  /**
   * Forgets checkpoints of threads, and erases what only they hold: all but the newest checkpoint of each namespace (`keep_latest`, the
   * default), or everything (`delete`, as `deleteThread`). The messages of the conversation stay with `keep_latest`. Rejects with
   * `CannotErase` where the store cannot erase: then the checkpoints are forgotten, but their content is still stored.
   */
  readonly prune: (
    threadIds: readonly string[],
    options?: { readonly strategy?: 'keep_latest' | 'delete' | undefined },
  ) => Promise<void>
}

/**
 * Returns the id of the conversation that has the messages and the checkpoints of a thread. Characters that ids of conversations cannot
 * have are escaped, and long names are shortened to a part and their hash.
 *
 * @param namespace namespace of a subgraph. Default: the graph itself
 *
 * @example
 * import { conversationIdOf } from 'palimpsest/langgraph'
 *
 * const id = conversationIdOf('user 1')
 */
export const conversationIdOf = (threadId: string, namespace = ''): string => {
  if (textIn(threadId) === undefined) throw toError(invalidInput('threadId', 'must be a non-empty string'))
  return `${prefix}${partOf(threadId)}${namespace === '' ? '' : `:${partOf(namespace)}`}`
}

const prefix = 'langgraph:'
const partOf = (name: string): string => {
  const escaped = name.replaceAll(/[^\w-]/gu, (character) => `.${character.codePointAt(0)?.toString(16)}.`)
  return escaped.length <= 90 ? escaped : `${escaped.slice(0, 40)}..${hash('sha256', name).slice(0, 32)}`
}

/**
 * Creates a checkpointer of LangGraph: `graph.compile({ checkpointer: checkpointSaver(store) })` keeps its threads in the store. The
 * channel `messages` is a conversation that can be read and searched; each message is stored once for all
 * checkpoints. The methods reject with the errors of the store, with `StaleContext` if other processes write without a pause, and with
 * `InvalidInput` for a config without `thread_id` or a value that no event can hold.
 *
 * @example
 * import { openStore } from 'palimpsest'
 * import { checkpointSaver } from 'palimpsest/langgraph'
 *
 * const store = await openStore('sqlite:conversations.db')
 * const saver = checkpointSaver(store)
 * console.log(await saver.getTuple({ configurable: { thread_id: 'user-1' } }))
 * await store.close()
 */
export const checkpointSaver = (store: Store): CheckpointSaver => new StoreSaver(store)

/** Number of threads whose messages are kept in memory between calls. */
const mostThreads = 100
const mostAttempts = 100

class StoreSaver extends BaseCheckpointSaver implements CheckpointSaver {
  readonly #store: Store
  readonly #threads = createLruCache<GraphThread>(mostThreads)
  readonly #queue = inOrder()
  readonly #waiting = new Map<string, Change[]>()

  constructor(store: Store) {
    super()
    checkStore(store, ['conversation', 'conversations'])
    this.#store = store
  }

  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const { thread_id: threadId, checkpoint_id: wanted } = config.configurable ?? {}
    if (threadId === undefined) return undefined
    const place = placeOf(config)
    return this.#withThread(conversationIdOf(place.threadId, place.namespace), async (thread) => {
      const id = textIn(wanted) ?? thread.newest()
      return id === undefined ? undefined : this.#tupleOf(thread, id)
    })
  }

  override async *list(
    config: RunnableConfig,
    { before, limit = Infinity, filter = {} }: CheckpointListOptions = {},
  ): AsyncGenerator<CheckpointTuple> {
    const { thread_id: threadId, checkpoint_ns: namespace, checkpoint_id: only } = config.configurable ?? {}
    const end = textIn(before?.configurable?.['checkpoint_id'])
    let left = limit
    for await (const conversation of this.#conversations(textIn(threadId), textIn(namespace, true))) {
      const ids = await this.#withThread(conversation, async (thread) => thread.ids())
      for (const id of ids) {
        if (left <= 0) return
        if ((only && id !== only) || (end !== undefined && id >= end)) continue
        const tuple = await this.#withThread(conversation, async (thread) =>
          this.#tupleOf(thread, id, filter),
        )
        if (!tuple) continue
        left -= 1
        yield tuple
      }
    }
  }

  override async put(
    config: RunnableConfig,
    { id, channel_values: given, ...checkpoint }: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    const { threadId, namespace, checkpointId: parent } = placeOf(config)
    const conversation = conversationIdOf(threadId, namespace)
    await this.#changed(conversation, async (thread) => {
      const before = parent === undefined ? undefined : thread.checkpoint(parent)
      const versions: Fields = checkpoint.channel_versions
      const kept: Record<string, unknown> = {}
      const changes: Record<string, unknown> = {}
      for (const [channel, value] of Object.entries(given)) {
        const version = versions[channel]
        const isSame =
          before !== undefined && (before.checkpoint['channel_versions'] as Fields)[channel] === version
        if (channel in newVersions) changes[channel] = value
        else if (version === undefined) continue
        else if (isSame && channel in before.values) kept[channel] = before.values[channel]
        else if (thread.hasVersion(channel, version)) changes[channel] = value
      }
      const [values, ...rest] = (await this.#jsonOf([changes, checkpoint, metadata])) as [
        Fields,
        Fields,
        unknown,
      ]
      const list = values['messages']
      const ids: MessageIds = {}
      let last =
        parent === undefined ? thread.messages.root : (thread.lastOf(parent) ?? thread.messages.newest())
      const held = kept['messages']
      if (isFields(held) && typeof held['list'] === 'number')
        last = thread.messages.nodeAt(held['list']) ?? last
      if (isMessages(list)) {
        last = await placed(thread, list, ids)
        kept['messages'] = { lc: 3, list: last.position }
      }
      const input = isFields(values['__start__']) ? values['__start__']['messages'] : undefined
      last = await appended(thread, last, input)
      // Its tasks may have written before it.
      const pending = thread.lastOf(id)
      if (pending && isFrom(pending, last)) last = pending
      await thread.messages.show(last)
      for (const [channel, value] of Object.entries(values))
        if (channel !== 'messages' || !isMessages(list)) kept[channel] = await thread.pack(value)
      const record = {
        id,
        thread: threadId,
        namespace,
        parent,
        checkpoint: rest[0],
        metadata: rest[1],
        values: kept,
      }
      thread.record({ ...record, ids, last: last.position })
    })
    return configOf(threadId, namespace, id)
  }

  override async putWrites(
    config: RunnableConfig,
    writes: PendingWrite[],
    taskId: string,
    taskPath = '',
  ): Promise<void> {
    const { threadId, namespace, checkpointId: id } = placeOf(config)
    if (id === undefined) throw missing('checkpoint_id')
    await this.#changed(conversationIdOf(threadId, namespace), async (thread) => {
      let last = thread.lastOf(id) ?? thread.messages.newest()
      const packed: [number, string, unknown][] = []
      const values = (await this.#jsonOf(writes.map(([, value]) => value))) as readonly unknown[]
      for (const [index, [channel]] of writes.entries())
        if (channel === 'messages') last = await appended(thread, last, values[index])
      if (!thread.messages.exists()) await thread.messages.show(last)
      for (const [index, [channel]] of writes.entries())
        packed.push([WRITES_IDX_MAP[channel] ?? index, channel, await thread.pack(values[index])])
      thread.record({ of: id, task: taskId, path: taskPath, writes: packed, last: last.position })
    })
  }

  override async deleteThread(threadId: string): Promise<void> {
    await this.prune([threadId], { strategy: 'delete' })
  }

  async prune(
    threadIds: readonly string[],
    options?: { readonly strategy?: 'keep_latest' | 'delete' | undefined },
  ): Promise<void> {
    const { strategy = 'keep_latest' } = checkedOptions(options, {
      strategy: oneOf(['keep_latest', 'delete']),
    })
    if (!Array.isArray(threadIds) || threadIds.some((threadId) => textIn(threadId) === undefined))
      throw toError(invalidInput('threadIds', 'must be a list of non-empty strings'))
    for (const threadId of threadIds)
      for await (const conversation of this.#conversations(threadId, undefined))
        for (let attempt = 1; attempt <= mostAttempts; attempt += 1) {
          const isDone = await this.#withThread(conversation, (thread) =>
            thread.forget(strategy === 'delete' ? undefined : thread.newest()),
          )
          if (isDone) break
          this.#threads.forget(conversation)
        }
  }

  async #tupleOf(thread: GraphThread, id: string, filter: Fields = {}): Promise<CheckpointTuple | undefined> {
    const record = thread.checkpoint(id)
    if (!record) return undefined
    const { thread: threadId, namespace, parent, checkpoint, values } = record
    const metadata = (await this.#valueOf(JSON.stringify(record.metadata))) as Fields
    if (!Object.entries(filter).every(([key, value]) => isDeepStrictEqual(metadata[key], value)))
      return undefined
    const texts: string[] = []
    for (const [channel, value] of Object.entries(values))
      texts.push(`${JSON.stringify(channel)}:${await thread.textOf(value)}`)
    const found = {
      ...((await this.#valueOf(JSON.stringify(checkpoint))) as Omit<Checkpoint, 'id'>),
      id,
      channel_values: (await this.#valueOf(`{${texts.join()}}`)) as Record<string, unknown>,
    }
    if (found.v < 4 && parent !== undefined) {
      // Before version 4, LangGraph kept what was sent to tasks with the checkpoint before.
      const sent = (await this.#writesOf(thread, parent)).filter(([, channel]) => channel === TASKS)
      found.channel_values[TASKS] = sent.map(([, , value]) => value)
      const others = Object.values(found.channel_versions)
      found.channel_versions[TASKS] =
        others.length > 0 ? maxChannelVersion(...others) : this.getNextVersion(undefined)
    }
    return {
      config: configOf(threadId, namespace, id),
      checkpoint: found,
      metadata: metadata as unknown as CheckpointMetadata,
      pendingWrites: await this.#writesOf(thread, id),
      ...(parent !== undefined && { parentConfig: configOf(threadId, namespace, parent) }),
    }
  }

  /** Returns the writes of a checkpoint in LangGraph's order: the first write of a task at an index, and its last error. */
  async #writesOf(thread: GraphThread, id: string): Promise<CheckpointPendingWrite[]> {
    const found = new Map<string, { readonly key: ReturnType<typeof writesSortKey>; readonly write: Write }>()
    for (const { task, path, writes } of thread.writes(id))
      for (const [index, channel, value] of writes) {
        const name = JSON.stringify([task, index])
        if (index >= 0 && found.has(name)) continue
        found.set(name, { key: writesSortKey(path, task, index), write: [task, channel, value] })
      }
    const sorted = [...found.values()].toSorted((a, b) => compareWritesSortKeys(a.key, b.key))
    const writes: CheckpointPendingWrite[] = []
    for (const { write } of sorted)
      writes.push([write[0], write[1], await this.#valueOf(await thread.textOf(write[2]))])
    return writes
  }

  async #jsonOf(value: unknown): Promise<unknown> {
    const [, bytes] = await this.serde.dumpsTyped(value)
    return JSON.parse(Buffer.from(bytes).toString())
  }

  #valueOf(json: string): Promise<unknown> {
    return this.serde.loadsTyped('json', json)
  }

  /** Yields the ids of the conversations of a thread, or of all threads. */
  async *#conversations(
    threadId: string | undefined,
    namespace: string | undefined,
  ): AsyncGenerator<string, void> {
    if (threadId !== undefined && namespace !== undefined) return yield conversationIdOf(threadId, namespace)
    const beginning = threadId === undefined ? prefix : conversationIdOf(threadId)
    for await (const { id } of this.#store.conversations({ beginning })) {
      const [, thread, inside] = id.split(':')
      if (threadId !== undefined && thread !== partOf(threadId)) continue
      if (namespace === undefined || inside === (namespace === '' ? undefined : partOf(namespace))) yield id
    }
  }

  /** Runs work on the present state of a thread, one after the other. */
  #withThread<A>(conversation: string, work: (thread: GraphThread) => Promise<A>): Promise<A> {
    return this.#queue(conversation, async (done) => {
      try {
        return await work(await this.#current(conversation))
      } finally {
        done()
      }
    })
  }

  async #current(conversation: string): Promise<GraphThread> {
    const known = this.#threads.get(conversation)
    await known?.update()
    if (known && !known.messages.isErased() && !known.messages.isFork()) return known
    const thread = graphThread(this.#store.conversation(conversation))
    this.#threads.set(conversation, thread)
    await thread.update()
    return thread
  }

  /**
   * Runs a change of a thread. The records of changes that are requested at the same time are noted together: LangGraph does not wait
   * for a checkpoint before it writes what the tasks after it do.
   */
  #changed(conversation: string, run: Change['run']): Promise<void> {
    return new Promise((resolve, reject) => {
      const change: Change = { run, resolve, reject }
      const waiting = this.#waiting.get(conversation)
      if (waiting) waiting.push(change)
      else {
        this.#waiting.set(conversation, [change])
        setImmediate(() => void this.#runChanges(conversation))
      }
    })
  }

  #runChanges(conversation: string): Promise<void> {
    return this.#queue(conversation, async (done) => {
      const waiting = this.#waiting.get(conversation) ?? []
      const changes = waiting.splice(0, mostInNote)
      if (waiting.length === 0) this.#waiting.delete(conversation)
      else setImmediate(() => void this.#runChanges(conversation))
      try {
        const failed = await this.#noteChanges(conversation, changes)
        for (const change of changes)
          if (failed.has(change)) change.reject(failed.get(change))
          else change.resolve()
      } catch (error) {
        this.#threads.forget(conversation)
        for (const { reject } of changes) reject(error)
      } finally {
        done()
      }
    })
  }

  /** Runs changes and notes their records. Returns the errors of those that failed. */
  async #noteChanges(
    conversation: string,
    changes: readonly Change[],
  ): Promise<ReadonlyMap<Change, unknown>> {
    for (let attempt = 1; ; attempt += 1) {
      const thread = await this.#current(conversation)
      const failed = new Map<Change, unknown>()
      for (const change of changes)
        try {
          await untilCurrent('StaleContext', () => change.run(thread), thread.update)
        } catch (error) {
          failed.set(change, error)
        }
      if (await thread.flush()) return failed
      this.#threads.forget(conversation)
      if (attempt < mostAttempts) continue
      const last = await this.#store.conversation(conversation).position()
      throw toError(staleContext(conversation, thread.messages.newest().position, last))
    }
  }
}

/** A change of a thread that waits for its turn. */
interface Change {
  readonly run: (thread: GraphThread) => Promise<void>
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

type Write = readonly [task: string, channel: string, value: unknown]

const isMessages = (value: unknown): value is readonly LangChainMessage[] =>
  Array.isArray(value) && value.every(isLangChainMessage)

/** Finds a list of messages in the conversation, and appends the missing ones. Returns the last one. */
const placed = async (
  { messages }: GraphThread,
  list: readonly LangChainMessage[],
  ids: MessageIds,
): Promise<MessageNode> => {
  const { node, missing, ids: named } = messages.place(list)
  Object.assign(ids, named)
  if (missing.length === 0) return node
  const added = await messages.append(node, missing)
  for (const [index, { position }] of added.entries())
    if (missing[index]?.kwargs['id'] === undefined) ids[position] = null
  return added.at(-1) ?? node
}

/** Appends the messages of a value that the conversation does not have, after a message. Returns the last one. */
const appended = async (
  { messages }: GraphThread,
  last: MessageNode,
  value: unknown,
): Promise<MessageNode> => {
  const unknown = (Array.isArray(value) ? value : [value])
    .filter(isLangChainMessage)
    .filter((message) => !messages.find(message))
  return unknown.length === 0 ? last : ((await messages.append(last, unknown)).at(-1) ?? last)
}

const configOf = (threadId: string, namespace: string, id: string) => ({
  configurable: { thread_id: threadId, checkpoint_ns: namespace, checkpoint_id: id },
})

const textIn = (value: unknown, isEmptyAllowed = false): string | undefined =>
  typeof value === 'string' && (isEmptyAllowed || value !== '') ? value : undefined

const missing = (name: string) =>
  toError(invalidInput(`configurable.${name}`, 'must be a non-empty string: pass it in the config'))

const placeOf = ({ configurable = {} }: RunnableConfig) => {
  const threadId = textIn(configurable['thread_id'])
  if (threadId === undefined) throw missing('thread_id')
  return {
    threadId,
    namespace: textIn(configurable['checkpoint_ns']) ?? '',
    checkpointId: textIn(configurable['checkpoint_id']),
  }
}
