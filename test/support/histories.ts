import { unknownBlock } from '../../src/events/blocks.ts'
import * as fc from 'fast-check'
import * as E from 'fp-ts/lib/Either.js'
import { type Block, isBlock } from '../../src/events/blocks.ts'
import { contentOf, type ConversationEvent, type Event, type Message } from '../../src/events/events.ts'
import type { ConversationCommand, NewMessage } from '../../src/commands/command.ts'
import { decide } from '../../src/commands/decide.ts'
import { stateOf } from '../../src/commands/state.ts'
import { effective, type Item, messagesOf } from '../../src/projections/effective.ts'
import type { Log } from '../../src/projections/path.ts'
import { eventAt, text } from './log.ts'
import { madeOnce } from './made-once.ts'
import { anyBlocks, type Blocks, calls, reply, result, someText, words } from './random-blocks.ts'

// Random logs. `histories` holds only what commands write; `rawLogs` any events, as another program might have written them.

type Step = (log: Log) => ConversationCommand | undefined
/** A whole number that picks one of however many there are. */
const pick = fc.nat(1_000)
const at = <T>(list: readonly T[], picked: number): T | undefined => list[picked % Math.max(1, list.length)]

/** The blocks of the last messages, the newest message first. */
const recent = (log: Log): readonly Block[] =>
  log
    .slice(-12)
    .toReversed()
    .flatMap((event) => contentOf(event).flatMap(({ content }) => content))

/** Ids of the calls in the last messages. */
const recentCalls = (log: Log): readonly string[] =>
  recent(log).flatMap((block) => (isBlock(block, 'tool_use') ? [block.id] : []))

/** Ids of the server tool uses in them that have no result. */
const recentServers = (log: Log): readonly string[] => {
  const served = new Set(recent(log).map((block) => block['tool_use_id']))
  return recent(log).flatMap(({ type, id }) =>
    type === 'server_tool_use' && !served.has(id) ? [String(id)] : [],
  )
}

type Said = (log: Log, index: number) => NewMessage

const origins = fc.constantFrom('none', 'none', 'own', 'own', 'same', 'pause')

const message = (role: fc.Arbitrary<Message['role']>, content: fc.Arbitrary<Blocks>): fc.Arbitrary<Said> =>
  fc.tuple(role, content, origins).map(([who, blocks, origin]) => (log, index) => {
    const place = `${log.length}_${index}`
    const made = blocks({
      place,
      // Most look at neither.
      get calls() {
        return recentCalls(log)
      },
      get servers() {
        return recentServers(log)
      },
    }).map(unknownBlock)
    if (who !== 'assistant' || origin === 'none') return { role: who, content: made }
    const before = log.findLast((event) => event.type === 'MessageAppended' && event.data.role === who)
    const earlier = before?.type === 'MessageAppended' ? before.data.origin?.requestId : undefined
    const requestId = origin === 'same' ? (earlier ?? place) : place
    return {
      role: who,
      content: made,
      origin: { requestId, stopReason: origin === 'pause' ? 'pause_turn' : 'end_turn' },
    }
  })

const fromUser = message(fc.constant('user'), someText)
const fromAssistant = message(fc.constant('assistant'), reply)
const fromAnyone = message(fc.constantFrom('user', 'assistant', 'system'), anyBlocks)

/** Results of the last calls: all, a part, in another order, twice, with text among them. */
const answers = message(
  fc.constant('user'),
  fc
    .tuple(fc.array(result, { minLength: 1, maxLength: 3 }), fc.nat(9), someText)
    .map(([results, kind, extra]) => (scene) => {
      const ids = scene.calls.slice(0, 1 + (kind % 3))
      const all = ids.flatMap((id) => results[0]?.({ ...scene, calls: ids.map(() => id) }) ?? [])
      if (kind < 5) return all
      if (kind === 5) return all.toReversed()
      if (kind === 6) return [...extra(scene), ...all]
      if (kind === 7) return [...all, ...extra(scene)]
      return results.flatMap((one) => one(scene))
    }),
)

const appends = (messages: fc.Arbitrary<readonly Said[]>): fc.Arbitrary<Step> =>
  messages.map((all) => (log) => ({ type: 'append', messages: all.map((one, index) => one(log, index)) }))

const round: fc.Arbitrary<Step> = appends(fc.tuple(message(fc.constant('assistant'), calls)))

/** Options of condense and truncate, without `covers`. */
export const selections = fc.record(
  {
    fraction: fc.double({ min: 0.1, max: 1, noNaN: true }),
    keepFirst: fc.nat(3),
    keepLast: fc.nat(3),
    keepTokens: fc.nat(40),
  },
  { requiredKeys: [] },
)

