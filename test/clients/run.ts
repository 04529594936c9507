// Runs the tests with real clients: npm run test:clients -- [files] [--runs POSITIONS] [--fixtures].
import { spawnSync } from 'node:child_process'
import { parseArgs } from 'node:util'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { runs: { type: 'string', default: '3' }, fixtures: { type: 'boolean', default: false } },
})
const { status } = spawnSync('vitest', ['run', '--config', 'vitest.clients.config.ts', ...positionals], {
  stdio: 'inherit',
  env: {
    ...process.env,
    PALIMPSEST_CONTINUE: values.runs,
    ...(values.fixtures && { PALIMPSEST_FIXTURES: '1' }),
  },
})
process.exitCode = status ?? 1
if (values.fixtures && status === 0) await import('./shapes.ts')
