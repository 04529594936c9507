import * as E from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { QueuedMessage } from '../../../src/conversation/beside/inbox.ts'
import { isToDo } from '../../../src/agent/turn/calls/open-calls.ts'
import { nextAction, type TurnAction } from '../../../src/agent/turn/next-action.ts'
import { finalReplyAt } from '../../../src/agent/turn/turn-result.ts'
import {
  evolveTurn,
  newCourse,
  stateAtStart,
  type TurnOutcome,
  type TurnState,
} from '../../../src/agent/turn/turn-state.ts'
import type { ConversationCommand, NewMessage } from '../../../src/commands/command.ts'
import { decide } from '../../../src/commands/decide.ts'
import { stateOf } from '../../../src/commands/state.ts'
import { type Block, unknownBlock } from '../../../src/events/blocks.ts'
import { effective, messagesOf } from '../../../src/projections/effective.ts'
import type { Log } from '../../../src/projections/path.ts'
import { render } from '../../../src/projections/render/renderer.ts'
import { histories } from '../../support/histories.ts'
import { eventAt, text, toolResult, toolUse } from '../../support/log.ts'
import { runs } from '../../support/runs.ts'
import { settled } from '../../support/turn-rules.ts'

// Whole turns in which nothing waits: the log is an array, and the outcomes of the actions are drawn at random.

/** Events around an action: replies of the model, outcomes of tools, and messages of the user. */
interface Chance {
  readonly reply: 'final' | 'calls' | 'search' | 'pause' | 'interrupted'
  readonly calls: 'answered' | 'left'
  readonly says: 'nothing' | 'queues' | 'appends'
  readonly isStopped: boolean
  readonly haveWaited: boolean
}

const chance: fc.Arbitrary<Chance> = fc.record({
  reply: fc.constantFrom('final', 'calls', 'search', 'pause', 'interrupted'),
  calls: fc.constantFrom('answered', 'answered', 'left'),
  says: fc.constantFrom('nothing', 'nothing', 'queues', 'appends'),
  isStopped: fc.boolean(),
  haveWaited: fc.boolean(),
})
/** Events once chance has run out, which let the turn come to an end. */
const calm: Chance = {
  reply: 'final',
  calls: 'answered',
  says: 'nothing',
  isStopped: false,
  haveWaited: false,
}

interface World {
  readonly log: Log
  readonly inbox: readonly QueuedMessage[]
  /** Texts that the user has said while the turn ran. */
  readonly said: readonly string[]
}

const write = (log: Log, command: ConversationCommand): Log => {
  const decided = decide(command, stateOf('c', log, command))
  if (E.isLeft(decided)) throw new Error(`${command.type}: ${decided.left.message}`)
  return [...log, ...decided.right.map((event, index) => eventAt(event, log.length + index))]
}

const user = (content: readonly Block[]): NewMessage => ({ role: 'user', content })

const speak = ({ log, inbox, said }: World, { says }: Chance): World => {
  if (says === 'nothing') return { log, inbox, said }
  const message = `said ${said.length}`
  const messages = [user([text(message)])]
  if (says === 'appends')
    return { log: write(log, { type: 'append', messages }), inbox, said: [...said, message] }
  const queued: QueuedMessage = {
    type: 'Queued',
    revision: said.length,
    id: message,
    data: { messages, at: log.length - 1 },
    metadata: {
      schema: 1,
      time: '2026-01-01T00:00:00.000Z',
      actor: { kind: 'test' },
      commandId: message,
      prev: null,
    },
  }
  return { log, inbox: [...inbox, queued], said: [...said, message] }
}

const contentOf = (reply: Chance['reply'], place: number): readonly Block[] => {
  const search = unknownBlock({ type: 'server_tool_use', id: `s${place}`, name: 'web_search', input: {} })
  if (reply === 'calls') return [toolUse(`a${place}`), toolUse(`b${place}`)]
  return reply === 'search' ? [search, toolUse(`a${place}`)] : [text(`Reply ${place}.`)]
}
const reasons = { final: 'end_turn', calls: 'tool_use', search: 'tool_use', pause: 'pause_turn' } as const

/** Records messages as a turn does: after its history, before what the user has said since. */
const record = (log: Log, messages: readonly NewMessage[], from: number): Log => {
  const since = effective(log).items.flatMap((item) => (item.position > from ? messagesOf(item) : []))
  return since.length === 0
    ? write(log, { type: 'append', messages })
    : write(log, { type: 'append', messages: [...messages, ...(since as NewMessage[])], rewindTo: from })
}

type Effect = Exclude<TurnAction, { readonly type: 'finish' | 'fail' }>

