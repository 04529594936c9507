import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Conversation,
  openStore,
  type TurnResult,
  type TurnEvent,
  type TurnStep,
} from '../../../src/index.ts'
import { memoryStore } from '../../../src/store/memory/store.ts'
import type { EventStore } from '../../../src/store/port.ts'
import type { ApiFailure, ApiReply } from '../../../src/testing/messages-api/replies.ts'
import type { ApiRequest } from '../../../src/testing/messages-api/request.ts'
import { messagesApi, type ApiExchange } from '../../../src/testing/messages-api/server.ts'
import { outcomeOf } from '../agent-runs/acts.ts'
import { text } from '../log.ts'
import type { Act, Moment, Plan, Said, TurnPlan } from './plan.ts'
import { rawLog, rawStream } from './raw-log.ts'
import { definitions, type Effect, toolsOf } from './tools.ts'
import { type Process, processOf } from './world.ts'

/** A turn, and what has come of it. */
export interface Ran {
  readonly chat: string
  readonly options: TurnPlan
  /** The numbers of its requests, and the ids of their answers, if the head came. */
  readonly sent: Map<number, string | undefined>
  readonly events: TurnEvent[]
  /** How long the log was when it began. */
  readonly from: number
  /** Whether anything waited in the inbox then. */
  readonly hasMail: boolean
  /** How often something had happened that may cost a reply, and how much had happened at all, when it began and when it ended. */
  readonly disturbed: { begin: number; end: number }
  readonly happened: { begin: number; first: number; end: number }
  /** Whether another turn was given at the same time. */
  isShared: boolean
  isDead: boolean
  isAborted: boolean
  /** Whether somebody cancelled it, or interrupted the model. */
  isCancelled: boolean
  isInterrupted: boolean
  outcome: { readonly value: TurnResult } | { readonly error: string; readonly cause: unknown } | undefined
}

/** Something that a user said. */
export interface Spoken {
  readonly number: number
  readonly chat: string
  readonly by: 'say' | 'append'
  readonly begun: number
  ended: number
  /** `refused`: nothing was written. */
  status: 'recorded' | 'queued' | 'refused' | undefined
}

export interface Observed {
  readonly store: EventStore
  readonly requests: readonly ApiExchange[]
  readonly turns: readonly Ran[]
  readonly effects: readonly Effect[]
  readonly spoken: readonly Spoken[]
  readonly chats: readonly string[]
  readonly open: (chat: string) => Conversation
  /** Whether the conversation has come to an end. */
  readonly isSettled: boolean
}

const patience = 20_000
const soon = async <A>(done: Promise<A>): Promise<A> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('a turn does not end')), patience)
  })
  return Promise.race([done, late]).finally(() => clearTimeout(timer))
}

/** Whoever takes something back on purpose. */
export const rewinder = { kind: 'user', id: 'rewinder' }

/** A turn without anything special. */
export const plain: TurnPlan = {
  isStream: false,
  keep: false,
  expires: false,
  keepLate: false,
  keepPartial: false,
  maxCalls: 40,
  budget: undefined,
  system: 0,
  stopWhen: undefined,
  isForced: false,
  prepares: false,
  hasTools: true,
}

