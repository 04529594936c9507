import * as fc from 'fast-check'

// What happens in a run, as plain data. Numbers pick one of however many there are.

/** What somebody does to a conversation: between turns, or at any moment of one. */
export type Act =
  | { readonly type: 'say'; readonly whileBusy: 'enqueue' | 'interrupt' | 'rollback' | 'reject' }
  | { readonly type: 'append' | 'undo' | 'fork' | 'pause' | 'abort' | 'cancel' | 'die' }
  | { readonly type: 'rewind'; readonly to: 'turns' | 'position'; readonly back: number }
  | { readonly type: 'condense' | 'truncate'; readonly fraction: number }
  | { readonly type: 'configure'; readonly which: number }
  | {
      readonly type: 'decide'
      readonly which: number
      readonly how: 'approve' | 'deny' | 'edit'
      readonly times: number
    }
  /** Brings the result of a call that was handed back. */
  | { readonly type: 'bring'; readonly which: number }
  /** In the middle of a turn: another one at the same time, in another process. */
  | { readonly type: 'turn'; readonly options: TurnPlan; readonly moments: readonly Moment[] }

/** When something happens in a turn: at the nth thing of a kind that its process does, before or after it. */
export interface Moment {
  readonly on: 'append' | 'read' | 'request' | 'tool'
  readonly nth: number
  readonly isAfter: boolean
  readonly act: Act
}

export interface TurnPlan {
  readonly isStream: boolean
  readonly keep: boolean
  readonly expires: boolean
  readonly keepLate: boolean
  readonly keepPartial: boolean
  readonly maxCalls: number
  readonly budget: number | undefined
  readonly system: number
  readonly stopWhen: 'names' | 'function' | undefined
  /** Whether the model has to call a tool. */
  readonly isForced: boolean
  /** Whether each step has another model and system prompt. */
  readonly prepares: boolean
  /** Whether its process has the functions of the tools. */
  readonly hasTools: boolean
}

/** What the model says to a request. */
export interface Said {
  readonly calls: readonly Called[]
  readonly search: boolean
  readonly stop?: 'pause_turn' | 'max_tokens' | 'end_turn'
  readonly fault?: 'drop' | 'error' | 'end' | 'retry' | 'failed'
}
export interface Called {
  readonly name: string
  readonly asks: boolean
}

export interface Plan {
  readonly isSmall: boolean
  readonly retries: 0 | 1
  readonly replies: readonly Said[]
  readonly steps: readonly Act[]
}

export const toolNames = ['look', 'peek', 'save', 'mend', 'pay', 'gift', 'slow', 'far'] as const

const often = <T>(usual: T, other: fc.Arbitrary<T>, weight = 4): fc.Arbitrary<T> =>
  fc.oneof({ weight, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other })
const maybe = <T>(other: fc.Arbitrary<T>, weight: number): fc.Arbitrary<T | undefined> =>
  often<T | undefined>(undefined, other, weight)

const called: fc.Arbitrary<Called> = fc.record({
  name: fc.constantFrom(...toolNames, 'gift', 'pay', 'gift', 'far', 'ghost'),
  asks: often(true, fc.constant(false)),
})
const said: fc.Arbitrary<Said> = fc
  .record({
    calls: fc.oneof(
      { weight: 4, arbitrary: fc.array(called, { minLength: 1, maxLength: 3 }) },
      { weight: 1, arbitrary: fc.constant([]) },
    ),
    search: often(false, fc.constant(true), 7),
    stop: maybe(fc.constantFrom('pause_turn' as const, 'max_tokens' as const, 'end_turn' as const), 9),
    fault: maybe(
      fc.constantFrom('drop' as const, 'error' as const, 'end' as const, 'retry' as const, 'failed' as const),
      9,
    ),
  })
  .map(({ stop, fault, ...rest }) => ({ ...rest, ...(stop && { stop }), ...(fault && { fault }) }))

const options: fc.Arbitrary<TurnPlan> = fc.record({
  isStream: fc.boolean(),
  keep: often(false, fc.constant(true), 3),
  expires: often(false, fc.constant(true), 5),
  keepLate: often(false, fc.constant(true), 3),
  keepPartial: often(false, fc.constant(true), 2),
  maxCalls: often(20, fc.integer({ min: 1, max: 3 })),
  budget: maybe(fc.integer({ min: 1, max: 5 }), 5),
  system: often(0, fc.nat(2)),
  stopWhen: maybe(fc.constantFrom('names' as const, 'function' as const), 4),
  isForced: often(false, fc.constant(true), 9),
  prepares: often(false, fc.constant(true), 5),
  hasTools: often(true, fc.constant(false), 9),
})

