import { describe } from 'vitest'
import { openStore } from 'palimpsest'
import { sessionStore } from 'palimpsest/claude-agent-sdk'
import { sessionStoreChecks } from './programs.ts'

// The checks of the Claude Agent SDK for stores of sessions, unchanged; `bun:test` is Vitest here.

const path = sessionStoreChecks()

interface Checks {
  readonly runSessionStoreConformance: (makeStore: () => Promise<unknown>) => void
}

describe.skipIf(path === undefined)('the checks of the Claude Agent SDK', async () => {
  if (path === undefined) return
  const { runSessionStoreConformance } = (await import(path)) as Checks
  runSessionStoreConformance(async () => sessionStore(await openStore('memory:')))
})
