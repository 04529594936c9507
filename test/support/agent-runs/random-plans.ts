import * as fc from 'fast-check'
import type { AnyBlock } from '../../../src/events/blocks.ts'
import { text } from '../log.ts'
import type { StopReason } from '../../../src/testing/messages-api/replies.ts'
import type { Act, ChatPlan, Plan, Said, Thread, TurnPlan } from './plan.ts'

// Random agent runs.

const often = <T>(usual: fc.Arbitrary<T>, other: fc.Arbitrary<T>, weight = 4): fc.Arbitrary<T> =>
  fc.oneof({ weight, arbitrary: usual }, { weight: 1, arbitrary: other })
const maybe = (chance: number): fc.Arbitrary<boolean> =>
  fc.integer({ min: 1, max: 100 }).map((n) => n > 100 - chance)

const words = (most: number): fc.Arbitrary<string> =>
  fc.integer({ min: 1, max: most }).map((count) => 'so it was told '.repeat(count).trim())
const blank = fc.constantFrom('', ' ', '\n', 'ends in space \n')

const userContent: fc.Arbitrary<readonly AnyBlock[]> = often(
  words(60).map((said) => [text(said)]),
  fc.constantFrom<readonly AnyBlock[]>(
    [text('')],
    [text('  '), text('Well?')],
    [{ type: 'tool_result', tool_use_id: 'nobody', content: 'what nobody asked for' }],
    [text('half \ud83d')],
    [text('a'.repeat(6_000))],
  ),
  7,
)

const back = often(fc.nat(2), fc.nat(12), 2)
const acts: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('say' as const),
      role: often(fc.constant('user' as const), fc.constant('system' as const)),
      content: userContent,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('rewind' as const),
      to: fc.constantFrom('position' as const, 'position' as const, 'turns' as const, 'before' as const),
      back,
    }),
  },
  { weight: 1, arbitrary: fc.constant<Act>({ type: 'undo' }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('restore' as const), which: back }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constantFrom('condense' as const, 'truncate' as const),
      fraction: fc.constantFrom(0.2, 0.5, 1),
      keepLast: fc.nat(3),
    }),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom('Be brief.', ' ', 'Be kind.')
      .map((system): Act => ({ type: 'configure', system })),
  },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('fork' as const), back: often(fc.constant(0), back) }),
  },
)

const base: fc.Arbitrary<TurnPlan> = fc.record({
  model: fc.constantFrom('a', 'b'),
  system: fc.constantFrom('none', 'string', 'blocks'),
  tools: fc.nat(2),
  thinks: fc.boolean(),
  cache: fc.constantFrom<TurnPlan['cache']>('5m', '5m', '1h', false),
  systemMessages: fc.boolean(),
  summarizer: fc.constantFrom(
    'default',
    'small',
    'small',
    'other',
    'other',
    'own',
    'own',
    'throws',
    'fails',
    'off',
  ),
  keepPartial: fc.boolean(),
  keepLate: fc.boolean(),
  claimed: fc.constantFrom(0.7, 1, 1, 1.3, 2),
  percentage: fc.constantFrom(100, 100, 60),
  keepLast: fc.integer({ min: 1, max: 4 }),
  maxCalls: often(fc.constant(20), fc.integer({ min: 1, max: 3 })),
  maxTokens: fc.constantFrom(60, 120),
  retries: fc.constant(0),
})
const noChange: fc.Arbitrary<Partial<TurnPlan>> = fc.constant({})
const changes: fc.Arbitrary<Partial<TurnPlan>> = often(
  noChange,
  fc
    .tuple(
      base,
      fc.constantFrom<keyof TurnPlan>('model', 'system', 'tools', 'thinks', 'cache', 'summarizer', 'claimed'),
    )
    .map(([other, field]) => ({ [field]: other[field] })),
  3,
)
const endings: fc.Arbitrary<Partial<TurnPlan>> = fc.oneof(
  { weight: 8, arbitrary: noChange },
  { weight: 2, arbitrary: fc.nat(60).map((abortAt) => ({ abortAt })) },
  { weight: 1, arbitrary: fc.constant({ retries: 1 as const }) },
)

