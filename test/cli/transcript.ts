import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Env, inDirectory, printed } from './palimpsest.ts'

const prompt = '$ '

/** What differs from run to run, by what stands for it in a transcript. */
const variables: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}/g, '+<key>'],
  [/(\d+@\d+)-[0-9a-f]{8}/g, '$1-<event>'],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[57][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, '<uuid>'],
  [/\b[0-9a-f]{64}\b/g, '<hash>'],
  [/\b20\d\d-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d{3}Z)?)?/g, '<time>'],
]

/**
 * Runs the commands of a transcript one after another in an empty directory.
 *
 * A transcript is a Markdown document. In its `console` blocks a line that begins with `$ ` is a command; what stands below is
 * what it writes, then `[1]` where it ends with that exit code.
 *
 * @returns the document with what the commands really wrote
 */
export const replay = (document: string): Promise<string> =>
  inDirectory((directory) => replayIn(directory, document))

/** The same in this directory. A `ts` block that begins with `// NAME.ts` is written to that file first. */
export const replayIn = async (directory: string, document: string, env: Env = {}): Promise<string> => {
  const replayed: string[] = []
  let fence = ''
  let block: string[] = []
  for (const line of document.split('\n')) {
    if (line.startsWith('```')) {
      const [, name] = /^\/\/ (\S+\.ts)$/.exec(block[0] ?? '') ?? []
      if (fence === '```ts' && name) await writeFile(join(directory, name), block.join('\n'))
      ;[fence, block] = [fence === '' ? line : '', []]
    } else block.push(line)
    if (fence !== console || line === console) replayed.push(line)
    else if (line.startsWith(prompt))
      replayed.push(line, ...(await answer(line.slice(prompt.length), directory, env)))
  }
  return replayed.join('\n')
}
const console = '```console'

const answer = async (command: string, directory: string, env: Env): Promise<readonly string[]> => {
  const { stdout, code } = await printed(command, directory, env)
  const lines = normal(stdout)
    .split('\n')
    .map((line) => line.trimEnd())
  if (lines.at(-1) === '') lines.pop()
  return code === 0 ? lines : [...lines, `[${code}]`]
}

const normal = (output: string): string =>
  variables.reduce((text, [pattern, name]) => text.replaceAll(pattern, name), output)
