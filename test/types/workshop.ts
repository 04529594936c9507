import { copyFile, cp, mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../e2e/snippets/snippets.ts'
import { builtDeclarations } from '../support/bundle.ts'

/** A folder with programs of this one, and the package's declarations as they are published. */
export const workshop = async (...programs: readonly string[]): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'palimpsest-types-'))
  const modules = join(folder, 'node_modules')
  const own = join(modules, 'palimpsest')
  await mkdir(own, { recursive: true })
  for (const name of ['@anthropic-ai', '@modelcontextprotocol', '@types', 'fp-ts', 'undici-types', 'zod'])
    await symlink(join(root, 'node_modules', name), join(modules, name))
  await copyFile(join(root, 'package.json'), join(own, 'package.json'))
  for (const program of programs) await copyFile(join(root, 'test/types', program), join(folder, program))
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
  await cp(await builtDeclarations(), join(own, 'dist'), { recursive: true })
  return folder
}
