import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ConversationEvent } from '../../../src/events/events.ts'
import { type Conversation, openStore, type Store } from '../../../src/index.ts'
import type { ApiModel } from '../../../src/testing/messages-api/request.ts'
import type { ChatModel } from '../../../src/testing/chat-completions/body.ts'
import { chatCompletions, type ChatExchange } from '../../../src/testing/chat-completions/server.ts'
import { messagesApi, type ApiExchange } from '../../../src/testing/messages-api/server.ts'
import type { Plan } from './plan.ts'
import { type Player, player, type Ran, type World } from './player.ts'
import type { Runs } from './tools.ts'

/** What has come of a run. */
export interface Observed {
  readonly requests: readonly ApiExchange[]
  /** Those at the stand-in for Chat Completions. */
  readonly chats: readonly ChatExchange[]
  readonly turns: readonly Ran[]
  readonly runs: Runs
  readonly conversations: readonly {
    readonly chat: Conversation
    readonly events: readonly ConversationEvent[]
  }[]
  /** The stand-ins' URLs. */
  readonly url: string
  readonly chatUrl: string
}

/** Plays a plan to its end against a stand-in of its own, and hands what has come of it to `look`. */
export const runAgents = async (plan: Plan, look: (observed: Observed) => Promise<void>): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-'))
  const players: Player[] = []
  const api = await messagesApi({
    models: modelsOf(plan),
    now: () => 0,
    reply: (body) => (players[Number(body.model.split('-')[1])] as Player).says(body),
  })
  const chat = await chatCompletions({
    models: chatModelsOf(plan),
    reply: (body) => (players[Number(body.model.split('-')[1])] as Player).saysInChat(body),
  })
  // Asked when everything is over: its replies do nothing.
  const judge = await chatCompletions({ models: chatModelsOf(plan) })
  const stores = storesOf(plan, folder)
  let number = 0
  const world: World = {
    api: () => api.url,
    chat: () => chat.url,
    runs: new Map(),
    turns: [],
    conversations: new Set(),
    openStore: stores.open,
    numberOf: () => ++number,
    forks: 0,
  }
  try {
    for (const [index, thread] of plan.threads.entries()) players.push(await player(world, index, thread))
    await Promise.all(players.map(({ play }) => play()))
    await Promise.all(players.map(({ end }) => end()))
    const store = await stores.open()
    const conversations = await Promise.all(
      [...world.conversations].map((id) => read(store.conversation(id))),
    )
    const { turns, runs } = world
    const begun = conversations.filter(({ events }) => events.length > 0)
    const received = { requests: api.requests, chats: chat.requests, url: api.url, chatUrl: judge.url }
    await look({ ...received, turns, runs, conversations: begun })
  } finally {
    await api.close()
    await chat.close()
    await judge.close()
    await stores.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

const modelsOf = ({ threads }: Plan): Readonly<Record<string, Partial<ApiModel>>> =>
  Object.fromEntries(
    threads.flatMap(({ window }, index) => [
      [`model-${index}-a`, { contextWindow: window, minCached: 50 }],
      [`model-${index}-b`, { contextWindow: window, prefill: true, systemMessages: false }],
      [`summary-${index}`, { contextWindow: 700 }],
    ]),
  )

const chatModelsOf = ({ threads }: Plan): Readonly<Record<string, Partial<ChatModel>>> =>
  Object.fromEntries(
    threads.flatMap(({ window: contextWindow }, index) => [
      [`model-${index}-a`, { contextWindow, minCached: 50, reasoning: 'reasoning_content' as const }],
      [`model-${index}-b`, { contextWindow, reasoning: 'reasoning_content' as const }],
      [`summary-${index}`, { contextWindow: 700, reasoning: 'reasoning_content' as const }],
    ]),
  )

/** Every opening of a file is a store of its own; what is in memory has one. */
const storesOf = ({ store }: Plan, folder: string) => {
  const opened: Promise<Store>[] = []
  return {
    open: (): Promise<Store> => {
      const [first] = opened
      if (store === 'memory' && first) return first
      const made = openStore(
        store === 'memory' ? 'memory:' : `sqlite:${join(folder, 'store.db')}?synchronous=off`,
      )
      opened.push(made)
      return made
    },
    close: async (): Promise<void> => {
      await Promise.all(opened.map(async (each) => (await each).close()))
    },
  }
}

const read = async (chat: Conversation): Promise<Observed['conversations'][number]> => {
  const events: ConversationEvent[] = []
  for await (const event of chat.events()) events.push(event)
  return { chat, events }
}
