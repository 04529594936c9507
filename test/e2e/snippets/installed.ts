import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from './snippets.ts'

const exports = {
  '.': './src/index.ts',
  './core': './src/core.ts',
  './fp': './src/fp.ts',
  './testing': './src/testing/index.ts',
}

/** Makes this folder one in which the package is installed, as its sources, with what the docs use beside it. */
export const installPackage = async (folder: string): Promise<void> => {
  const modules = join(folder, 'node_modules')
  await mkdir(join(modules, 'palimpsest'), { recursive: true })
  for (const name of ['@anthropic-ai', '@modelcontextprotocol', 'fp-ts', 'openai', 'valibot', 'zod'])
    await symlink(join(root, 'node_modules', name), join(modules, name))
  await symlink(join(root, 'src'), join(modules, 'palimpsest/src'))
  await writeFile(
    join(modules, 'palimpsest/package.json'),
    JSON.stringify({ name: 'palimpsest', type: 'module', exports }),
  )
}