/** Plays a plan to its end, and hands what has come of it to `look`. */
export const runSteered = async (
  plan: Plan,
  look: (observed: Observed) => Promise<void>,
  source: EventStore = memoryStore(),
): Promise<void> => {
  const replies = [...plan.replies]
  const turns: Ran[] = []
  const effects: Effect[] = []
  const spoken: Spoken[] = []
  const chats = ['c']
  const underWay: { readonly ran: Ran; readonly abort: () => void; readonly process: Process }[] = []
  const active = new Set<Ran>()
  /** Calls that have waited for a decision, or for a result, in a turn. */
  const waited = new Set<string>()
  const handedBack = new Set<string>()
  const ongoing = new Set<Promise<unknown>>()
  let number = 0
  let disturbed = 0
  let happened = 0
  let clock = 0

  const model = { contextWindow: plan.isSmall ? 900 : 100_000, minCached: 50 }
  const api = await messagesApi({
    models: { model, other: model },
    now: () => 0,
    reply: (body) => answer(body, replies, plan.retries),
  })
  const outside = await openStore(source)
  const chat = (): Conversation => outside.conversation(chats.at(-1) ?? 'c')

  const say = async (
    by: Spoken['by'],
    write: (message: { role: 'user'; content: string }) => Promise<{ status?: 'recorded' | 'queued' }>,
  ): Promise<void> => {
    const one: Spoken = {
      number: spoken.length,
      chat: chat().id,
      by,
      begun: clock++,
      ended: Infinity,
      status: undefined,
    }
    spoken.push(one)
    const done = await outcomeOf(write({ role: 'user', content: `said-${one.number}.` }))
    one.ended = clock++
    one.status = 'error' in done ? 'refused' : (done.value.status ?? 'recorded')
  }

  const perform = async (act: Act, place = underWay.at(-1)): Promise<void> => {
    happened++
    const costs = ['rewind', 'undo', 'bring', 'die', 'abort', 'cancel', 'turn'].includes(act.type)
    if (costs || (act.type === 'say' && ['interrupt', 'rollback'].includes(act.whileBusy))) disturbed++
    // A turn may end before what happens in it is done.
    for (const ran of active) {
      ran.isCancelled ||= act.type === 'cancel'
      ran.isInterrupted ||= act.type === 'say' && act.whileBusy === 'interrupt'
    }
    switch (act.type) {
      case 'say': {
        const { whileBusy } = act
        const actor = whileBusy === 'rollback' && { actor: rewinder }
        return say('say', (message) => chat().say(message, { whileBusy, ...actor }))
      }
      case 'append':
        return say('append', async (message) => {
          await chat().append(message)
          return {}
        })
      case 'undo':
        return void (await outcomeOf(chat().undo({ actor: rewinder })))
      case 'rewind': {
        const to =
          act.to === 'turns'
            ? { turns: 1 + (act.back % 2) }
            : { to: Math.max(-1, (await chat().position()) - 1 - act.back) }
        return void (await outcomeOf(chat().rewind({ ...to, actor: rewinder })))
      }
      case 'condense':
        return void (await outcomeOf(
          chat().condense({ summary: 'In short.', fraction: act.fraction, keepLast: 1 }),
        ))
      case 'truncate':
        return void (await outcomeOf(chat().truncate({ fraction: act.fraction, keepLast: 1 })))
      case 'configure':
        return void (await outcomeOf(chat().configure({ system: `System ${act.which}.` })))
      case 'decide':
        return decide(act)
      case 'bring':
        return bring(act.which)
      case 'pause':
        return sleep(6)
      case 'fork': {
        const made = await outcomeOf(chat().fork(`c-${chats.length}`))
        if ('value' in made) chats.push(made.value.id)
        return
      }
      case 'cancel':
        await chat().cancel({ by: 'ann' })
        // So may one that has begun since.
        for (const ran of active) ran.isCancelled = true
        return
      case 'abort':
        return place?.abort()
      case 'die':
        return place?.process.die()
      case 'turn': {
        const done = turn(act.options, act.moments)
        ongoing.add(done)
        return
      }
    }
  }

  const decide = async ({ which, how, times }: Extract<Act, { type: 'decide' }>): Promise<void> => {
    // Now and then somebody decides about a call that waits no more.
    const waiting = [...(await chat().waiting()).map(({ call }) => call), ...[...waited].slice(-1)]
    const call = waiting[which % Math.max(1, waiting.length)]
    if (call === undefined) return
    const input = { edited: which, asks: true }
    const decided = await Promise.all(
      Array.from({ length: times }, (_, n) =>
        outcomeOf(
          how === 'deny'
            ? chat().deny(call, { by: `ann-${n}`, reason: 'no' })
            : chat().approve(call, { by: `ann-${n}`, ...(how === 'edit' && { input }) }),
        ),
      ),
    )
    for (const each of decided)
      if ('error' in each && !['AlreadyDecided', 'NotWaiting'].includes(each.error)) throw each.cause
  }

  const bring = async (which: number): Promise<void> => {
    // Or too late.
    const waiting = (await chat().waiting()).filter(({ why }) => why === 'handed-back')
    const calls = [...waiting.map(({ call }) => call), ...[...handedBack].slice(-1)]
    const call = calls[which % Math.max(1, calls.length)]
    if (call === undefined) return
    const content = [{ type: 'tool_result' as const, tool_use_id: call, content: 'brought' }]
    await outcomeOf(chat().append({ role: 'user', content }))
  }

  const turn = async (options: TurnPlan, moments: readonly Moment[]): Promise<Ran> => {
    const controller = new AbortController()
    const id = chat().id
    const ran: Ran = {
      chat: id,
      options,
      sent: new Map(),
      events: [],
      hasMail: (await chat().queued()).length > 0,
      from: (await rawLog(source, id)).length,
      disturbed: { begin: disturbed, end: Infinity },
      happened: { begin: happened, first: happened, end: Infinity },
      isShared: false,
      isDead: false,
      isAborted: false,
      isCancelled: false,
      isInterrupted: false,
      outcome: undefined,
    }
    for (const other of active) {
      disturbed++
      other.isShared = ran.isShared = true
    }
    active.add(ran)
    const process = await processOf({
      source,
      url: api.url,
      numberOf: () => {
        if (ran.sent.size === 0) ran.happened.first = happened
        ran.sent.set(++number, undefined)
        return number
      },
      onHead: (request, answered) => ran.sent.set(request, answered),
      moments,
      perform: async ({ act }) => {
        await perform(act, place)
        ran.isDead = process.isDead()
      },
    })
    const place = {
      ran,
      process,
      abort: () => {
        ran.isAborted = true
        controller.abort('enough')
      },
    }
    turns.push(ran)
    underWay.push(place)
    const handle = process.store.conversation(id)
    const given = {
      client: process.client,
      model: 'model',
      system: `System ${options.system}.`,
      tools: definitions,
      run: options.hasTools
        ? toolsOf(process, async (effect) => {
            const facts = (await rawStream(source, `turns-${id}`)).length
            effects.push({ ...effect, facts })
          })
        : {},
      context: { window: plan.isSmall ? 900 : 100_000 },
      parameters: { max_tokens: 200, ...(options.isForced && { tool_choice: { type: 'any' } }) },
      ...(options.stopWhen === 'names' && { stopWhen: ['pay'] }),
      ...(options.stopWhen === 'function' && {
        stopWhen: ({ calls }: TurnStep) => calls.some(({ name }) => name === 'pay'),
      }),
      ...(options.prepares && {
        prepareStep: ({ step }: { readonly step: number }) =>
          step % 2 ? { model: 'other', system: 'Be brief.' } : undefined,
      }),
      waiting: { ...(options.keep && { keep: true }), ...(options.expires && { expires: 4 }) },
      keepLate: options.keepLate,
      keepPartial: options.keepPartial,
      maxRetries: plan.retries,
      // Processes that have died here are noticed by their silence.
      ttl: 20,
      maxCalls: options.maxCalls,
      ...(options.budget !== undefined && { budget: { calls: options.budget } }),
      signal: controller.signal,
    }
    const whole = async (): Promise<TurnResult> => {
      if (!options.isStream) return handle.turn(given)
      for await (const event of handle.stream(given)) {
        ran.events.push(event)
        if (event.type === 'done') return event.turned
      }
      throw new Error('a stream ended without `done`')
    }
    try {
      ran.outcome = await soon(outcomeOf(whole()))
      if ('value' in ran.outcome) {
        for (const { call } of ran.outcome.value.waiting) waited.add(call)
        for (const { call } of ran.outcome.value.pending) handedBack.add(call)
      }
    } finally {
      active.delete(ran)
      ran.disturbed.end = disturbed
      ran.happened.end = happened
      if (ran.sent.size === 0) ran.happened.first = happened
      underWay.splice(underWay.indexOf(place), 1)
    }
    return ran
  }

  const settleOngoing = async (): Promise<void> => {
    while (ongoing.size > 0) {
      const all = [...ongoing]
      await Promise.all(all)
      for (const each of all) ongoing.delete(each)
    }
  }

  /** Ends all that is open: nothing waits any more, and the model has the last word. Whether it could. */
  const settle = async (): Promise<boolean> => {
    replies.length = 0
    for (let rounds = 0; rounds < 12; rounds++) {
      for (const { call, why } of await chat().waiting())
        if (why === 'handed-back') await bring(0)
        else await outcomeOf(chat().deny(call, { by: 'the end' }))
      const { outcome } = await turn(plain, [])
      if (outcome && 'error' in outcome && outcome.error === 'NothingToAnswer') return true
      // A round of calls may be larger than a small window.
      if (outcome && 'error' in outcome && plan.isSmall && outcome.error === 'ContextTooLarge') return false
      if (outcome && 'error' in outcome && outcome.error !== 'TooManyCalls') throw outcome.cause
    }
    throw new Error('the conversation does not come to an end')
  }

  try {
    for (const step of plan.steps) {
      if (step.type === 'turn') await turn(step.options, step.moments)
      else await perform(step)
      await settleOngoing()
    }
    await perform({ type: 'say', whileBusy: 'enqueue' })
    const isSettled = await settle()
    await look({
      store: source,
      requests: api.requests,
      turns,
      effects,
      spoken,
      chats,
      open: (name) => outside.conversation(name),
      isSettled,
    })
  } finally {
    await api.close()
  }
}

