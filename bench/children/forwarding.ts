// Forwards as `palimpsest record` does, and records nothing: the measure for the recorder. Prints its URL.
import { startProxy } from '../../src/cli/record/proxy.ts'

const upstream = new URL(process.argv[2] ?? '')
const proxy = await startProxy({
  port: 0,
  routes: [{ prefix: '', upstream }],
  onCall: () => Promise.resolve({}),
  onMissed: () => undefined,
  isStrict: false,
})
process.stdout.write(`ANTHROPIC_BASE_URL=${proxy.url}\n`)