/** Carries out an action: what the world is then, and what the action has come to. */
const carryOut = (
  action: Effect,
  state: TurnState,
  [world, luck]: readonly [World, Chance],
): readonly [World, TurnOutcome] => {
  const { log, inbox } = world
  const isOutdated = state.found?.now.at !== log.length - 1
  const wrote = (next: Log): readonly [World, TurnOutcome] => [{ ...world, log: next }, { type: 'written' }]
  switch (action.type) {
    case 'look':
      return [world, { type: 'found', now: effective(log), mail: state.mail ?? inbox }]
    case 'take-in': {
      const messages = action.mail.flatMap(({ data }) => data.messages)
      const left = inbox.filter((queued) => !action.mail.includes(queued))
      return [{ ...world, log: write(log, { type: 'append', messages }), inbox: left }, { type: 'taken-in' }]
    }
    case 'enter':
      return [world, { type: 'learned', findings: { claim: 'free' } }]
    case 'open-account':
      return [world, { type: 'account-opened', now: action.now, entries: [] }]
    case 'prepare': {
      if (isOutdated) return [world, { type: 'outdated' }]
      const { type, input } = action.preparation
      return wrote(write(log, { ...input, type } as ConversationCommand))
    }
    case 'read-later': {
      const later = new Map(state.found?.later).set(action.after, log.slice(action.after + 1))
      return [world, { type: 'learned', findings: { later } }]
    }
    case 'recall-calls':
      return [world, { type: 'learned', findings: { haveWaited: luck.haveWaited } }]
    case 'move-back': {
      if (isOutdated) return [world, { type: 'outdated' }]
      const { before, said, again } = action.deferred
      const messages = [...action.results, ...said]
      return wrote(write(log, { type: 'append', messages, rewindTo: before.at, again }))
    }
    case 'answer-calls': {
      const { now, open, deferred } = action
      const use = open.at(-1)?.use ?? 0
      const pending = open.map(({ call: { id, name, input } }) => ({ call: id, tool: name, input }))
      if (luck.calls === 'left')
        return [world, { type: 'calls-answered', use, left: { asked: now, waiting: [], pending } }]
      const results = user(open.map(({ call }) => toolResult(call.id)))
      return [
        { ...world, log: record(log, [results], deferred?.before.at ?? now.at) },
        { type: 'calls-answered', use },
      ]
    }
    case 'examine-step':
      return [world, { type: 'step-examined', stopped: luck.isStopped ? 'stop-when' : undefined }]
    case 'prepare-step':
      return [world, { type: 'step-prepared', settings: state.options }]
    case 'fit':
      throw new Error('The window is large.')
    case 'ask-model': {
      const { now, deferred } = action
      expect(action.prepared.request.awaits).toBe('model')
      if (luck.reply === 'interrupted') {
        const messages = [user([text('Stop.')])]
        return [{ ...world, log: write(log, { type: 'append', messages }) }, { type: 'interrupted' }]
      }
      const spoken = { ...world, ...speak(world, luck) }
      const origin = { stopReason: reasons[luck.reply] }
      const content = contentOf(luck.reply, log.length)
      const from = deferred?.before.at ?? now.at
      const next = record(spoken.log, [{ role: 'assistant', content, origin }], from)
      const position = next.findLastIndex(
        (event) => event.type === 'MessageAppended' && event.data.role === 'assistant',
      )
      const isFollowed = position < next.length - 1
      const reply = finalReplyAt('c', effective(next))
      if (!reply) throw new Error('The reply is recorded.')
      return [
        { ...spoken, log: next },
        { type: 'answered', reply, isFollowed, asked: now },
      ]
    }
    case 'check-inbox':
      return [
        world,
        { type: 'inbox-checked', ending: { reply: action.reply, mail: inbox, now: effective(log) } },
      ]
  }
}

interface Played {
  readonly world: World
  readonly state: TurnState
  readonly last: Extract<TurnAction, { readonly type: 'finish' | 'fail' }>
}

/** Plays a turn to its end, and fails if it takes too many actions. */
const play = (log: Log, steps: Parameters<typeof settled>[0], luck: readonly Chance[]): Played => {
  let world: World = { log, inbox: [], said: [] }
  let state = stateAtStart('c', settled({ context: { window: 10_000_000 }, ...steps }), newCourse)
  const seen: string[] = []
  for (let nth = 0; nth < 200; nth++) {
    const action = nextAction(state)
    seen.push(action.type)
    if (action.type === 'finish' || action.type === 'fail') return { world, state, last: action }
    const own = luck[nth] ?? calm
    // A message that is appended while the conversation is not busy is for the next turn.
    const isForNext = own.says === 'appends' && !isToDo(effective(world.log))
    const isSilent = action.type === 'ask-model' || isForNext
    const [next, outcome] = carryOut(action, state, [isSilent ? world : speak(world, own), own])
    world = next
    state = evolveTurn(state, outcome)
  }
  throw new Error(`The turn does not end: ${seen.slice(-20).join(', ')}`)
}

const steps = fc.constantFrom(
  {},
  { onStep: () => {} },
  { stopWhen: ['run'] },
  { prepareStep: () => undefined },
)

describe('a turn of any history, whatever its actions come to', () => {
  it('ends, and leaves nothing to answer unless it waits or was stopped', () => {
    fc.assert(
      fc.property(
        histories(),
        steps,
        fc.array(chance, { maxLength: 30, size: 'max' }),
        (before, options, luck) => {
          const log = write(before, { type: 'append', messages: [user([text('Why?')])] })
          const { world, state, last } = play(log, options, luck)
          if (last.type === 'fail') {
            expect(last.error._tag).toBe('NothingToAnswer')
            return
          }
          const isOpen = last.reply.pending.length > 0 || state.stopped !== undefined
          const now = effective(world.log)
          if (!isOpen) expect(render(now).awaits).not.toBe('model')
          const texts = now.items
            .flatMap(messagesOf)
            .flatMap(({ content }) => content.map((block) => block['text']))
          const queued = new Set(world.inbox.map(({ id }) => id))
          const counted = world.said.filter((said) => !queued.has(said))
          expect(counted.filter((said) => texts.filter((one) => one === said).length !== 1)).toEqual([])
        },
      ),
      { numRuns: runs(400) },
    )
  })
})
