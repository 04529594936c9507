import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { install, type Installed, installNow, reasonOf } from '../package.ts'
import { atMost, duration, type Figure, type PartResult, times as factor } from '../report.ts'
import { alternate, type Contender, ratioOf, timed, timeOf } from '../rounds.ts'
import type { Setting } from '../setting.ts'

const run = promisify(execFile)
const root = new URL('../..', import.meta.url).pathname
/** The package as it was before its start-up was looked at. */
const before = '53f7f82'
const title = 'Start: the packed package'

/** How long the package takes to start as its users have it: packed, and installed without development dependencies. */
export const start = async ({ folder, isQuick, say }: Setting): Promise<PartResult> => {
  say('  packing and installing this package\n')
  const now = await installNow(join(folder, 'now')).catch(reasonOf)
  if (typeof now === 'string')
    return { title, figures: [], notes: [`It could not be installed here: ${now}`] }
  const then = await installOld(join(folder, before), say).catch(reasonOf)
  const old = typeof then === 'string' ? undefined : then
  const contenders: Contender[] = [{ name: 'node -e 0', round: () => node(folder, '-e', '0') }]
  const installed = old ? [now, old] : [now]
  for (const each of installed) contenders.push(...(await startsOf(each)))
  const times = await alternate(contenders, isQuick ? 5 : 21)
  const ratio = (name: string): number => ratioOf(times, name, 'node -e 0')
  const asBefore = (name: string): readonly Figure[] =>
    old ? [{ what: `${name}, at ${before}`, figure: factor(ratio(`${name} ${before}`)) }] : []
  return {
    title,
    figures: [
      atMost('palimpsest show of the sample, compared with node -e 0', ratio('show now'), 5),
      ...asBefore('show'),
      atMost("import 'palimpsest', compared with node -e 0", ratio('import now'), 3.5),
      ...asBefore('import'),
      atMost('installed', now.mebibytes, 40, mebibytes),
      ...(old ? [{ what: `installed, at ${before}`, figure: mebibytes(old.mebibytes) }] : []),
    ],
    table: {
      head: ['', 'packages', 'show', "import 'palimpsest'", 'node -e 0'],
      rows: installed.map(({ name, packages }) => [
        name,
        String(packages),
        ...[`show ${name}`, `import ${name}`, 'node -e 0'].map((each) => duration(timeOf(times, each))),
      ]),
    },
    notes: [
      'Each is a process of its own, timed from start to exit. Installed: what node_modules takes on disk after `npm install` of the tarball in an empty project.',
      ...(typeof then === 'string'
        ? [
            `Not measured: the package of ${before} (${then}). In a shallow clone, \`git fetch --unshallow\` brings it.`,
          ]
        : []),
    ],
  }
}

const mebibytes = (size: number): string => `${size.toFixed(1)} MiB`

const node = (cwd: string, ...args: readonly string[]): Promise<number> =>
  timed(() => run(process.execPath, [...args], { cwd }))

const startsOf = async ({ name, folder }: Installed): Promise<readonly Contender[]> => {
  const own = join(folder, 'node_modules/palimpsest')
  const program = join(own, 'bin/palimpsest.js')
  const sample = join(own, 'examples/sessions/claude-code.jsonl')
  await node(folder, program, 'import', sample)
  const { stdout } = await run(process.execPath, [program, 'list', '--json'], { cwd: folder })
  const id = /"id":\s*"([^"]+)"/.exec(stdout)?.[1] ?? ''
  return [
    { name: `show ${name}`, round: () => node(folder, program, 'show', id) },
    {
      name: `import ${name}`,
      round: () => node(folder, '--input-type=module', '-e', "import 'palimpsest'"),
    },
  ]
}

const installOld = async (folder: string, say: Setting['say']): Promise<Installed> => {
  const source = join(folder, 'source')
  await mkdir(source, { recursive: true })
  const archive = join(folder, 'source.tar')
  await run('git', ['archive', '--output', archive, before], { cwd: root })
  say(`  building, packing and installing that of ${before}\n`)
  await run('tar', ['-xf', archive, '-C', source])
  await run('npm', ['ci'], { cwd: source, maxBuffer: 2 ** 26 })
  return install(before, source, join(folder, 'installed'))
}
