import * as fc from 'fast-check'
import { afterAll, describe, it } from 'vitest'
import { runs, scale } from '../support/runs.ts'
import { judge, totals } from '../support/steered-runs/judge.ts'
import { steered } from '../support/steered-runs/plan.ts'
import { runSteered } from '../support/steered-runs/run.ts'

afterAll(() => {
  const counts = Object.entries(totals).map(([what, count]) => `${count} ${what}`)
  process.stdout.write(`steered runs: ${counts.join(', ')}\n`)
})

describe('a turn that people steer, whatever they do and wherever its process dies', () => {
  it(
    'does nothing twice and nothing unapproved, loses no word, and accounts for every call',
    { timeout: 900_000 * Math.max(1, scale) },
    async () => {
      await fc.assert(
        fc.asyncProperty(steered, (plan) => runSteered(plan, judge)),
        { numRuns: runs(60) },
      )
    },
  )
})
