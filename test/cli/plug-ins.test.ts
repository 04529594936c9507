import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { inDirectory, shell } from './palimpsest.ts'

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

describe('a module that --load names', () => {
  test('is loaded before the command, which knows what it registered', async () => {
    await inDirectory(async (folder) => {
      writeFileSync(join(folder, 'ram.mjs'), plugIn)
      const said = await shell(
        'palimpsest --load ram.mjs append a --role user --text hello --store ram:',
        folder,
      )
      expect(said).toMatchObject({ stderr: '', code: 0 })
      const { stdout } = await shell('palimpsest doctor --store ram: --load ./ram.mjs', folder)
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
      const ran = await shell(`palimpsest list --store memory: --load ${name} --json`, folder)
      const { error } = JSON.parse(ran.stderr) as { readonly error: unknown }
      expect(error).toMatchObject({
        _tag: 'PlugInFailed',
        file: name,
        message: expect.stringContaining(name),
      })
      expect(ran.code).toBe(1)
    })
  })

  test.each<[string, string, string, string | undefined]>([
    ['throws.mjs', '\nthrow new Error("out of cheese")', 'out of cheese', 'throws.mjs:2:7'],
    ['typed.ts', 'const f = (): never => {\n  throw new Error("typed")\n}\nf()', 'typed', 'typed.ts:2:9'],
    ['torn.mjs', '// One.\nconst = 5', "Unexpected token '='", 'torn.mjs:2'],
    ['torn.ts', 'const a: number = 5\nconst b: = 7', 'Unexpected token `=`', 'torn.ts:2'],
    ['enum.ts', 'const a = 5\nenum X { A }', 'TypeScript enum is not supported', 'enum.ts:2'],
    ['link.mjs', "\nimport { nope } from 'node:fs'", 'does not provide an export', 'link.mjs:2'],
    ['library.mjs', 'JSON.parse("{")', 'in JSON at position 1', 'library.mjs:1:6'],
    ['late.mjs', '\n\nawait Promise.reject(new TypeError("late"))', 'late', 'late.mjs:3:22'],
    ['deep.mjs', "import './bad/torn.ts'", 'Unexpected token `=`', 'bad/torn.ts:2'],
    [
      'taken.mjs',
      `import { registerStore } from '${source}'\nregisterStore('sqlite', () => {})`,
      'sqlite: is already registered',
      'taken.mjs:2:1',
    ],
    [
      'address.mjs',
      "const error = new Error('in use 127.0.0.1:4688')\nerror.stack = String(error) + '\\n    at node:net:1940:16'\nthrow error",
      'loaded: in use 127.0.0.1:4688\n',
      undefined,
    ],
    ['text.mjs', 'throw "a text"', 'a text', undefined],
    ['none.mjs', '', 'there is no such file', undefined],
  ])('and that fails is told with the place: %s', async (name, code, message, place) => {
    await inDirectory(async (folder) => {
      mkdirSync(join(folder, 'bad'))
      writeFileSync(join(folder, 'bad', 'torn.ts'), 'const a: number = 5\nconst b: = 7')
      if (code !== '') writeFileSync(join(folder, name), code)
      // A process of its own: here the tests' own loader would parse it.
      const { stdout: said } = await shell(
        `palimpsest list --store memory: --load ./${name} 2>&1 | cat`,
        folder,
      )
      expect(said).toContain(`the module ./${name} (--load) cannot be loaded: `)
      expect(said).toContain(message)
      // Advice may follow.
      if (place !== undefined) expect(said.replace(/: Node only .*/, '')).toContain(`, at ${place}\n`)
      expect(said).not.toMatch(/node:internal|plug-ins\.|please report/)
      expect(said.trimEnd().split('\n')).toHaveLength(1)
    })
  })
})
