// npm run bench [-- [--quick] [--megabytes=N] [PART…]]: measures, prints the results, and after a whole run writes them to RESULTS.md.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { buildConversation } from './build.ts'
import { append } from './parts/append.ts'
import { blob } from './parts/blob.ts'
import { commands } from './parts/commands.ts'
import { followers } from './parts/followers.ts'
import { full } from './parts/full.ts'
import { grownImport } from './parts/grown-import.ts'
import { importing } from './parts/import.ts'
import { load } from './parts/load.ts'
import { longImport } from './parts/long-import.ts'
import { memory } from './parts/memory.ts'
import { besides } from './parts/notes.ts'
import { pauses } from './parts/pauses.ts'
import { peers } from './parts/peers.ts'
import { sealed } from './parts/sealed.ts'
import { size } from './parts/size.ts'
import { start } from './parts/start.ts'
import { stretches } from './parts/stretches.ts'
import { installPeers } from './install-peers.ts'
import { count, headText, partText } from './report.ts'
import type { Setting } from './setting.ts'

const parts = {
  append,
  followers,
  peers,
  start,
  size,
  load,
  full,
  notes: besides,
  import: importing,
  longImport,
  grownImport,
  memory,
  blob,
  pauses,
  stretches,
  sealed,
  commands,
}

const say = (text: string): void => {
  process.stderr.write(text)
}

/** Builds each conversation that is asked for once. */
const builder = (folder: string): Setting['conversationOf'] => {
  const files = new Map<number, Promise<string>>()
  const build = async (events: number): Promise<string> => {
    say(`  building a conversation of ${count(events)} events\n`)
    const file = join(folder, `${events}.db`)
    await buildConversation(file, events)
    return file
  }
  return (events) => {
    const file = files.get(events) ?? build(events)
    files.set(events, file)
    return file
  }
}

const runParts = async (
  names: readonly (keyof typeof parts)[],
  { isQuick, megabytes }: Pick<Setting, 'isQuick' | 'megabytes'>,
): Promise<string> => {
  const loadBefore = loadavg()
  const noPeers = names.includes('peers') ? await installPeers(say) : undefined
  // On the project's own disk, as a temporary folder may be in memory.
  const reports = new URL('../reports', import.meta.url).pathname
  await mkdir(reports, { recursive: true })
  const folder = await mkdtemp(join(reports, 'bench-'))
  const conversationOf = builder(folder)
  const texts: string[] = []
  try {
    for (const name of names) {
      say(`${name} …\n`)
      const setting: Setting = {
        folder: join(folder, name),
        conversationOf,
        isQuick,
        megabytes,
        noPeers,
        say,
      }
      await mkdir(setting.folder)
      texts.push(partText(await parts[name](setting)))
      await rm(setting.folder, { recursive: true })
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  return `${[headText(loadBefore), ...texts].join('\n\n')}\n`
}

const isPart = (name: string): name is keyof typeof parts => Object.hasOwn(parts, name)

const given = process.argv.slice(2)
const isQuick = given.includes('--quick')
const sized = given.find((argument) => /^--megabytes=\d+$/.test(argument))
const megabytes = sized === undefined ? undefined : Number(sized.split('=')[1])
const named = given.filter((argument) => argument !== '--quick' && argument !== sized)
const unknown = named.find((name) => !isPart(name))
if (unknown === undefined) {
  const names = named.length > 0 ? named.filter(isPart) : Object.keys(parts).filter(isPart)
  const text = await runParts(names, { isQuick, megabytes })
  process.stdout.write(text)
  if (!isQuick && named.length === 0) await writeFile(new URL('RESULTS.md', import.meta.url), text)
} else {
  say(`There is no part ${unknown}. Parts: ${Object.keys(parts).join(', ')}; --quick for a short run.\n`)
  process.exitCode = 2
}