const summaries = fc.oneof(
  fc.constant('What was said.'),
  fc.constant([text('Blocks of a summary.')]),
  fc.tuple(reply, reply).map(([one, other]) => [
    { role: 'user' as const, content: [text('What was asked.')] },
    {
      role: 'assistant' as const,
      content: one({ place: 'summary', calls: [], servers: [] }).map(unknownBlock),
    },
    {
      role: 'user' as const,
      content: other({ place: 'summary_2', calls: [], servers: [] }).map(unknownBlock),
    },
  ]),
)

const shown = (log: Log): readonly Item[] => effective(log).items

const hides: fc.Arbitrary<Step> = fc.tuple(selections, fc.option(summaries)).map(
  ([chosen, summary]) =>
    () =>
      summary ? { type: 'condense', ...chosen, summary } : { type: 'truncate', ...chosen },
)

const hidesExactly: fc.Arbitrary<Step> = fc
  .tuple(pick, pick, fc.option(summaries))
  .map(([from, length, summary]) => (log) => {
    const items = shown(log)
    const start = from % Math.max(1, items.length)
    const [first, last] = [items[start], at(items.slice(start), length)]
    if (!first || !last) return undefined
    const covers = { first: first.position, last: last.position }
    return summary ? { type: 'condense', covers, summary } : { type: 'truncate', covers }
  })

/** One item with the same roles, its tool results cleared. */
const shownOtherwise: fc.Arbitrary<Step> = fc
  .tuple(fromUser, words, fc.nat(3))
  .map(([one, content, kind]) => (log) => ({
    type: 'append',
    messages: [{ ...one(log, 0), shown: { content } }, ...(kind === 0 ? [one(log, 1)] : [])],
    ...(kind === 1 && log.length > 0 && { rewindTo: log.length - 1 }),
  }))

const edits: fc.Arbitrary<Step> = pick.map((which) => (log) => {
  const item = at(shown(log), which)
  const summary = item
    ? messagesOf(item).map(({ role, content }) => ({ role, content: content.map(cleared) }))
    : []
  if (!item || summary.length === 0) return undefined
  return { type: 'condense', covers: { first: item.position, last: item.position }, summary }
})
const cleared = (block: Block): Block =>
  block.type === 'tool_result' ? { ...block, content: '(cleared)' } : block

const compactions: fc.Arbitrary<Step> = fc.tuple(pick, words).map(([to, content]) => (log) => {
  const items = shown(log)
  const [first, last] = [items[0], at(items, to)]
  if (!first || !last) return undefined
  return {
    type: 'condense',
    covers: { first: first.position, last: last.position },
    summary: [{ role: 'assistant', content: [{ type: 'compaction', content, place: log.length }] }],
    method: 'provider',
  }
})

const restores: fc.Arbitrary<Step> = pick.map((which) => (log) => {
  const marker = at(
    shown(log).filter(({ kind }) => kind !== 'message'),
    which,
  )
  return marker && { type: 'restore', marker: marker.position }
})

const rewinds: fc.Arbitrary<Step> = fc
  .tuple(fc.nat(4), pick, fc.nat(6))
  .map(([kind, where, back]) => (log) => {
    if (kind === 0) return { type: 'rewind', turns: 1 + (back % 3) }
    const messages = log.filter(({ type }) => type === 'MessageAppended')
    if (kind === 1) return { type: 'rewind', before: at(messages, where)?.position ?? 0 }
    return {
      type: 'rewind',
      to: kind === 2 ? (where % (log.length + 1)) - 1 : Math.max(-1, log.length - 2 - back),
    }
  })

const configures: fc.Arbitrary<Step> = fc
  .tuple(fc.constantFrom('Be brief.', ' ', null, [text('Be brief.'), text('')], [marked('s')]), fc.nat(5))
  .map(([system, kind]) => () => {
    if (kind === 0) return { type: 'configure', parameters: { max_tokens: 10 } }
    if (kind === 1) return { type: 'configure', tools: [{ name: 'run', input_schema: {}, ...marked('t') }] }
    if (kind > 3) return { type: 'configure', tools: kind === 4 ? null : [] }
    return kind === 2 ? { type: 'configure', model: 'some-model' } : { type: 'configure', system }
  })
function marked(value: string): Block {
  return { ...text(value), cache_control: { type: 'ephemeral' } }
}

