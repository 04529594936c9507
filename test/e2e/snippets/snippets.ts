import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const root = new URL('../../..', import.meta.url).pathname

/** A program in the docs or in a comment of the code. */
export interface Snippet {
  /** `file:line` of its first line. */
  readonly place: string
  readonly code: string
}

/** Every Markdown file that people read, from the project's root. */
export const documents = (): readonly string[] =>
  globSync(['*.md', 'docs/**/*.md', 'examples/**/*.md'], { cwd: root }).toSorted()

/** The `ts` blocks of the docs, then the `@example`s of the sources. */
export const snippets = (): readonly Snippet[] => [
  ...documents().flatMap((file) => snippetsIn(file, /^( *)```ts\n([\s\S]*?)^ *```$/gm)),
  ...globSync('src/**/*.ts', { cwd: root })
    .toSorted()
    .flatMap((file) => snippetsIn(file, /^( *\* )@example\n([\s\S]*?)^ *\*(?:\/| @)/gm)),
]

/** What the pattern captures second, each line without the margin that it captures first. */
const snippetsIn = (file: string, pattern: RegExp): readonly Snippet[] => {
  const text = readFileSync(join(root, file), 'utf8')
  return [...text.matchAll(pattern)].map(({ 1: margin = '', 2: body = '', index }) => ({
    place: `${file}:${text.slice(0, index).split('\n').length + 1}`,
    code: body
      .split('\n')
      .map((line) => line.slice(margin.length))
      .join('\n'),
  }))
}