const failures: Readonly<Record<string, ApiFailure>> = {
  retry: { status: 529, type: 'overloaded_error', message: 'Overloaded', retryAfter: 0.001 },
  failed: { status: 400, type: 'invalid_request_error', message: 'a fault of the plan' },
}

export const isSummary = ({ system }: ApiRequest): boolean =>
  typeof system === 'string' && system.startsWith('You summarize')

const answer = (body: ApiRequest, replies: Said[], retries: number): ApiReply | ApiFailure => {
  if (isSummary(body)) return { content: [text('In short.')] }
  const said = replies.shift()
  if (!said) return { content: [...served(body), text('Yes.')] }
  const { calls, search, stop } = said
  // What the API does not say when to repeat, a turn repeats after half a second.
  const fault = said.fault && retries > 0 && said.fault !== 'failed' ? 'retry' : said.fault
  if (fault === 'retry' || fault === 'failed') return failures[fault] as ApiFailure
  return {
    content: [
      ...served(body),
      text('Let me see.'),
      ...(search ? [{ type: 'server_tool_use', name: 'web_search', input: {} }] : []),
      ...calls.map(({ name, asks }) => ({ type: 'tool_use', name, input: { asks } })),
    ],
    ...(stop && { stop_reason: stop }),
    ...(fault && { fault: { kind: fault, after: 3 } }),
  }
}

/** The results of the server tools that the request waits for. */
const served = ({ messages }: ApiRequest): ApiReply['content'] => {
  const blocks = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content))
  const done = new Set(blocks.map((block) => block['tool_use_id']))
  return blocks.flatMap(({ type, id, name }) =>
    type === 'server_tool_use' && !done.has(id)
      ? [{ type: `${String(name)}_tool_result`, tool_use_id: id, content: [] }]
      : [],
  )
}
