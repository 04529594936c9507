import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { root } from '../e2e/snippets/snippets.ts'

const tsc = async (args: readonly string[]): Promise<string> => {
  const ran = promisify(execFile)(join(root, 'node_modules/.bin/tsc'), [...args], { cwd: root })
  return ran.then(
    ({ stdout }) => stdout,
    ({ stdout }: { readonly stdout: string }) => stdout,
  )
}

/** A folder with a program, and the package's declarations as they are published. */
const workshop = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'palimpsest-types-'))
  const modules = join(folder, 'node_modules')
  const own = join(modules, 'palimpsest')
  await mkdir(own, { recursive: true })
  for (const name of ['@anthropic-ai', '@types', 'fp-ts', 'undici-types', 'zod'])
    await symlink(join(root, 'node_modules', name), join(modules, name))
  await copyFile(join(root, 'package.json'), join(own, 'package.json'))
  await copyFile(join(root, 'test/types/usage.ts'), join(folder, 'usage.ts'))
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
  expect(await tsc(['-p', 'tsconfig.build.json', '--outDir', join(own, 'dist')])).toBe('')
  return folder
}

describe('a program that uses the package', () => {
  let folder: string
  beforeAll(async () => {
    folder = await workshop()
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
        noEmit: true,
        types: ['node'],
      }
      await writeFile(file, JSON.stringify({ compilerOptions, files: ['usage.ts'] }))
      expect(await tsc(['-p', file])).toBe('')
    },
  )
})
