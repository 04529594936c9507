// Sessions of the OpenAI Agents SDK (`@openai/agents`) as conversations of a store. docs/frameworks.md.

import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import canonicalize from 'canonicalize'
import type {
  AgentInputItem,
  Session,
  SessionHistoryMutation,
  SessionHistoryTransaction,
} from '@openai/agents-core'
import { isError } from '../api/errors.ts'
import type { Conversation, Store } from '../api/promises.ts'
import { inOrder } from '../conversation/writing/in-order.ts'
import { invalidInput } from '../events/errors.ts'
import { START } from '../events/events.ts'
import { toError } from '../result/typed-error.ts'
import { checkStore } from '../store/given.ts'
import { itemsOf, messageOf } from './agent-items.ts'
import { type MessageHistory, readHistory, replaceMessages } from './message-history.ts'
import { jsonListOf, jsonOf, untilCurrent } from './shared-chats.ts'

/** A conversation as a session of the Agents SDK, with all that the SDK lets a session offer besides. */
export interface AgentsSession extends Session {
  readonly replaceHistoryWithCompaction: (items: AgentInputItem[]) => Promise<void>
  readonly applyHistoryMutations: (change: { mutations: SessionHistoryMutation[] }) => Promise<void>
  readonly applyHistoryTransaction: (change: {
    operationId: string
    transaction: SessionHistoryTransaction
  }) => Promise<void>
}

/** An item of the history, the message that it is part of, by its index, and the position of the event that shows it. */
interface PlacedItem {
  readonly item: AgentInputItem
  readonly message: number
  readonly position: number
}

interface ItemHistory extends MessageHistory {
  readonly items: readonly PlacedItem[]
}

/**
 * Opens a conversation as a session of the OpenAI Agents SDK: `run(agent, input, { session })` keeps its history in the store. Each item
 * is a message that can be read, searched and measured. Nothing is lost: a removal is a rewind, a compaction a `Condensed`.
 * The agent sees what others do to the conversation, such as a rewind or a summary. The methods reject with the errors of the store, and
 * with `InvalidInput` for items that are not JSON.
 *
 * @param id id of the conversation and of the session
 *
 * @example
 * import { openStore } from 'palimpsest'
 * import { agentsSession } from 'palimpsest/openai-agents'
 *
 * const store = await openStore('sqlite:conversations.db')
 * const session = agentsSession(store, 'agents-1')
 * await session.addItems([{ role: 'user', content: 'Why does the parser fail?' }])
 * console.log(await session.getItems(10))
 * await store.close()
 */
export const agentsSession = (store: Store, id: string): AgentsSession => {
  checkStore(store)
  const chat = store.conversation(id)
  const transactions = transactionLog(chat)
  const oneByOne = inOrder()
  const change = <A>(run: (history: ItemHistory) => Promise<A>): Promise<A> =>
    oneByOne(id, () => untilCurrent('StaleContext', async () => run(await historyOf(chat))))
  return {
    getSessionId: async () => id,
    getItems: async (limit = Infinity) => {
      const { items } = await historyOf(chat)
      return limit <= 0 ? [] : structuredClone(items.slice(-limit).map(({ item }) => item))
    },
    addItems: async (items) => {
      const messages = jsonListOf(items, 'items').map(messageOf)
      if (messages.length > 0) await oneByOne(id, () => chat.append(messages))
    },
    popItem: () =>
      change(async (history) => {
        const popped = history.items.at(-1)
        if (popped) await replaceFrom(chat, history, history.items.length - 1, [])
        return structuredClone(popped?.item)
      }),
    clearSession: () =>
      change(async ({ last, items }) => {
        if (items.length > 0) await chat.rewind({ to: START, reason: cleared, after: last })
      }),
    replaceHistoryWithCompaction: async (given) => {
      const compacted = jsonListOf(given, 'items')
      await change((history) => compact(chat, history, compacted))
    },
    applyHistoryMutations: async ({ mutations }) => {
      const checked = jsonListOf(mutations, 'mutations')
      await change(async (history) => {
        const items = history.items.map(({ item }) => item)
        const edited = checked.reduce(replaceCall, items)
        const from = items.findIndex((item, index) => !isDeepStrictEqual(item, edited[index]))
        if (from >= 0) await replaceFrom(chat, history, from, edited.slice(from))
      })
    },
    applyHistoryTransaction: async ({ operationId, transaction: given }) => {
      const transaction = jsonOf(given, 'transaction')
      const [expected, added] =
        transaction.type === 'append_items'
          ? [[], transaction.items]
          : [transaction.expectedSuffix, transaction.replacement]
      await change(async (history) => {
        const commandId = await transactions.begin(history, operationId, transaction)
        if (commandId === undefined) return
        const from = history.items.length - expected.length
        const suffix = history.items.slice(Math.max(from, 0)).map(({ item }) => item)
        if (!isDeepStrictEqual(suffix, expected))
          throw toError(
            invalidInput(
              'transaction.expectedSuffix',
              'the session does not end with these items: read it again',
            ),
          )
        await replaceFrom(chat, history, from, added, commandId)
        transactions.end(operationId, transaction)
      })
    },
  }
}

