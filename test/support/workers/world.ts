import * as E from 'fp-ts/lib/Either.js'
import { storeOn } from '../../../src/api/open.ts'
import type { ConversationHandle } from '../../../src/conversation/conversation.ts'
import type { Model, ModelError, ModelRequest, Reply } from '../../../src/agent/models/model.ts'
import type { EventStore } from '../../../src/store/port.ts'
import { createTurnRunner } from '../../../src/agent/turn/turn-runner.ts'
import { giveTurn, turnRunnerOf } from '../../../src/agent/workers/serving/give.ts'
import { work } from '../../../src/agent/workers/serving/worker.ts'
import { gatedStore, type Without } from './gated-store.ts'
import { type Standing, standingAfter } from './judge.ts'
import type { Scheduler } from './scheduler.ts'
import { settingsWith } from './settings.ts'

/** An effect of a tool, counted where it happens. */
export interface Effect {
  readonly chat: string
  readonly call: string
  readonly key: string
  readonly isUnsafe: boolean
}

/** Workers, and what is seen of them from outside. */
export interface World {
  readonly living: readonly string[]
  readonly begin: () => void
  /** A program that gives turns to these conversations. */
  readonly beginProgram: (conversations: readonly string[]) => void
  readonly die: (who: string) => void
  readonly effects: readonly Effect[]
  /** Who called the model for a conversation that another was calling it for. */
  readonly overlaps: readonly string[]
}

const actor = { kind: 'test' }
const ttl = 1_000
/** What the model may call; what people say names it. */
const tools = { look: 'none', send: 'idempotent', pay: 'unsafe', ask: 'unsafe' } as const
export const words = ['hello', ...Object.keys(tools)]

const textOf = ({ messages }: ModelRequest): string => JSON.stringify(messages.at(-1)?.content ?? '')

const replyTo = (request: ModelRequest, id: string): Reply => {
  const said = textOf(request)
  const wanted = said.includes('tool_result') ? undefined : words.slice(1).find((word) => said.includes(word))
  return wanted === undefined
    ? { content: [{ type: 'text', text: 'Done.' }], origin: { stopReason: 'end_turn' } }
    : { content: [{ type: 'tool_use', id, name: wanted, input: {} }], origin: { stopReason: 'tool_use' } }
}

export const world = (store: EventStore, scheduled: Scheduler, without?: Without): World => {
  const { gate, random, isDead, clockOf, kill } = scheduled
  const effects: Effect[] = []
  const overlaps: string[] = []
  const living: string[] = []
  /** Who is calling the model, by conversation, and whether it began where nobody had it and no worker was asked: only programs may. */
  const calling = new Map<string, Map<string, boolean>>()
  /** What the claims of programs call them; empty before the first one. */
  const names = new Map<string, string>()
  let born = 0

  const standingOf = async (chat: string): Promise<Standing> => {
    const page = await store.readAll({ limit: 1_000 })()
    return E.isRight(page) ? standingAfter(page.right.events, chat) : { isAsked: true }
  }

  /** A model that takes long, and notices when two call it for one conversation. */
  const modelOf = (who: string, chat: string): Model => ({
    countTokens: () => Promise.resolve(E.right(10)),
    call: async (request, { signal } = {}) => {
      const callers = calling.get(chat) ?? new Map<string, boolean>()
      calling.set(chat, callers)
      const others = [...callers].filter(([other]) => other !== who && !isDead(other))
      const { isAsked, holder } = await standingOf(chat)
      const isFree = names.has(who) && !isAsked && holder === undefined
      callers.set(who, isFree)
      // Nobody orders the turns of programs that begin at once where no worker is asked (ADR 29). The first to claim continues.
      const mayBoth = isFree || (holder !== undefined && holder === names.get(who))
      for (const [other, wasFree] of others)
        if (!wasFree || !mayBoth) overlaps.push(`${who} and ${other} call the model for ${chat}`)
      const aborted = new Promise<boolean>((resolve) => {
        signal?.addEventListener('abort', () => resolve(true))
      })
      const isAborted = await Promise.race([gate(who, true).then(() => false), aborted])
      callers.delete(who)
      const left: ModelError = { _tag: 'ModelAborted', message: 'aborted' }
      return isAborted || signal?.aborted ? E.left(left) : E.right(replyTo(request, `t${random()}`))
    },
  })

  const toolsOf = (who: string, chat: string) =>
    Object.fromEntries(
      Object.entries(tools).map(([tool, effect]) => [
        tool,
        {
          effect,
          approve: tool === 'ask',
          run: async (_: unknown, { id, key }: { readonly id: string; readonly key: string }) => {
            await gate(who)
            effects.push({ chat, call: id, key, isUnsafe: effect === 'unsafe' })
            await gate(who)
            return 'It is done.'
          },
        },
      ]),
    )

  const optionsOf = (who: string, chat: string) => ({
    client: modelOf(who, chat),
    model: 'm',
    tools: words.slice(1).map((name) => ({ name, input_schema: { type: 'object' } })),
    run: toolsOf(who, chat),
    maxRetries: 0,
  })

  /** The store, where what a program calls itself is seen. */
  const noting = (who: string): EventStore => ({
    ...store,
    append: (request) => {
      for (const { type, data } of request.events)
        if (type === 'TurnClaimed') names.set(who, (JSON.parse(data) as { readonly worker: string }).worker)
      return store.append(request)
    },
  })

  return {
    living,
    effects,
    overlaps,
    beginProgram: (conversations) => {
      const who = `p${born++}`
      living.push(who)
      names.set(who, '')
      const own = gatedStore(noting(who), who, scheduled, without)
      const { conversation } = storeOn(own, actor, undefined, clockOf(who))
      const run = async (): Promise<void> => {
        for (let turns = 1 + Math.floor(random() * 4); turns > 0; turns--) {
          await gate(who, true)
          const chat = conversation(conversations[Math.floor(random() * conversations.length)] ?? '')
          await createTurnRunner(chat).turn({ ...optionsOf(who, chat.id), ttl })()
        }
      }
      void run()
    },
    begin: () => {
      const who = `w${born++}`
      living.push(who)
      const own = gatedStore(store, who, scheduled, without)
      const clock = clockOf(who)
      const { conversation } = storeOn(own, actor, undefined, clock)
      const begin = (chat: ConversationHandle, hasMail: boolean) => turnRunnerOf(chat).begin(hasMail)
      const give = (chat: ConversationHandle, signal: AbortSignal) =>
        giveTurn(chat, signal, () => optionsOf(who, chat.id), undefined)
      const settleAfter = 2 + Math.floor(random() * 30)
      const settings = settingsWith({ slots: 2, ttl, settleAfter, begin, give })
      const around = { store: own, actor, conversation, clock }
      void work(who, settings, around, new AbortController().signal)
    },
    die: (who) => {
      living.splice(living.indexOf(who), 1)
      kill(who)
    },
  }
}
