import * as E from 'fp-ts/lib/Either.js'
import { storeOn } from '../../../src/api/open.ts'
import { memoryStore } from '../../../src/store/memory/store.ts'
import type { EventStore, RecordedEvent } from '../../../src/store/port.ts'
import { createApprovalMethods } from '../../../src/agent/turn/calls/decisions.ts'
import { listSteps, rosters } from '../../../src/agent/workers/peers/roster.ts'
import { gatedStore, type Without } from './gated-store.ts'
import { wrongEffects, wrongIn } from './judge.ts'
import { unsettled } from './unsettled.ts'
import { randomOf, scheduler } from './scheduler.ts'
import { liveIn } from './virtual-time.ts'
import { words, world } from './world.ts'

const actor = { kind: 'test' }
const horizon = 600_000
const mostSteps = 20_000
const conversations = ['a', 'b']

/** What may happen at any step. */
export const deeds = ['message', 'rewind', 'condense', 'approve', 'crash', 'verdict'] as const

export interface PlayOptions {
  readonly without?: Without
  /** Whether living workers may be presumed dead. */
  readonly isWronged?: boolean
  /** Whether programs give turns, too. */
  readonly hasPrograms?: boolean
  /** Something that happens right before a certain step, all at once. */
  readonly deed?: { readonly what: (typeof deeds)[number]; readonly at: number }
}

export interface Played {
  readonly wrong: readonly string[]
  readonly steps: number
  readonly replies: number
  readonly claims: number
  /** Everything that was recorded, in order, but for ids and times. */
  readonly log: readonly string[]
}

/**
 * One order of everything that two or three workers and a person do, with crashes, and with wrong verdicts of death where they are wanted.
 * The same arguments give the same order in a virtual process.
 */
export const play = async (
  seed: number,
  { without, isWronged: mayBeWronged = false, hasPrograms = false, deed }: PlayOptions = {},
): Promise<Played> => {
  const isWronged = mayBeWronged || deed?.what === 'verdict'
  const store = memoryStore('memory:', 'play')
  const scheduled = scheduler(seed, { horizon, isSlow: mayBeWronged })
  liveIn(scheduled)
  const { gate, clockOf, kill, step } = scheduled
  const { living, begin, beginProgram, die, effects, overlaps } = world(store, scheduled, without)
  const dice = randomOf(seed * 31 + 7)
  const below = (n: number): number => Math.floor(dice() * n)
  const personal = storeOn(gatedStore(store, 'person', scheduled), actor)
  const immediate = storeOn(store, actor)

  const act = async (what: (typeof deeds)[number], { conversation, workerStopped } = personal) => {
    const chat = conversation(conversations[below(conversations.length)] ?? 'a')
    const who = living[below(living.length)]
    switch (what) {
      case 'message':
        return chat.append({ role: 'user', content: words[below(words.length)] ?? '' }, { answer: true })()
      case 'rewind':
        return chat.rewind({ turns: 1 })()
      case 'condense':
        return chat.condense({ summary: 'Earlier.', keepFirst: 0, keepLast: 1 })()
      case 'approve': {
        const waiting = await createApprovalMethods(chat).waiting()()
        for (const { call } of E.isRight(waiting) ? waiting.right : [])
          await createApprovalMethods(chat).approve(call, { by: 'ann' })()
        return
      }
      case 'crash':
        if (who === undefined) return
        die(who)
        return begin()
      case 'verdict':
        return who !== undefined && workerStopped(who)()
    }
  }

  let isPersonDone = false
  const person = async (): Promise<void> => {
    for (let acts = 3 + below(4); acts > 0; acts--) {
      await gate('person', dice() < 0.5)
      const kind = below(10)
      await act(kind < 6 ? 'message' : kind < 8 ? 'rewind' : 'condense')
    }
    isPersonDone = true
  }
  const chaos = async (): Promise<void> => {
    for (let disasters = below(3); disasters > 0; disasters--) {
      for (let n = 20 + below(150); n > 0; n--) await gate('chaos')
      await act(mayBeWronged && dice() < 0.5 ? 'verdict' : 'crash', immediate)
    }
  }

  const events = async (): Promise<readonly RecordedEvent[]> => {
    const page = await store.readAll({ limit: 1_000 })()
    return E.isRight(page) ? page.right.events : []
  }
  const open = async (): Promise<readonly string[]> => {
    const names: string[] = []
    for await (const { conversation, state } of listSteps(store))
      if (state !== 'parked') names.push(`${conversation} is ${state} at the end`)
    return names
  }

  /** Whoever begins with what is settled knows what one knows who reads all. */
  const misread = async (): Promise<readonly string[]> => {
    const rosterOf = async (from: EventStore): Promise<string> => {
      for await (const { workers, steps, claims } of rosters(from))
        return JSON.stringify({ workers, steps, claims })
      return ''
    }
    const [one, other] = [await rosterOf(store), await rosterOf(unsettled(store))]
    return one === other ? [] : [`what is settled says ${one}, and the log ${other}`]
  }

  let isOver = false
  /** Approves what waits, until nothing is open any more. */
  const approver = async (): Promise<void> => {
    for (let seen = -1; !isOver;) {
      await new Promise<void>((resolve) => clockOf('approver').after(500, resolve))
      const log = await events()
      if (log.length > seen && log.some(({ type }) => type === 'CallsWaiting'))
        for (const id of conversations) {
          const waiting = await createApprovalMethods(personal.conversation(id)).waiting()()
          for (const { call } of E.isRight(waiting) ? waiting.right : [])
            await createApprovalMethods(personal.conversation(id)).approve(call, { by: 'ann' })()
        }
      seen = log.length
      isOver = isPersonDone && (await open()).length === 0
    }
  }

  for (let workers = 2 + below(2); workers > 0; workers--) begin()
  if (hasPrograms) for (let programs = 2; programs > 0; programs--) beginProgram(conversations)
  void chaos()
  void person()
  void approver()
  let steps = 0
  for (; !isOver && steps < mostSteps; steps++) {
    if (steps === deed?.at) await act(deed.what, immediate)
    if ((without !== undefined && overlaps.length > 0) || !(await step())) break
  }
  const log = await events()
  for (const who of [...living, 'person', 'approver', 'chaos']) kill(who)
  const left = without === undefined ? await open() : []
  return {
    wrong: [
      ...wrongIn(log, { isOver }),
      ...wrongEffects(effects),
      ...(isWronged ? [] : overlaps),
      ...left,
      ...(await misread()),
    ],
    steps,
    replies: log.filter(({ type, data }) => type === 'MessageAppended' && data.includes('"assistant"'))
      .length,
    claims: log.filter(({ type }) => type === 'TurnClaimed').length,
    log: log.map(({ stream, type, data }) => `${stream} ${type} ${type === 'Settled' ? '' : data}`),
  }
}