/** How turns are read and steered. */
const steering: fc.Arbitrary<Partial<TurnPlan>> = fc.oneof(
  { weight: 6, arbitrary: noChange },
  { weight: 3, arbitrary: fc.constantFrom('slowly' as const, 'fast' as const).map((reads) => ({ reads })) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 4 }).map((budget) => ({ budget })) },
  { weight: 1, arbitrary: fc.constantFrom(['nobody'], ['read', 'write']).map((stopWhen) => ({ stopWhen })) },
  { weight: 1, arbitrary: fc.constant({ alternates: true }) },
)

/** What is done in the middle of a turn. */
const meanwhile = (plain: TurnPlan): fc.Arbitrary<Act> =>
  fc.oneof(
    { weight: 10, arbitrary: acts },
    { weight: 2, arbitrary: fc.constant<Act>({ type: 'abort' }) },
    { weight: 2, arbitrary: fc.constant<Act>({ type: 'crash' }) },
    { weight: 2, arbitrary: fc.constant<Act>({ type: 'turn', options: plain }) },
  )

const calls = fc.constantFrom(
  'read',
  'read',
  'write',
  'write',
  'slow',
  'fail',
  'late',
  'huge',
  'blocks',
  'nothing',
  'nobody',
)
const input = often(
  fc.constantFrom<unknown>({ path: 'a.ts' }, {}),
  fc.constantFrom<unknown>('{"path', [1], 7),
  8,
)
const call: fc.Arbitrary<AnyBlock> = fc
  .tuple(calls, input)
  .map(([name, given]) => ({ type: 'tool_use', name, input: given }))

const thoughts: fc.Arbitrary<readonly AnyBlock[]> = fc.constantFrom<readonly AnyBlock[]>(
  [],
  [{ type: 'thinking', thinking: 'Hm, let me think.' }],
  [{ type: 'thinking', thinking: 'Hm.' }],
  [{ type: 'thinking', thinking: '' }],
  [{ type: 'redacted_thinking' }],
  [{ type: 'thinking', thinking: 'Hm.' }, { type: 'redacted_thinking' }],
)
const spoken: fc.Arbitrary<readonly AnyBlock[]> = often(
  words(25).map((said) => [text(said)]),
  fc.oneof(
    blank.map((said) => [text(said)]),
    fc.constant([]),
    fc.constant([text('a b '.repeat(600))]),
  ),
)
/** A server tool is asked for; its result comes with the next reply. */
const searches: fc.Arbitrary<readonly AnyBlock[]> = often(
  fc.constant([]),
  fc.constantFrom<readonly AnyBlock[]>(
    [{ type: 'server_tool_use', name: 'web_search', input: {} }],
    [{ type: 'mcp_tool_use', name: 'find', server_name: 'files', input: {} }],
    [
      { type: 'server_tool_use', name: 'web_fetch', input: {} },
      { type: 'server_tool_use', name: 'web_search', input: {} },
    ],
  ),
  3,
)
const content: fc.Arbitrary<readonly AnyBlock[]> = fc
  .tuple(thoughts, spoken, searches, fc.array(call, { maxLength: 3 }), thoughts, fc.nat(19))
  .map(([thought, words_, searched, called, more, odd]) => {
    const said = [...words_, ...searched]
    if (odd === 0) return [...thought, ...called, ...said]
    if (odd === 1) return [...thought, ...said, ...more, ...called]
    if (odd === 2) return [...said, ...thought]
    if (odd === 3)
      return [
        ...thought,
        ...said,
        { type: 'compaction', content: 'What came before.' },
        ...more,
        text('So.'),
        ...called,
      ]
    return [...thought, ...said, ...called]
  })

