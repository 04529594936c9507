// npm run bench:server [-- [--quick] [PART…]]: the HTTP API. Prints the results, and at the end every figure that has a bar; after a whole run
// writes them to RESULTS-server.md.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { httpAppend } from './parts/http-append.ts'
import { httpRead } from './parts/http-read.ts'
import { httpSeen } from './parts/http-seen.ts'
import { list } from './parts/list.ts'
import { search } from './parts/search.ts'
import { headText, type PartResult, partText, summaryText } from './report.ts'

const parts = { read: httpRead, append: httpAppend, seen: httpSeen, list, search }
type Part = keyof typeof parts
const isPart = (name: string): name is Part => Object.hasOwn(parts, name)

const say = (text: string): void => void process.stderr.write(text)
const given = process.argv.slice(2)
const isQuick = given.includes('--quick')
const named = given.filter(isPart)

/** What a part finds; if it fails, the others are measured all the same. */
const measured = async (name: Part, folder: string): Promise<PartResult> => {
  try {
    return await parts[name](folder, isQuick)
  } catch (error) {
    return { title: name, figures: [], notes: [`Not measured: ${String(error)}`] }
  }
}

const loadBefore = loadavg()
// On the project's own disk, as a temporary folder may be in memory.
const reports = new URL('../reports', import.meta.url).pathname
await mkdir(reports, { recursive: true })
const folder = await mkdtemp(join(reports, 'bench-server-'))
try {
  const results: PartResult[] = []
  for (const name of named.length > 0 ? named : Object.keys(parts).filter(isPart)) {
    say(`${name} …\n`)
    const own = join(folder, name)
    await mkdir(own)
    results.push(await measured(name, own))
  }
  const head = headText(loadBefore, `npm run bench:server${isQuick ? ' -- --quick' : ''}`)
  const text = `${[head, ...results.map(partText), summaryText(results)].join('\n\n')}\n`
  process.stdout.write(text)
  if (!isQuick && named.length === 0) await writeFile(new URL('RESULTS-server.md', import.meta.url), text)
} finally {
  await rm(folder, { recursive: true, force: true })
}
