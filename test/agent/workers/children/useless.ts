import type { WorkerSpec } from '../../../support/workers/chaos/fleet.ts'

// Says that it is a worker, and does nothing: `useless.ts SPEC`. With one slot, it dies of that.

const { slots } = JSON.parse(process.argv[2] ?? '') as WorkerSpec
process.stdout.write('useless\n')
if (slots === 1) throw new Error('it has one slot')
const parent = process.ppid
setInterval(() => process.ppid === parent || process.exit(), 1_000)
