import { execFile } from 'node:child_process'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { openEvents } from '../../src/api/open.ts'
import { openStore } from '../../src/index.ts'
import { orThrow } from '../../src/result/fallible.ts'
import { longLog } from '../long-log.ts'
import { fillConversations } from '../many-conversations.ts'
import { installNow, moduleOf } from '../package.ts'
import { atMost, count, duration, type PartResult, times } from '../report.ts'
import { median } from '../rounds.ts'
import type { Setting } from '../setting.ts'

const run = promisify(execFile)
const usageHook = new URL('../children/usage.ts', import.meta.url).href

/** Resources that a process used: processor time and the time until it ended in milliseconds, peak memory in bytes. */
interface Usage {
  readonly cpu: number
  readonly peak: number
  readonly took: number
}

const megabytes = (bytes: number): string => `${count(bytes / 1e6)} MB`

/** Measures commands that read a whole long log beside a program that only reads the same rows, and the list of very many conversations. */
export const commands = async ({ folder, isQuick, say }: Setting): Promise<PartResult> => {
  const [rows, conversations, rounds] = isQuick ? [5_000, 2_000, 1] : [100_000, 100_000, 5]
  say('  packing and installing this package\n')
  const installed = await installNow(join(folder, 'package'))
  say('  writing a long log and many conversations\n')
  const long = `sqlite:${join(folder, 'long.db')}`
  const store = await openStore(`${long}?synchronous=off`)
  const written = await longLog(store.conversation('bench')).growTo(rows)
  await store.close()
  const many = join(folder, 'many.db')
  const events = await orThrow(openEvents(`sqlite:${many}?synchronous=off`))
  await fillConversations(events, { conversations, messages: 1, length: 100 })
  await events.close()()
  const policy = join(folder, 'policy.json')
  await writeFile(policy, '{ "context": { "window": 50000 }, "mode": "truncate" }')

  const file = join(folder, 'usage.json')
  const usageOf = async (args: readonly string[]): Promise<Usage> => {
    const started = performance.now()
    await run(process.execPath, ['--import', usageHook, ...args], {
      env: { ...process.env, PALIMPSEST_BENCH_USAGE: file },
      maxBuffer: 2 ** 30,
    })
    const took = performance.now() - started
    return { ...(JSON.parse(await readFile(file, 'utf8')) as Omit<Usage, 'took'>), took }
  }
  const main = join(installed.folder, 'node_modules/palimpsest/dist/cli/main.js')
  const reading = `const { openStore } = await import(${JSON.stringify(moduleOf(installed))})
    const store = await openStore(${JSON.stringify(long)})
    for await (const event of store.conversation('bench').events());
    await store.close()`
  const operations: Readonly<Record<string, readonly string[]>> = {
    reading: ['--input-type=module', '-e', reading],
    opening: ['--input-type=module', '-e', reading.replace(/for await.*;/, '')],
    start: [main, '--version'],
    why: [main, 'why', 'bench', '--store', long, '--json'],
    cache: [main, 'cache', 'bench', '--store', long, '--json'],
    cost: [main, 'cost', 'bench', '--store', long, '--json'],
    'replay --policy': [main, 'replay', 'bench', '--policy', policy, '--store', long, '--json'],
    'list, first': [main, 'list', '--store', `sqlite:${many}`, '--json'],
    'list, again': [main, 'list', '--store', `sqlite:${many}`, '--json'],
  }
  const found = new Map<string, Usage[]>()
  for (let round = 0; round < rounds; round++) {
    for (const [what, args] of Object.entries(operations)) {
      if (what === 'list, first')
        for (const end of ['', '-sums']) await rm(`${many}-index.1${end}`, { force: true })
      found.set(what, [...(found.get(what) ?? []), await usageOf(args)])
    }
    say(`  round ${round + 1} of ${rounds}\n`)
  }
  const of = (what: string, name: keyof Usage): number =>
    median((found.get(what) ?? []).map((one) => one[name]))
  const read = of('reading', 'cpu') - of('opening', 'cpu')
  const ratio = (what: string): number => (of(what, 'cpu') - of('start', 'cpu')) / read
  const investigations = ['why', 'cache', 'cost', 'replay --policy']
  return {
    title: 'Commands on long logs, and the list of many conversations',
    figures: [
      ...investigations.map((what) =>
        atMost(
          `${what}, compared with reading the same rows`,
          ratio(what),
          what === 'replay --policy' ? 15 : 5,
          times,
        ),
      ),
      ...investigations.map((what) => atMost(`peak memory of ${what}`, of(what, 'peak'), 300e6, megabytes)),
      atMost(
        `list --json of ${count(conversations)} conversations, not indexed`,
        of('list, first', 'took'),
        3_000,
        duration,
      ),
      atMost('the same again', of('list, again', 'took'), 3_000, duration),
    ],
    notes: [
      `Packed package, median of ${rounds} fresh processes. Ratios are of processor time, without the start of each program. The log has ${count(written + 1)} events (bench/long-log.ts): turns with tool calls, a summary every 400 messages, rewinds. The policy truncates to a window of 50,000 tokens. Reading the rows took ${duration(read)}.`,
    ],
  }
}
