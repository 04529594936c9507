import * as E from 'fp-ts/lib/Either.js'
import { storeOn } from '../../../src/api/open.ts'
import type { Conversation } from '../../../src/conversation/conversation.ts'
import type { Model, ModelError, ModelRequest, Reply } from '../../../src/models/model.ts'
import { memoryStore } from '../../../src/store/memory/store.ts'
import { deciding } from '../../../src/turn/calls/decisions.ts'
import { turning } from '../../../src/turn/turns.ts'
import { listSteps } from '../../../src/workers/listing.ts'
import { work } from '../../../src/workers/worker.ts'
import { gatedStore, type Without } from './gated-store.ts'
import { wrongIn } from './judge.ts'
import { randomOf, type Scheduler, scheduler } from './scheduler.ts'

const actor = { kind: 'test' }
const ttl = 1_000
const horizon = 600_000
const mostSteps = 20_000
const conversations = ['a', 'b']

/** What the whole play is seen to do from outside. */
interface Seen {
  /** Who is calling a model, and for which conversation. */
  readonly calling: Map<string, string>
  readonly effects: Map<string, number>
  readonly wrong: string[]
}

const textOf = ({ messages }: ModelRequest): string => JSON.stringify(messages.at(-1)?.content ?? '')

const replyTo = (request: ModelRequest, id: string): Reply => {
  const said = textOf(request)
  const wanted = said.includes('tool_result') ? undefined : /look|pay/.exec(said)?.[0]
  return wanted === undefined
    ? { content: [{ type: 'text', text: 'Done.' }], origin: { stopReason: 'end_turn' } }
    : { content: [{ type: 'tool_use', id, name: wanted, input: {} }], origin: { stopReason: 'tool_use' } }
}

/** A model that takes long, and notices when two call it for one conversation. */
const modelOf = (who: string, chat: string, { gate, random, isDead }: Scheduler, seen: Seen): Model => ({
  countTokens: () => Promise.resolve(E.right(10)),
  call: async (request, { signal } = {}) => {
    const others = [...seen.calling].filter(([caller, id]) => id === chat && caller.split(' ')[0] !== who)
    for (const [caller] of others)
      if (!isDead(caller.split(' ')[0] ?? ''))
        seen.wrong.push(`${who} and ${caller} call the model for ${chat}`)
    const key = `${who} ${chat}`
    seen.calling.set(key, chat)
    const aborted = new Promise<boolean>((resolve) => {
      signal?.addEventListener('abort', () => resolve(true))
    })
    const isAborted = await Promise.race([gate(who, true).then(() => false), aborted])
    seen.calling.delete(key)
    const left: ModelError = { _tag: 'ModelAborted', message: 'aborted' }
    return isAborted || signal?.aborted ? E.left(left) : E.right(replyTo(request, `t${random()}`))
  },
})

const toolsOf = (seen: Seen) => {
  const run = (_: unknown, { key }: { readonly key: string }): string => {
    seen.effects.set(key, (seen.effects.get(key) ?? 0) + 1)
    return 'It is done.'
  }
  return { look: { run }, pay: { run, approve: true } }
}

export interface Played {
  readonly wrong: readonly string[]
  readonly replies: number
  readonly claims: number
  readonly ms: number
}

