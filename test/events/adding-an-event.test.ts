import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tsc } from '../support/tsc.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** A step of the guide: a file, and its changes as in a diff without line numbers. */
interface Step {
  readonly file: string
  readonly changes: string
}

const guide = async (): Promise<string> => {
  const [, section = ''] = (await readFile(join(root, 'docs/events.md'), 'utf8')).split(
    '\n## Adding an event type\n',
  )
  return section.split('\n## ')[0] ?? ''
}

const stepsIn = (section: string): readonly Step[] =>
  [...section.matchAll(/^\d+\. `(src\/\S+)`.*\n\n( +)```diff\n([\s\S]*?)^\2```$/gm)].map(
    ([, file = '', indent = '', changes = '']) => ({
      file,
      changes: changes.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    }),
  )

/** @param before undefined: a new file */
const changed = (before: string | undefined, { file, changes }: Step): string =>
  changes.split('@@\n').reduce((text, hunk) => {
    const lines = hunk.trimEnd().split('\n')
    const linesBut = (sign: string): string =>
      lines.flatMap((line) => (line.startsWith(sign) ? [] : [`${line.slice(1)}\n`])).join('')
    if (before === undefined) return linesBut('-')
    const parts = `\n${text}`.split(`\n${linesBut('+')}`)
    expect(parts, `places in ${file} for\n${hunk}`).toHaveLength(2)
    return parts.join(`\n${linesBut('-')}`).slice(1)
  }, before ?? '')

const run = promisify(execFile)

describe('the guide to adding an event type', () => {
  let folder: string
  let steps: readonly Step[]
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'palimpsest-event-'))
    const own = [
      'src',
      'package.json',
      'tsconfig.json',
      'test/support/log.ts',
      'test/support/specification.ts',
    ]
    for (const path of own) await cp(join(root, path), join(folder, path), { recursive: true })
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
    steps = stepsIn(await guide())
    for (const step of steps) {
      const path = join(folder, step.file)
      const before = await readFile(path, 'utf8').catch(() => undefined)
      await writeFile(path, changed(before, step))
    }
    await mkdir(join(folder, 'test/commands'))
    await cp(join(root, 'test/events/pin.test.ts.txt'), join(folder, 'test/commands/pin.test.ts'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('names no more than fourteen files of src, each once, and says how many', async () => {
    const section = await guide()
    expect(steps).toHaveLength([...section.matchAll(/^\d+\. /gm)].length)
    expect(new Set(steps.map(({ file }) => file)).size).toBe(steps.length)
    expect(steps.length).toBeLessThanOrEqual(14)
    const [needed = ''] = section.split('\nOnly if the command gets its own method:\n')
    expect([stepsIn(needed).length, steps.length]).toEqual([11, 14])
    expect(section).toContain(
      'change eleven files of `src`, in this order. If the command also gets its own method in every API, change fourteen files',
    )
  })

  test('leads to sources that compile', async () => {
    // All of it with the page's settings, which allow more: its parts are checked with their own where they are.
    const config = join(folder, 'tsconfig.all.json')
    const settings = { extends: './src/ui/tsconfig.json', compilerOptions: { rootDir: '.' } }
    await writeFile(config, JSON.stringify({ ...settings, include: ['src', 'test'] }))
    expect(await tsc(['-p', config])).toBe('')
  })

  test('leads to an event that is decided, carried out, shown and undone', async () => {
    await writeFile(join(folder, 'vitest.config.ts'), "export default { cacheDir: './.cache' }\n")
    const { PATH, HOME, NODE_COMPILE_CACHE } = process.env
    const vitest = join(root, 'node_modules/vitest/vitest.mjs')
    const said = await run(process.execPath, [vitest, 'run', '--testTimeout=900000'], {
      cwd: folder,
      env: { PATH, HOME, NODE_COMPILE_CACHE, NO_COLOR: '1' },
    }).then(
      ({ stdout }) => stdout,
      ({ stdout, stderr }: { readonly stdout: string; readonly stderr: string }) => stdout + stderr,
    )
    expect(said).toMatch(/^ *Tests +4 passed \(4\)$/m)
  })
})
