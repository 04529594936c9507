import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { node } from '../support/node.ts'
import { inDirectory, shell } from './palimpsest.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const source = new URL('../../src/index.ts', import.meta.url).href
const testing = new URL('../../src/testing/index.ts', import.meta.url).href

/** A module that registers `ram:`, one store for the whole process. */
const plugIn = `
  import { registerStore } from '${source}'
  import { memoryStore } from '${testing}'
  const closed = async () => ({ _tag: 'Right', right: undefined })
  const store = { ...memoryStore(), url: 'ram:', close: () => closed }
  registerStore('ram', () => async () => ({ _tag: 'Right', right: store }))
`

describe('a module that --import names', () => {
  test('is loaded before the command, which knows what it registered', async () => {
    await inDirectory(async (folder) => {
      writeFileSync(join(folder, 'ram.mjs'), plugIn)
      const said = await shell(
        'palimpsest --import ram.mjs append a --role user --text hello --store ram:',
        folder,
      )
      expect(said).toMatchObject({ stderr: '', code: 0 })
      const { stdout } = await shell('palimpsest doctor --store ram: --import ./ram.mjs', folder)
      expect(stdout).toBe('ok\tconnection\tram: opens\n')
    })
  })

  test.each([
    ['is not there', 'none.mjs', ''],
    ['is no JavaScript', 'broken.mjs', 'const = 5'],
    ['throws', 'throws.mjs', 'throw new Error("out of cheese")'],
    [
      'registers what is taken',
      'taken.mjs',
      `import { registerStore } from '${source}'\nregisterStore('sqlite', () => {})`,
    ],
  ])('and %s ends the command with an error that names it', async (_, name, code) => {
    await inDirectory(async (folder) => {
      if (code !== '') writeFileSync(join(folder, name), code)
      const ran = await shell(`palimpsest list --store memory: --import ${name} --json`, folder)
      const { error } = JSON.parse(ran.stderr) as { readonly error: unknown }
      expect(error).toMatchObject({
        _tag: 'PlugInFailed',
        file: name,
        message: expect.stringContaining(name),
      })
      expect(ran.code).toBe(1)
    })
  })

  test('works with the published command line: its library and the module’s know the same stores', async () => {
    await inDirectory(async (folder) => {
      const own = await unpacked(folder)
      cpSync(join(root, 'examples/store/jsonl.ts'), join(folder, 'jsonl.ts'))
      const program = [
        join(own, 'bin/palimpsest.js'),
        '--import',
        './jsonl.ts',
        '--store',
        'jsonl:a.jsonl',
        '--json',
      ]
      const palimpsest = async (...args: readonly string[]): Promise<unknown> => {
        const { stdout, stderr } = await run(node, [...program, ...args], { cwd: folder })
        expect(stderr).toBe('')
        return JSON.parse(stdout)
      }
      expect(await palimpsest('import', sample(own), '--id', 'a')).toMatchObject({
        imported: [{ conversations: [{ id: 'a', added: 34 }] }],
      })
      // A disk that is full: no file may grow beyond 128 KiB.
      writeFileSync(join(folder, 'long.txt'), 'x'.repeat(120_000))
      const append = [...program, 'append', 'a', '--role', 'user', '--file', 'long.txt']
      const full = run('bash', ['-c', 'ulimit -f 128; exec "$@"', 'bash', node, ...append], { cwd: folder })
      const refused: unknown = await full.catch((error: unknown) => error)
      expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('"StoreUnavailable"') })
      expect(await palimpsest('verify')).toMatchObject({ ok: true, conversations: [{ events: 34 }] })
    })
  })
})

const run = promisify(execFile)
const sample = (own: string): string => join(own, 'examples/sessions/claude-code.jsonl')

/** The package as it is published, in a folder's node_modules with its dependencies. Returns where it is. */
const unpacked = async (folder: string): Promise<string> => {
  const modules = join(folder, 'node_modules')
  mkdirSync(modules)
  await run('npm', ['pack', '--pack-destination', folder], { cwd: root, maxBuffer: 2 ** 26 })
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? expect.fail('no tarball')
  await run('tar', ['-xf', join(folder, tarball), '-C', modules])
  const own = join(modules, 'palimpsest')
  await run('mv', [join(modules, 'package'), own])
  const { dependencies } = JSON.parse(readFileSync(join(own, 'package.json'), 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>
  }
  for (const name of Object.keys(dependencies)) {
    mkdirSync(dirname(join(modules, name)), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), join(modules, name))
  }
  return own
}
