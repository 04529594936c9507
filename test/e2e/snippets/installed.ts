import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { builtDeclarations, builtPackage } from '../../support/bundle.ts'
import { root } from './snippets.ts'

const entry = (name: string): object => ({ types: `./types/${name}.d.ts`, default: `./dist/${name}.js` })
const exports = {
  '.': entry('index'),
  './core': entry('core'),
  './audit': entry('audit'),
  './client': entry('server/client/index'),
  './fp': entry('fp'),
  './investigate': entry('investigate/index'),
  './ai-sdk': entry('frameworks/ai-sdk'),
  './claude-agent-sdk': entry('frameworks/claude-agent-sdk'),
  './langgraph': entry('frameworks/langgraph'),
  './openai-agents': entry('frameworks/openai-agents'),
  './recorder': entry('recorder'),
  './testing': entry('testing/index'),
}
const others = [
  '@ai-sdk',
  '@anthropic-ai',
  '@eventstore',
  '@langchain',
  '@modelcontextprotocol',
  '@opentelemetry',
  'ai',
  'fp-ts',
  'openai',
  'valibot',
  'zod',
]

/** Makes this folder one in which the package is installed, and what the docs use beside it. */
export const installPackage = async (folder: string): Promise<void> => {
  const modules = join(folder, 'node_modules')
  await mkdir(join(modules, 'palimpsest'), { recursive: true })
  // What `@openai/agents` has beside the core is the client of the real API.
  await mkdir(join(modules, '@openai'))
  for (const name of ['agents', 'agents-core'])
    await symlink(join(root, 'node_modules/@openai/agents-core'), join(modules, '@openai', name))
  for (const name of others) await symlink(join(root, 'node_modules', name), join(modules, name))
  await symlink(await builtDeclarations(), join(modules, 'palimpsest/types'))
  await symlink(join(await builtPackage(), 'dist'), join(modules, 'palimpsest/dist'))
  await writeFile(
    join(modules, 'palimpsest/package.json'),
    JSON.stringify({ name: 'palimpsest', type: 'module', exports }),
  )
}