const faults: fc.Arbitrary<Said['fault']> = fc.oneof(
  fc.constantFrom<Said['fault']>('overloaded', 'retry', 'failed'),
  fc.record(
    {
      kind: fc.constantFrom('drop' as const, 'stall' as const, 'end' as const, 'error' as const),
      after: fc.nat(12),
    },
    { requiredKeys: ['kind'] },
  ),
)

const said = (plain: TurnPlan, blocksOf = content): fc.Arbitrary<Said> =>
  fc
    .tuple(
      blocksOf,
      often(
        fc.constant(undefined),
        fc.constantFrom<StopReason>('pause_turn', 'refusal', 'max_tokens', 'end_turn'),
        5,
      ),
      often(fc.constant(undefined), faults, 9),
      maybe(5),
      often(fc.constant(undefined), meanwhile(plain), 6),
    )
    .map(([blocks, stop, fault, isSlow, act]) => ({
      content: blocks,
      ...(stop && { stop }),
      ...(fault !== undefined && { fault }),
      ...(isSlow && { isSlow }),
      ...(act && { meanwhile: act }),
    }))

const steps = (plain: TurnPlan): fc.Arbitrary<readonly Act[]> =>
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc
        .tuple(userContent, changes, endings, steering, maybe(80))
        .map(([blocks, change, ending, steered, isAsked]): readonly Act[] => [
          ...(isAsked ? [{ type: 'say' as const, role: 'user' as const, content: blocks }] : []),
          { type: 'turn', options: { ...plain, ...change, ...ending, ...steered } },
        ]),
    },
    { weight: 2, arbitrary: acts.map((act) => [act]) },
  )

const thread: fc.Arbitrary<Thread> = base.chain((plain) =>
  fc.record({
    window: fc.constantFrom(600, 900, 900, 1_500, 1_500, 3_000, 20_000),
    replies: fc.array(said(plain), { maxLength: 24, size: 'max' }),
    summaries: fc.array(
      said(
        plain,
        often(
          words(6).map((told) => [text(told)]),
          content,
        ),
      ),
      { maxLength: 6, size: 'max' },
    ),
    meanwhile: fc.array(often(fc.constant(undefined), meanwhile(plain), 6), { maxLength: 24, size: 'max' }),
    steps: fc
      .array(steps(plain), { minLength: 1, maxLength: 12, size: 'max' })
      .map((all): readonly Act[] => all.flat()),
  }),
)

export const plans: fc.Arbitrary<Plan> = fc.record({
  store: often(fc.constant('memory' as const), fc.constant('sqlite' as const), 5),
  threads: often(
    fc.array(thread, { minLength: 1, maxLength: 1 }),
    fc.array(thread, { minLength: 2, maxLength: 2 }),
  ),
})

const chatPlan: fc.Arbitrary<ChatPlan> = fc.record({
  reasoning: fc.boolean(),
  images: fc.boolean(),
  system: fc.constantFrom('system' as const, 'developer' as const),
})

/** The same, with models at Chat Completions: in every turn, or in some of them. */
export const chatPlans: fc.Arbitrary<Plan> = fc
  .tuple(
    plans,
    chatPlan,
    fc.oneof(fc.constant([true]), fc.array(fc.boolean(), { minLength: 2, maxLength: 9 })),
  )
  .map(([plan, chat, choices]): Plan => {
    let turns = 0
    const withChat = (act: Act): Act =>
      act.type === 'turn' && choices[turns++ % choices.length] === true
        ? { ...act, options: { ...act.options, chat } }
        : act
    const inChat = (one: Said): Said => (one.meanwhile ? { ...one, meanwhile: withChat(one.meanwhile) } : one)
    const threads = plan.threads.map((one) => ({
      ...one,
      steps: one.steps.map(withChat),
      replies: one.replies.map(inChat),
      summaries: one.summaries.map(inChat),
      meanwhile: one.meanwhile.map((act) => act && withChat(act)),
    }))
    return { ...plan, threads }
  })
