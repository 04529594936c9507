import { readFileSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { root } from '../e2e/snippets/snippets.ts'
import { scale } from '../support/runs.ts'
import { tsc } from '../support/tsc.ts'
import { shownIn } from './marked.ts'
import { exportsShown, methodsShown } from './shown-names.ts'
import { workshop } from './workshop.ts'

describe('a program that uses the package', () => {
  let folder: string
  beforeAll(async () => {
    folder = await workshop('usage.ts', 'options.ts', 'hovers.ts')
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test.each([
    ['nodenext', 'nodenext'],
    ['esnext', 'bundler'],
  ])(
    'is told by the compiler what the package takes (module %s, resolution %s)',
    async (module, moduleResolution) => {
      const file = join(folder, `tsconfig.${moduleResolution}.json`)
      const compilerOptions = {
        target: 'es2022',
        module,
        moduleResolution,
        strict: true,
        exactOptionalPropertyTypes: true,
        noEmit: true,
        types: ['node'],
        // The declarations themselves are checked once; where everything is tried, in both ways.
        skipLibCheck: scale < 1 && moduleResolution === 'bundler',
      }
      await writeFile(file, JSON.stringify({ compilerOptions, files: ['usage.ts', 'options.ts'] }))
      expect(await tsc(['-p', file])).toBe('')
    },
  )

  test('is shown the names of the main types by an editor, not their fields', async () => {
    const compilerOptions = { target: 'es2022', module: 'nodenext', strict: true, types: ['node'] }
    const options = { ...compilerOptions, noUncheckedIndexedAccess: true }
    await writeFile(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: options, files: ['hovers.ts'] }),
    )
    const { shown, expected } = await shownIn(folder, join(folder, 'hovers.ts'))
    expect(shown).toEqual(expected)
  })

  test('is shown names also of the other types that are exported: nothing takes more than a dozen lines', async () => {
    const names = await exportsShown(folder)
    expect(names.length).toBeGreaterThan(500)
    expect(names.filter(({ shown }) => shown === undefined)).toEqual([])
    expect(names.filter(({ shown = '' }) => shown.split('\n').length > 12)).toEqual([])
    const functions = names.filter(({ shown = '' }) => /^\(alias\) (?:const|function)/.test(shown))
    expect(functions.length).toBeGreaterThan(50)
    expect(functions.filter(({ said }) => said.trim() === '')).toEqual([])
  })

  test('is told of every method of a store, a conversation and a worker how it can fail, and given an example', async () => {
    const methods = await methodsShown(folder)
    expect(methods.length).toBeGreaterThan(50)
    const missing = methods.flatMap(({ name, said }) => [
      ...(/\b(?:errors?|rejects|throws|fails?)\b/i.test(said) ? [] : [`${name}: no errors`]),
      ...(said.includes('@example') ? [] : [`${name}: no example`]),
    ])
    expect(missing).toEqual([])
  })

  test('is asked in options.ts about every type of options that is exported', () => {
    const exported = [
      'src/types.ts',
      'src/core-types.ts',
      'src/audit.ts',
      'src/server/client/index.ts',
      'src/investigate/index.ts',
      'src/recorder.ts',
      'src/testing/index.ts',
    ]
      .flatMap(
        (file) =>
          readFileSync(join(root, file), 'utf8').match(/\b[A-Z]\w*(?:Options|Input|Settings)\b/g) ?? [],
      )
      .filter((name) => name !== 'InvalidInput')
    const asked = readFileSync(join(root, 'test/types/options.ts'), 'utf8')
    expect(exported).toContain('TurnOptions')
    expect(exported.filter((name) => !asked.includes(`readonly ${name}: `))).toEqual([])
  })
})
