// npm run bench:agent [-- --quick]: the agent's requests and what a turn costs. Prints the results; after a whole run writes them to
// RESULTS-agent.md.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { cache } from './parts/cache.ts'
import { stream } from './parts/stream.ts'
import { turn } from './parts/turn.ts'
import { headText, partText } from './report.ts'

const isQuick = process.argv.includes('--quick')
const say = (text: string): void => void process.stderr.write(text)

const loadBefore = loadavg()
// On the project's own disk, as a temporary folder may be in memory.
const reports = new URL('../reports', import.meta.url).pathname
await mkdir(reports, { recursive: true })
const folder = await mkdtemp(join(reports, 'bench-agent-'))
try {
  say('turn …\n')
  const turns = partText(await turn(folder, isQuick))
  say('stream …\n')
  const streams = partText(await stream(isQuick))
  say('cache …\n')
  const text = `${[headText(loadBefore), turns, streams, partText(await cache(isQuick))].join('\n\n')}\n`
  process.stdout.write(text)
  if (!isQuick) await writeFile(new URL('RESULTS-agent.md', import.meta.url), text)
} finally {
  await rm(folder, { recursive: true, force: true })
}