const decide: fc.Arbitrary<Act> = fc.record({
  type: fc.constant('decide' as const),
  which: fc.nat(2),
  how: fc.constantFrom('approve' as const, 'approve' as const, 'edit' as const, 'deny' as const),
  times: often(1, fc.constant(2)),
})
const bring: fc.Arbitrary<Act> = fc.record({ type: fc.constant('bring' as const), which: fc.nat(2) })

/** What others do. */
const deeds: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('say' as const),
      whileBusy: fc.constantFrom(
        'enqueue' as const,
        'enqueue' as const,
        'interrupt' as const,
        'rollback' as const,
        'reject' as const,
      ),
    }),
  },
  { weight: 2, arbitrary: fc.constant<Act>({ type: 'append' }) },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('rewind' as const),
      to: fc.constantFrom('turns' as const, 'position' as const, 'position' as const),
      back: fc.nat(6),
    }),
  },
  { weight: 1, arbitrary: fc.constant<Act>({ type: 'undo' }) },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constantFrom('condense' as const, 'truncate' as const),
      fraction: fc.constantFrom(0.3, 1),
    }),
  },
  { weight: 1, arbitrary: fc.nat(2).map((which): Act => ({ type: 'configure', which })) },
  { weight: 4, arbitrary: decide },
  { weight: 2, arbitrary: bring },
)

const on = fc.constantFrom(
  'append' as const,
  'append' as const,
  'read' as const,
  'request' as const,
  'tool' as const,
)
const momentOf = (act: fc.Arbitrary<Act>): fc.Arbitrary<Moment> =>
  fc
    .record({ on, nth: fc.nat(5), isAfter: fc.boolean(), act })
    .map(({ nth, ...moment }) => ({ ...moment, nth: moment.on === 'read' ? nth * 5 : nth }))

/** What happens inside of a turn. */
const inside: fc.Arbitrary<Act> = fc.oneof(
  { weight: 5, arbitrary: deeds },
  { weight: 3, arbitrary: fc.constant<Act>({ type: 'die' }) },
  { weight: 1, arbitrary: fc.constantFrom<Act>({ type: 'abort' }, { type: 'cancel' }) },
  {
    weight: 1,
    arbitrary: options.map((other): Act => ({ type: 'turn', options: other, moments: [] })),
  },
)

const turn: fc.Arbitrary<Act> = fc.record({
  type: fc.constant('turn' as const),
  options,
  moments: fc.array(momentOf(inside), { maxLength: 3 }),
})

const say: fc.Arbitrary<Act> = fc.constant({ type: 'say', whileBusy: 'enqueue' })
/** What makes something for a turn to do, and the turn. */
const stepOf = (...acts: readonly fc.Arbitrary<Act>[]): fc.Arbitrary<readonly Act[]> => fc.tuple(...acts)
const step: fc.Arbitrary<readonly Act[]> = fc.oneof(
  { weight: 5, arbitrary: stepOf(say, turn) },
  { weight: 2, arbitrary: stepOf(turn) },
  { weight: 4, arbitrary: stepOf(decide, turn) },
  { weight: 2, arbitrary: stepOf(decide, decide, turn) },
  { weight: 2, arbitrary: stepOf(bring, turn) },
  { weight: 3, arbitrary: stepOf(deeds) },
  { weight: 2, arbitrary: stepOf(decide, deeds, turn) },
  { weight: 1, arbitrary: stepOf(fc.constantFrom<Act>({ type: 'fork' }, { type: 'pause' })) },
)
const steps: fc.Arbitrary<readonly Act[]> = fc
  .tuple(stepOf(say, turn), fc.array(step, { minLength: 1, maxLength: 7, size: 'max' }))
  .map(([first, others]) => [...first, ...others.flat()])

/** Without a bias: short runs find little. */
export const steered: fc.Arbitrary<Plan> = fc.noBias(
  fc.record({
    isSmall: often(false, fc.constant(true), 5),
    retries: fc.constantFrom(0, 1),
    replies: fc.array(said, { minLength: 2, maxLength: 14, size: 'max' }),
    steps,
  }),
)
