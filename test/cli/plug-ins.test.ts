import { writeFileSync } from 'node:fs'
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
})