/** Reason of the rewind that clears a session. The ids of the transactions before it may be used again, as in the SDK's own sessions. */
const cleared = 'the session was cleared'

const historyOf = async (chat: Conversation): Promise<ItemHistory> => {
  const history = await readHistory(chat)
  const items = history.messages.flatMap(({ message, position }, index) =>
    itemsOf(message).map((item) => ({ item, message: index, position })),
  )
  return { ...history, items }
}

/** Replaces the items from an index on, in one write. */
const replaceFrom = async (
  chat: Conversation,
  history: ItemHistory,
  from: number,
  added: readonly AgentInputItem[],
  commandId?: string,
): Promise<void> => {
  const { items, messages } = history
  const message = items[from]?.message ?? messages.length
  const kept = items.slice(0, from).filter((item) => item.message === message)
  const replaced = [...kept.map(({ item }) => item), ...added].map(messageOf)
  await replaceMessages(chat, history, message, replaced, commandId)
}

/** Condenses the items before the end that the history and these items have in common. */
const compact = async (
  chat: Conversation,
  history: ItemHistory,
  compacted: readonly AgentInputItem[],
): Promise<void> => {
  const { last, items } = history
  const kept = commonEnd(items, compacted)
  const [first, end] = [items[0], items.at(-1 - kept)]
  const summary = compacted.slice(0, compacted.length - kept).map(messageOf)
  try {
    if (!first || !end || summary.length === 0) await replaceFrom(chat, history, 0, compacted)
    else {
      const covers = { first: first.position, last: end.position }
      await chat.condense({ covers, summary, method: 'client', after: last })
    }
  } catch (error) {
    // A call is open, or its result is on the other side.
    if (!isError(error, 'UnsafeCut')) throw error
    await replaceFrom(chat, history, 0, compacted)
  }
}

/** Counts the items at the end that both have, up to a message that is not among them as a whole. */
const commonEnd = (items: readonly PlacedItem[], others: readonly AgentInputItem[]): number => {
  let kept = 0
  while (kept < others.length && isDeepStrictEqual(items.at(-1 - kept)?.item, others.at(-1 - kept))) kept += 1
  while (kept > 0 && items.at(-kept)?.position === items.at(-1 - kept)?.position) kept -= 1
  return kept
}

const replaceCall = (
  items: readonly AgentInputItem[],
  { callId, replacement }: SessionHistoryMutation,
): readonly AgentInputItem[] => {
  const isCall = (item: AgentInputItem): boolean => item.type === 'function_call' && item.callId === callId
  const first = items.findIndex(isCall)
  return items.flatMap((item, index) => (isCall(item) ? (index === first ? [replacement] : []) : [item]))
}

/**
 * The transactions that were applied, found by the ids of their commands, so that they are known to every process. A transaction that
 * changed nothing left no event, and is known to this session only.
 */
const transactionLog = (chat: Conversation) => {
  const applied = new Map<string, string>()
  let seen = START
  let from = START
  const readTo = async (to: number): Promise<void> => {
    if (to <= seen) return
    for await (const { position, type, data, metadata } of chat.events({ from: seen + 1, to })) {
      seen = position
      if (type === 'Rewound' && data.reason === cleared) {
        applied.clear()
        from = position
      }
      const [, operation, digest] = /^agents:-?\d+:(\w+):(\w+)$/.exec(metadata.commandId) ?? []
      if (operation !== undefined && digest !== undefined) applied.set(operation, digest)
    }
  }
  return {
    /** Returns the id of the transaction's command; undefined if it was applied before. */
    begin: async (
      { last }: ItemHistory,
      operationId: string,
      transaction: SessionHistoryTransaction,
    ): Promise<string | undefined> => {
      await readTo(last)
      const digest = digestOf(transaction)
      const found = applied.get(digestOf(operationId))
      if (found === undefined) return `agents:${from}:${digestOf(operationId)}:${digest}`
      if (found === digest) return undefined
      throw toError(invalidInput('operationId', 'another transaction had this id: take a new one'))
    },
    end: (operationId: string, transaction: SessionHistoryTransaction) => {
      applied.set(digestOf(operationId), digestOf(transaction))
    },
  }
}

const digestOf = (value: unknown): string => hash('sha256', canonicalize(value) ?? '')
