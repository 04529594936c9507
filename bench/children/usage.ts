// Preloaded into a command: when it ends, writes the processor time (ms) and the peak memory (bytes) that it took to a file.
import { writeFileSync } from 'node:fs'

process.on('exit', () => {
  const { user, system } = process.cpuUsage()
  const usage = { cpu: (user + system) / 1_000, peak: process.resourceUsage().maxRSS * 1024 }
  writeFileSync(process.env['PALIMPSEST_BENCH_USAGE'] ?? '', JSON.stringify(usage))
})
