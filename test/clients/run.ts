// Runs the tests with real clients: npm run test:clients -- [files] [--runs POSITIONS].
import { spawnSync } from 'node:child_process'
import { parseArgs } from 'node:util'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { runs: { type: 'string', default: '3' } },
})
const { status } = spawnSync('vitest', ['run', '--config', 'vitest.clients.config.ts', ...positionals], {
  stdio: 'inherit',
  env: { ...process.env, PALIMPSEST_CONTINUE: values.runs },
})
process.exitCode = status ?? 1