/** One order of everything that two or three workers and a person do, with crashes, and wrong verdicts of death if they are wanted. */
export const play = async (
  seed: number,
  { without, isWronged = false }: { readonly without?: Without; readonly isWronged?: boolean } = {},
): Promise<Played> => {
  const began = performance.now()
  const store = memoryStore('memory:', 'play')
  const scheduled = scheduler(seed, horizon)
  const { gate, clockOf, kill, step } = scheduled
  const dice = randomOf(seed * 31 + 7)
  const below = (n: number): number => Math.floor(dice() * n)
  const seen: Seen = { calling: new Map(), effects: new Map(), wrong: [] }
  const living: string[] = []
  let born = 0

  const begin = (): void => {
    const who = `w${born++}`
    living.push(who)
    const own = gatedStore(store, who, scheduled, without)
    const { conversation } = storeOn(own, actor)
    const give = (chat: Conversation, signal: AbortSignal) =>
      turning(chat).turn({
        client: modelOf(who, chat.id, scheduled, seen),
        model: 'm',
        tools: ['look', 'pay'].map((name) => ({ name, input_schema: { type: 'object' } })),
        run: toolsOf(seen),
        signal,
        maxRetries: 0,
      })()
    const settings = { slots: 2, conversations: [''], ttl, rankWait: 25, grace: 0, give, onStep: () => {} }
    const around = { store: own, actor, conversation, clock: clockOf(who) }
    void work(who, settings, around, new AbortController().signal)
  }
  const die = (who: string): void => {
    living.splice(living.indexOf(who), 1)
    kill(who)
    for (const key of seen.calling.keys()) if (key.split(' ')[0] === who) seen.calling.delete(key)
  }

  const person = async (): Promise<void> => {
    const { conversation } = storeOn(gatedStore(store, 'person', scheduled), actor)
    for (let acts = 3 + below(4); acts > 0; acts--) {
      await gate('person', dice() < 0.5)
      const chat = conversation(conversations[below(conversations.length)] ?? 'a')
      const kind = below(10)
      const words = ['hello', 'look', 'pay'][below(3)] ?? ''
      if (kind < 6) await chat.append({ role: 'user', content: words }, { answer: true })()
      else if (kind < 8) await chat.rewind({ turns: 1 })()
      else await chat.condense({ summary: 'Earlier.', keepFirst: 0, keepLast: 1 })()
    }
    await decideAll()
  }
  /** Approves what waits, until nothing is open any more. */
  const decideAll = async (): Promise<void> => {
    const { conversation } = storeOn(gatedStore(store, 'person', scheduled), actor)
    for (let looks = 0; looks < 40; looks++) {
      await new Promise<void>((resolve) => clockOf('person').after(500, resolve))
      for (const id of conversations) {
        const waiting = await deciding(conversation(id)).waiting()()
        for (const { call } of E.isRight(waiting) ? waiting.right : [])
          await deciding(conversation(id)).approve(call, { by: 'ann' })()
      }
    }
  }

  const chaos = async (): Promise<void> => {
    for (let deeds = below(3); deeds > 0; deeds--) {
      for (let n = 20 + below(150); n > 0; n--) await gate('chaos')
      const who = living[below(living.length)]
      if (who === undefined) continue
      if (isWronged && dice() < 0.5) await storeOn(store, actor).workerStopped(who)()
      else {
        die(who)
        begin()
      }
    }
  }

  for (let workers = 2 + below(2); workers > 0; workers--) begin()
  void chaos()
  let isPersonDone = false
  void person().finally(() => {
    isPersonDone = true
  })
  const open = async (): Promise<readonly string[]> => {
    const names: string[] = []
    for await (const { conversation, state } of listSteps(store))
      if (state !== 'parked') names.push(`${conversation} is ${state} at the end`)
    return names
  }
  let steps = 0
  const isOver = async (): Promise<boolean> => isPersonDone && (await open()).length === 0
  while ((without === undefined || seen.wrong.length === 0) && (await step())) {
    if (++steps > mostSteps || (steps % 50 === 0 && (await isOver()))) break
  }
  const page = await store.readAll({ limit: 1_000 })()
  const events = E.isRight(page) ? page.right.events : []
  for (const who of living) kill(who)
  const twice = [...seen.effects].flatMap(([key, n]) => (n > 1 ? [`${key} took effect ${n} times`] : []))
  const left = without === undefined ? await open() : []
  const typed = (type: string): number => events.filter((event) => event.type === type).length
  return {
    wrong: [...wrongIn(events), ...(isWronged ? [] : seen.wrong), ...twice, ...left],
    replies: events.filter(({ type, data }) => type === 'MessageAppended' && data.includes('"assistant"'))
      .length,
    claims: typed('TurnClaimed'),
    ms: performance.now() - began,
  }
}
