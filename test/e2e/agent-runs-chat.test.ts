import * as fc from 'fast-check'
import { afterAll, describe, it } from 'vitest'
import { checkRun, totals } from '../support/agent-runs/check.ts'
import { chatPlans } from '../support/agent-runs/random-plans.ts'
import { runAgents } from '../support/agent-runs/run.ts'
import { runs, scale } from '../support/runs.ts'

afterAll(() => {
  const counts = Object.entries(totals).map(([what, count]) => `${count} ${what}`)
  process.stdout.write(`agent runs with Chat Completions: ${counts.join(', ')}\n`)
})

describe('an agent run at Chat Completions, or at both APIs in turn, whatever happens in it', () => {
  it(
    'sends only requests that are valid there, keeps every reply, and can prove every call',
    { timeout: 900_000 * Math.max(1, scale) },
    async () => {
      await fc.assert(
        fc.asyncProperty(chatPlans, (plan) => runAgents(plan, checkRun)),
        { numRuns: runs(16) },
      )
    },
  )
})
