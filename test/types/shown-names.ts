import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openStore } from '../../src/index.ts'
import { root } from '../e2e/snippets/snippets.ts'
import { type Hover, hovers, type Place } from './language-server.ts'

/** What an editor shows of a name of the package. */
export interface NameShown extends Hover {
  readonly name: string
}

const entries = {
  palimpsest: 'src/index.ts',
  'palimpsest/ai-sdk': 'src/frameworks/ai-sdk.ts',
  'palimpsest/audit': 'src/audit.ts',
  'palimpsest/claude-agent-sdk': 'src/frameworks/claude-agent-sdk.ts',
  'palimpsest/client': 'src/server/client/index.ts',
  'palimpsest/core': 'src/core.ts',
  'palimpsest/fp': 'src/fp.ts',
  'palimpsest/investigate': 'src/investigate/index.ts',
  'palimpsest/langgraph': 'src/frameworks/langgraph.ts',
  'palimpsest/openai-agents': 'src/frameworks/openai-agents.ts',
  'palimpsest/recorder': 'src/recorder.ts',
  'palimpsest/testing': 'src/testing/index.ts',
}

interface Export {
  readonly name: string
  readonly isType: boolean
}
const exportsOf = (file: string): readonly Export[] => {
  const text = readFileSync(join(root, file), 'utf8')
  const own = [...text.matchAll(/^export (type )?\{([^}]*)\}/gm)].flatMap(([, type, names = '']) =>
    names
      .split(',')
      .map((name) => name.trim())
      .filter(Boolean)
      .map((name) => ({
        name: name.replace(/^(?:.* as |type )/, ''),
        isType: type !== undefined || name.startsWith('type '),
      })),
  )
  const lists = [...text.matchAll(/^export type \* from '\.\/([^']+)'/gm)]
  return [...own, ...lists.flatMap(([, list = '']) => exportsOf(`src/${list}`))]
}

/** A line of a program; with a name, the editor is asked about the first place where it stands. */
interface Line {
  readonly text: string
  readonly name?: string
  readonly at?: string
}

const show = async (folder: string, file: string, lines: readonly Line[]): Promise<readonly NameShown[]> => {
  await writeFile(join(folder, file), lines.map(({ text }) => text).join('\n'))
  const asked = lines.flatMap(({ text, name, at }, line) =>
    name === undefined || at === undefined
      ? []
      : [{ name, place: { line, character: text.lastIndexOf(at) } satisfies Place }],
  )
  const answers = await hovers(
    folder,
    join(folder, file),
    asked.map(({ place }) => place),
  )
  return answers.map((answer, index) => ({ ...answer, name: asked[index]?.name ?? '' }))
}

/** Every name that the package exports, and of every type also a constant of it. */
export const exportsShown = (folder: string): Promise<readonly NameShown[]> => {
  const lines = Object.entries(entries).flatMap(([entry, file], index) =>
    exportsOf(file).flatMap(({ name, isType }): readonly Line[] => {
      const own = `${name}_${index}`
      const kind = isType ? 'type ' : ''
      const imported = {
        text: `import ${kind}{ ${name} as ${own} } from '${entry}'`,
        name: `${name} of ${entry}`,
        at: own,
      }
      if (!isType) return [imported]
      const value = `a_${own}`
      return [imported, { text: `declare const ${value}: ${own}`, name: `a ${name} of ${entry}`, at: value }]
    }),
  )
  return show(folder, 'exports.ts', lines)
}

/** Every method of a store, a conversation and a worker. */
export const methodsShown = async (folder: string): Promise<readonly NameShown[]> => {
  const store = await openStore('memory:')
  const objects = {
    store,
    chat: store.conversation('c'),
    worker: store.worker({ turn: () => ({}) as never }),
  }
  await store.close()
  const begin = `import type { Conversation, Store, Worker } from 'palimpsest'
declare const store: Store, chat: Conversation, worker: Worker`
  const asked = Object.entries(objects).flatMap(([object, methods]) =>
    Object.entries(methods).flatMap(([name, method]: readonly [string, unknown]): readonly Line[] =>
      typeof method === 'function'
        ? [{ text: `void ${object}.${name}`, name: `${object}.${name}`, at: name }]
        : [],
    ),
  )
  return show(folder, 'methods.ts', [...begin.split('\n').map((text) => ({ text })), ...asked])
}