/** One step of a conversation's life. */
export const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: appends(fc.tuple(fromUser)) },
  { weight: 12, arbitrary: appends(fc.tuple(fromAssistant)) },
  { weight: 3, arbitrary: round },
  { weight: 10, arbitrary: appends(fc.tuple(answers)) },
  { weight: 4, arbitrary: appends(fc.array(fromAnyone, { minLength: 1, maxLength: 2 })) },
  { weight: 2, arbitrary: hides },
  { weight: 2, arbitrary: hidesExactly },
  { weight: 1, arbitrary: edits },
  { weight: 1, arbitrary: shownOtherwise },
  { weight: 1, arbitrary: compactions },
  { weight: 2, arbitrary: restores },
  { weight: 2, arbitrary: rewinds },
  { weight: 1, arbitrary: fc.constant<Step>(() => ({ type: 'undo' })) },
  { weight: 1, arbitrary: configures },
)

/** What a command does to a log: the log with its events, or the same log where it is refused. */
export const apply = (log: Log, command: ConversationCommand | undefined): Log => {
  const decided = command ? decide(command, stateOf('c', log, command)) : E.right([])
  return E.isLeft(decided)
    ? log
    : [...log, ...decided.right.map((event, index) => frozen(eventAt(stored(event), log.length + index)))]
}

/** As it comes back from a store: sharing nothing with what was given. */
const stored = (event: Event): Event => JSON.parse(JSON.stringify(event)) as Event

/** Frozen all the way down: a projection that changes what it reads throws. */
const frozen = <T>(value: T): T => {
  if (typeof value !== 'object' || value === null) return value
  for (const inner of Object.values(value)) frozen(inner)
  return Object.freeze(value)
}

/** Printed by fast-check as the events' types and data alone. */
const printed = (log: Log): Log =>
  Object.defineProperty([...log], fc.toStringMethod, {
    value: () =>
      log.map(({ position, type, data }) => `\n${position} ${type} ${JSON.stringify(data)}`).join(''),
  })

const runs = (maxLength: number): fc.ArrayConstraints => ({ minLength: 1, maxLength, size: 'max' })

/** Logs as commands write them: 1 to `maxSteps` commands, those that are refused left out. */
export const histories = (maxSteps = 60): fc.Arbitrary<Log> =>
  madeOnce(`histories of ${maxSteps}`, fc.array(steps, runs(maxSteps)), (all) =>
    printed(all.reduce<Log>((log, step) => apply(log, step(log)), [])),
  )

type Raw = (position: number) => Event

const earlier = (position: number, picked: number): number => picked % Math.max(1, position)
const tokens = { before: 1, after: 1 }
/** Mostly a slice that can be: the earlier position first. */
const rawCovers = (position: number, one: number, other: number): { first: number; last: number } => {
  const [from, to] = [earlier(position, one), earlier(position, other)]
  const isSorted = (one + other) % 8 > 0
  return { first: isSorted ? Math.min(from, to) : from, last: isSorted ? Math.max(from, to) : to }
}

const rawEvents: fc.Arbitrary<Raw> = fc
  .tuple(fc.nat(16), pick, pick)
  .map(([kind, one, other]) => (position): Event => {
    const covers = rawCovers(position, one, other)
    if (kind < 7) {
      const role = kind % 2 === 0 ? 'user' : 'assistant'
      return { type: 'MessageAppended', data: { role, content: [text(`message ${position}`)] } }
    }
    if (kind < 9) return { type: 'Truncated', data: { covers, messagesHidden: 1, tokens } }
    if (kind < 12) {
      const summary = [{ role: 'user' as const, content: [text(`summary ${position}`)] }]
      return { type: 'Condensed', data: { covers, messagesHidden: 1, tokens, summary, method: 'manual' } }
    }
    if (kind < 14) return { type: 'Restored', data: { marker: earlier(position, one) } }
    if (kind < 15) return { type: 'Rewound', data: { to: (one % (position + 1)) - 1 } }
    if (kind < 16) return { type: 'Configured', data: { system: `system ${one % 2}` } }
    return { type: 'Forked', data: { from: { conversation: 'parent', position: 0, hash: 'h' } } }
  })

/** Logs of events that no command would write: slices and markers that are not shown, views left out, rewinds to anywhere. */
export const rawLogs = (maxEvents = 60): fc.Arbitrary<Log> =>
  fc
    .array(rawEvents, runs(maxEvents))
    .map((all) =>
      printed(all.map((make, position): ConversationEvent => frozen(eventAt(make(position), position)))),
    )
