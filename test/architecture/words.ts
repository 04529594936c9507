import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

// Counts how the sources speak. `npm run check:words` prints it; words.test.ts lets no number grow.

const source = fileURLToPath(new URL('../../src', import.meta.url))

interface SourceFile {
  readonly path: string
  readonly text: string
}

/** A type or function that a file declares and exports. */
interface ExportedName {
  readonly name: string
  readonly path: string
}

/** All of src, the frozen renderers left out: they are copies. */
const sourceFiles = (): readonly SourceFile[] =>
  readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.tsx?$/.test(path) && !path.startsWith('projections/renderers/'))
    .toSorted()
    .map((path) => ({ path, text: readFileSync(join(source, path), 'utf8') }))

const exportedTypes = ({ path, text }: SourceFile): readonly ExportedName[] =>
  [...text.matchAll(/^export (?:declare )?(?:interface|type|class|abstract class) (\w+)/gm)].map(
    ({ 1: name = '' }) => ({ name, path }),
  )

const topFolder = (path: string): string => (path.includes('/') ? (path.split('/')[0] ?? '') : '/')

/** The names that a file imports or exports again from others of src, with the file that each is taken from. */
const takenNames = ({ path, text }: SourceFile): readonly ExportedName[] =>
  [...text.matchAll(/^(?:import|export) (?:type )?\{([^}]*)\} from '(\.[^']*)'/gm)].flatMap(
    ({ 1: list = '', 2: specifier = '' }) => {
      const from = relative(source, join(source, dirname(path), specifier))
      return list
        .split(',')
        .map((part) => /^\s*(?:type )?(\w+)/.exec(part)?.[1] ?? '')
        .filter((name) => name !== '')
        .map((name) => ({ name, path: from }))
    },
  )

const keyOf = ({ name, path }: ExportedName): string => `${path} ${name}`

const isOneWord = (name: string): boolean => !/^.+[A-Z]/.test(name)

/** Participles that do not end in `ed` or `ing`. */
const irregular = new Set(
  'Begun Bound Broken Built Caught Chosen Done Drawn Found Given Gone Heard Held Hidden Kept Known Laid Led Left Lost Made Meant Met Paid Put Said Seen Sent Shown Shut Sold Spent Split Spoken Stood Taken Taught Thought Told Understood Won Written'.split(
    ' ',
  ),
)
/** Nouns and adjectives with the ending of a participle. */
const noParticiple = new Set(
  'Binding Embedding Encoding Feed Finding Heading Meaning Need Nothing Pairing Ping Pricing Reading Ring Seed Setting Speed Spelling String Thing Thinking Timing Tracking Warning Wording'.split(
    ' ',
  ),
)

/** Whether a type is named by what was or is being done, in its last word. Types of events and tags of errors are named so by rule. */
const isParticiple = (name: string): boolean => {
  const last = /[A-Z]?[a-z0-9]*$/.exec(name)?.[0] ?? name
  return !noParticiple.has(last) && (/(?:ed|ing)$/.test(last) || irregular.has(last))
}

