import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { headText, type PartResult, partText, summaryText } from './report.ts'

/** Measures one thing, in a folder of its own. */
type Part = (folder: string, isQuick: boolean) => Promise<PartResult>

/**
 * Measures those parts that the command line names, or all of them, one after the other, and prints the results; after a whole run also
 * writes them to RESULTS-`name`.md.
 */
export const inTurn = async (name: string, parts: Readonly<Record<string, Part>>): Promise<void> => {
  const given = process.argv.slice(2)
  const isQuick = given.includes('--quick')
  const named = given.filter((word) => Object.hasOwn(parts, word))
  const loadBefore = loadavg()
  // On the project's own disk, as a temporary folder may be in memory.
  const reports = new URL('../reports', import.meta.url).pathname
  await mkdir(reports, { recursive: true })
  const folder = await mkdtemp(join(reports, `bench-${name}-`))
  try {
    const results: PartResult[] = []
    for (const title of named.length > 0 ? named : Object.keys(parts)) {
      process.stderr.write(`${title} …\n`)
      const own = join(folder, title)
      await mkdir(own)
      results.push(await measured(title, parts[title] as Part, own, isQuick))
    }
    const head = headText(loadBefore, `npm run bench:${name}${isQuick ? ' -- --quick' : ''}`)
    const text = `${[head, ...results.map(partText), summaryText(results)].join('\n\n')}\n`
    process.stdout.write(text)
    if (!isQuick && named.length === 0) await writeFile(new URL(`RESULTS-${name}.md`, import.meta.url), text)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** What a part finds; if it fails, the others are measured all the same. */
const measured = async (title: string, part: Part, folder: string, isQuick: boolean): Promise<PartResult> => {
  try {
    return await part(folder, isQuick)
  } catch (error) {
    return { title, figures: [], notes: [`Not measured: ${String(error)}`] }
  }
}
