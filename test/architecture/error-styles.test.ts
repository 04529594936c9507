import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

// Which folder says in which way that something failed: the table in ADR 16.

const root = fileURLToPath(new URL('../../', import.meta.url))
const source = `${root}src/`

const ways: Readonly<Record<string, RegExp>> = {
  Either: /(?<!Promise<\s*)\bE\.Either</,
  promise: /\bPromise<\s*E\.Either</,
  TaskEither: /\bTaskEither</,
  generator: /\bFallible</,
  throw: /\borThrow\(|\bthrow toError\(/,
}

const withoutComments = (text: string): string =>
  text.replaceAll(/\/\*.*?\*\//gs, '').replaceAll(/(?<!:)\/\/.*/g, '')

const waysIn = (text: string): readonly string[] => {
  const code = withoutComments(text)
  return Object.keys(ways).filter((way) => ways[way]?.test(code))
}

/** The table of the ADR: the ways of each folder, `` for files that are in none. */
const table = new Map(
  [
    ...readFileSync(`${root}docs/adr/0016-fallible-generators.md`, 'utf8').matchAll(
      /^\| ((?:the entries|`[a-z/]+`)(?:, `[a-z/]+`)*) +\| (.+?) +\|$/gm,
    ),
  ].flatMap(([, folders = '', names = '']) =>
    folders
      .split(', ')
      .map(
        (folder) =>
          [
            folder === 'the entries' ? '' : folder.slice(1, -1),
            names === 'none' ? [] : names.split(', '),
          ] as const,
      ),
  ),
)

/** The longest folder of the table that a file is in. */
const folderOf = (file: string): string | undefined =>
  file.includes('/')
    ? [...table.keys()]
        .filter((folder) => folder !== '' && file.startsWith(`${folder}/`))
        .toSorted((a, b) => b.length - a.length)[0]
    : ''

test.each([
  ['const f = (): E.Either<A, B> => E.right(b)', ['Either']],
  ['const f = async (): Promise<E.Either<A, B>> => E.right(b)', ['promise']],
  ['type F = Promise<\n  E.Either<A, B>\n>', ['promise']],
  ['const f = (): TE.TaskEither<A, B> => g', ['TaskEither']],
  ['async function* f(): Fallible<A, B> {}', ['generator']],
  ['const a = await orThrow(f())', ['throw']],
  ['// As E.Either<A, B>.\n/** Or Fallible<A, B>. */\nthrow error', []],
])('knows the ways of %j', (text, expected) => {
  expect(waysIn(text)).toEqual(expected)
})

test('every folder speaks the ways that the table in ADR 16 gives it', () => {
  const files = globSync('**/*.{ts,tsx}', { cwd: source })
  expect(files.length).toBeGreaterThan(800)
  const spoken = new Map([...table.keys()].map((folder) => [folder, new Map<string, string>()] as const))
  for (const file of files) {
    const folder = folderOf(file)
    const found = waysIn(readFileSync(source + file, 'utf8'))
    const own = folder === undefined ? undefined : spoken.get(folder)
    // A file in a folder that the table does not have may speak none.
    if (own) for (const way of found) own.set(way, file)
    else expect({ file, ways: found }).toEqual({ file, ways: [] })
  }
  for (const [folder, expected] of table)
    expect({
      folder,
      ways: [...(spoken.get(folder) ?? [])].filter(([way]) => !expected.includes(way)),
    }).toEqual({
      folder,
      ways: [],
    })
  const unused = [...table].flatMap(([folder, expected]) =>
    expected.flatMap((way) => (spoken.get(folder)?.has(way) ? [] : [`${folder}: ${way}`])),
  )
  expect(unused, 'ways in the table that nobody there speaks').toEqual([])
})