const exportedFunctions = ({ path, text }: SourceFile): readonly ExportedName[] =>
  [
    ...text.matchAll(
      /^export (?:async )?function\*? \*?(\w+)|^export const (\w+)(?:: [^=\n]+)? =\s*(?:async )?(?:<[^\n]*?>)?\(/gm,
    ),
  ].map(({ 1: declared, 2: assigned = '' }) => ({ name: declared ?? assigned, path }))

const prepositions = 'After As At Back Before By From In Of On Since Through To With'.split(' ')

/** Nouns with the ending of a gerund that name a result: `reasoningIn`. */
const gerundNouns = new Set('beginning ending finding meaning missing reasoning thinking warning'.split(' '))

/** True if a function is named by a gerund or a participle alone, or before a preposition: `held`, `heldSince`. `openCallsIn` has a noun. */
const isParticipleFunction = (name: string): boolean => {
  const { 1: first = '', 2: second } = /^([a-z0-9]+)([A-Z][a-z0-9]*)?/.exec(name) ?? []
  const isAlone = second === undefined || (prepositions.includes(second) && !gerundNouns.has(first))
  return isAlone && isParticiple(first.charAt(0).toUpperCase() + first.slice(1))
}

/** Names of types that are the names of events or tags of errors. */
const tagsIn = (files: readonly SourceFile[]): ReadonlySet<string> =>
  new Set(
    files.flatMap(({ text }) =>
      [...text.matchAll(/(?:_tag|type): '([A-Z]\w+)'/g)].map(({ 1: name = '' }) => name),
    ),
  )

const clauses = ['What', 'Whether', 'How', 'Who', 'Of', 'Where', 'As', 'Why', 'Which', 'When']

const docstrings = ({ text }: SourceFile): readonly string[] =>
  [...text.matchAll(/\/\*\*\s*(?:\* ?)?(.*?)\*\//gs)].map(({ 1: words = '' }) => words)

/** Numbers that may only fall. */
export interface WordCounts {
  /** Exported types of one word that a file of another top folder imports, or exports again. */
  readonly oneWordAcross: number
  /** Exported types whose name another file of src declares, too. */
  readonly namesakes: number
  readonly participles: number
  /** Exported functions named by a gerund or a participle. */
  readonly participleFunctions: number
  /** Docstrings that begin with a clause: their first word is What, Whether, How … */
  readonly clauses: number
  /** `whoever` and `whatever`, in code and comments. */
  readonly whoever: number
}

/** What the numbers are parts of, and the names. */
export interface WordReport extends WordCounts {
  readonly types: number
  readonly typesAcross: number
  readonly functions: number
  readonly docstrings: number
  readonly names: {
    readonly oneWordAcross: readonly string[]
    readonly namesakes: readonly string[]
    readonly participles: readonly string[]
    readonly participleFunctions: readonly string[]
  }
}

export const wordReport = (): WordReport => {
  const files = sourceFiles()
  const types = files.flatMap(exportedTypes)
  const across = new Set(
    files.flatMap((file) =>
      takenNames(file)
        .filter(({ path }) => topFolder(path) !== topFolder(file.path))
        .map(keyOf),
    ),
  )
  const typesAcross = types.filter((type) => across.has(keyOf(type)))
  const oneWordAcross = typesAcross.filter(({ name }) => isOneWord(name))
  const byName = Map.groupBy(types, ({ name }) => name)
  const namesakes = types.filter(({ name }) => new Set(byName.get(name)?.map(({ path }) => path)).size > 1)
  const tags = tagsIn(files)
  const participles = types.filter(({ name }) => isParticiple(name) && !tags.has(name))
  const functions = files.flatMap(exportedFunctions)
  const participleFunctions = functions.filter(({ name }) => isParticipleFunction(name))
  const docs = files.flatMap(docstrings)
  const beginning = new RegExp(`^(?:${clauses.join('|')})\\b`)
  const listed = (all: readonly ExportedName[]): readonly string[] => all.map(keyOf).toSorted()
  return {
    types: types.length,
    typesAcross: typesAcross.length,
    oneWordAcross: oneWordAcross.length,
    namesakes: namesakes.length,
    participles: participles.length,
    functions: functions.length,
    participleFunctions: participleFunctions.length,
    docstrings: docs.length,
    clauses: docs.filter((words) => beginning.test(words)).length,
    whoever: files.reduce(
      (sum, { text }) => sum + [...text.matchAll(/\b(?:whoever|whatever)\b/gi)].length,
      0,
    ),
    names: {
      oneWordAcross: listed(oneWordAcross),
      namesakes: listed(namesakes),
      participles: listed(participles),
      participleFunctions: listed(participleFunctions),
    },
  }
}

const percent = (part: number, whole: number): string => `${((100 * part) / whole).toFixed(1)} %`

const printed = ({ names, ...counts }: WordReport, all: boolean): string => {
  const lines = [
    `exported types: ${counts.types}; ${counts.typesAcross} cross a folder (a file of another top folder imports them)`,
    `of one word, and cross a folder: ${counts.oneWordAcross} (at most 60)`,
    `with a namesake in another file: ${counts.namesakes} (none)`,
    `named by a participle: ${counts.participles}, ${percent(counts.participles, counts.types)} (at most 3 %)`,
    `exported functions: ${counts.functions}; ${counts.participleFunctions} are named by a gerund or a participle`,
    `docstrings: ${counts.docstrings}; ${counts.clauses} begin with a clause, ${percent(counts.clauses, counts.docstrings)} (at most 3 %)`,
    `whoever, whatever: ${counts.whoever} (at most 10)`,
  ]
  const lists = Object.entries(names).flatMap(([title, list]) => ['', `${title}:`, ...list])
  return [...lines, ...(all ? lists : ['', '--names lists them'])].join('\n')
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  process.stdout.write(`${printed(wordReport(), process.argv.includes('--names'))}\n`)
