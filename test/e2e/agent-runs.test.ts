import * as fc from 'fast-check'
import { afterAll, describe, it } from 'vitest'
import { checkRun, totals } from '../support/agent-runs/check.ts'
import { plans } from '../support/agent-runs/random-plans.ts'
import { runAgents } from '../support/agent-runs/run.ts'
import { runs, scale } from '../support/runs.ts'

afterAll(() => {
  const counts = Object.entries(totals).map(([what, count]) => `${count} ${what}`)
  process.stdout.write(`agent runs: ${counts.join(', ')}\n`)
})

describe('an agent run, whatever happens in it', () => {
  it(
    'sends only valid requests, keeps every reply, and can prove every call',
    // 38 to 56 seconds on two busy cores.
    { timeout: 900_000 * Math.max(1, scale) },
    async () => {
      await fc.assert(
        fc.asyncProperty(plans, (plan) => runAgents(plan, checkRun)),
        { numRuns: runs(150) },
      )
    },
  )
})
