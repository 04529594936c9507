import { describe, expect, it } from 'vitest'
import { judge } from '../../support/steered-runs/judge.ts'
import type { Act, Moment, Plan, Said } from '../../support/steered-runs/plan.ts'
import { type Observed, plain, runSteered } from '../../support/steered-runs/run.ts'

// What random runs of turns that people steer have found, each as small as it could be made.

const calls = (...names: readonly string[]): Said => ({
  calls: names.map((name) => ({ name, asks: true })),
  search: false,
})
const say: Act = { type: 'say', whileBusy: 'enqueue' }
const turn = (options: Partial<typeof plain> = {}, ...moments: readonly Moment[]): Act => ({
  type: 'turn',
  options: { ...plain, ...options },
  moments,
})
const run = (plan: Partial<Plan>, look?: (observed: Observed) => void): Promise<void> =>
  runSteered({ isSmall: false, retries: 0, replies: [], steps: [], ...plan }, async (observed) => {
    await judge(observed)
    look?.(observed)
  })

describe('calls that wait while something is in the inbox', () => {
  it.each(Array.from({ length: 10 }, (_, nth) => nth))(
    'are given up for what the user says beside the turn, which then answers it (at read %i)',
    async (nth) => {
      const append: Moment = { on: 'read', nth, isAfter: false, act: { type: 'append' } }
      const steps = [say, turn(), say, turn({ isStream: true }, append)]
      await run({ replies: [calls('far')], steps }, ({ turns }) => {
        const { outcome, events } = turns[1] ?? {}
        const ended = outcome && 'value' in outcome ? outcome.value.ended : undefined
        expect(events?.filter(({ type }) => type === 'waiting')).toHaveLength(ended === 'waiting' ? 1 : 0)
      })
    },
  )
})

describe('a call that may run twice and was approved', () => {
  it('is asked about again, and not run with the model’s input, once a rewind has left it while it started', async () => {
    const edit: Act = { type: 'decide', which: 0, how: 'edit', times: 1 }
    const rewind: Act = { type: 'rewind', to: 'turns', back: 0 }
    const leaving: Moment = { on: 'append', nth: 1, isAfter: false, act: rewind }
    const steps = [say, turn(), edit, turn({}, leaving), { type: 'undo' } as const]
    await run({ replies: [calls('mend')], steps }, ({ effects }) => {
      expect(effects.map(({ input }) => input)).toEqual([{ edited: 0, asks: true }])
    })
  })
})

describe('a turn that loses its conversation while it records a reply', () => {
  it('counts the calls that it has made before', async () => {
    const at = (nth: number, options: Partial<typeof plain> = {}): Moment => ({
      on: 'append',
      nth,
      isAfter: false,
      act: turn(options),
    })
    const first = turn({ isStream: true, isForced: true, maxCalls: 20 }, at(3, { keepPartial: true }), at(0))
    const steps = [say, first, say, turn()]
    await run({ replies: [calls('mend'), calls(), calls()], steps }, ({ turns }) => {
      const { outcome } = turns[0] ?? {}
      expect(outcome).toMatchObject({ value: { calls: 1 } })
    })
  })
})
