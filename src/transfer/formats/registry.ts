import * as E from 'fp-ts/lib/Either.js'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import type { Log } from '../../projections/path.ts'
import { withStubs } from '../disclosure/withheld.ts'
import { exporterOfLog, type FormatExporter } from './exporter.ts'
import { formats, type ImportAction, sessionFormats } from './plan.ts'
import type { ImportNotes } from './source.ts'

/** One conversation of a session file. */
export interface SessionConversation {
  /** Id of the conversation. Invalid characters are replaced. The second conversation with the same id gets `-2`, and so on. */
  readonly id: string
  /** Actions in order. An import of a longer version of the file continues after the refs that are already known. */
  readonly actions: readonly ImportAction[]
}

/** A custom format of session files. */
export interface SessionFormat {
  /**
   * Name of the format, for `format` and `--format`: a–z 0–9 -, beginning with a letter. Imported events have this name as their
   * actor's id.
   */
  readonly name: string
  /**
   * Reports whether a line indicates that the file has this format. Called with the first 50 non-blank lines, before the library's own
   * formats are tried.
   */
  readonly recognises: (line: string) => boolean
  /**
   * Reads a whole file and reports the outcome of each entry to `notes`. A line reported as `bad` ends the import unless bad lines are
   * skipped.
   */
  readonly parse: (text: string, notes: Omit<ImportNotes, 'report'>) => readonly SessionConversation[]
  /** Writes a conversation in pieces, for `palimpsest export --format NAME`. */
  readonly write?: (log: Log, conversation: string) => Iterable<string>
}

/** Another format already has this name. */
export interface FormatTaken {
  readonly _tag: 'FormatTaken'
  readonly message: string
  readonly format: string
}

const formatTaken = (format: string): FormatTaken => ({
  _tag: 'FormatTaken',
  message: `the format ${format} exists already: register yours under another name`,
  format,
})

const key: unique symbol = Symbol.for('palimpsest.formats')
const process: typeof globalThis & { [key]?: Map<string, SessionFormat> } = globalThis

/** Returns the formats that users have registered, by name. They are shared by all copies of the library in the process. */
export const ownFormats = (): Map<string, SessionFormat> => (process[key] ??= new Map())

/** Returns the names of all import formats. */
export const formatNames = (): readonly string[] => [...formats, ...ownFormats().keys()]

/** A function that writes a whole log in pieces. For an event whose position is in `withheld`, it writes only the hash given there. */
export type WriteLog = (
  log: Log,
  conversation: string,
  withheld?: ReadonlyMap<number, string>,
) => Iterable<string>

const documents = {
  vcon: async (): Promise<WriteLog> => (await import('./vcon/vcon.ts')).vcon,
  prov: async (): Promise<WriteLog> => (await import('./prov/prov.ts')).prov,
}
/** Names of the library's export formats for other programs that need nothing but the log. */
export type DocumentFormatName = keyof typeof documents

/**
 * Returns the function that writes a log in one of the library's formats for other programs; undefined if the library has no such
 * format.
 */
export const documentWriter = async (format: string): Promise<WriteLog | undefined> =>
  Object.hasOwn(documents, format) ? documents[format as DocumentFormatName]() : undefined

/** The library's export formats. `html` is not included, because its exporter needs the page and is therefore part of the server. */
const exporters: ReadonlyMap<string, () => Promise<FormatExporter>> = new Map<
  string,
  () => Promise<FormatExporter>
>([
  ['palimpsest', async () => (await import('./write-palimpsest.ts')).palimpsestExporter],
  ['anthropic', async () => (await import('./write-anthropic.ts')).anthropicExporter],
  ['markdown', async () => (await import('./write-markdown.ts')).markdownExporter],
  ['atif', async () => (await import('./write-atif.ts')).atifExporter],
  ['vcon', async () => exporterOfLog('vcon.json', await documents.vcon())],
  ['prov', async () => exporterOfLog('jsonld', await documents.prov())],
  ...sessionFormats.map(
    (name) =>
      [name, async () => (await import('./sessions/write-session.ts')).sessionExporter(name)] as const,
  ),
])

/** Returns the exporter for a format, either registered or built in; undefined if the format is unknown or cannot be exported. */
export const exporterOf = async (format: string): Promise<FormatExporter | undefined> => {
  const write = ownFormats().get(format)?.write
  return write ? registeredExporter(write) : exporters.get(format)?.()
}

/** Returns the exporter for a registered format, which gets stubs in place of withheld events. */
const registeredExporter = (write: NonNullable<SessionFormat['write']>): FormatExporter => {
  const exporter = exporterOfLog('txt', write)
  return {
    ...exporter,
    pieces: (chat, { withheld = new Map(), ...options }) =>
      exporter.pieces(withStubs(chat, withheld), options),
  }
}

/** Returns the names of all export formats. */
export const writableFormats = (): readonly string[] => [
  ...exporters.keys(),
  ...ownFormats()
    .values()
    .filter(({ write }) => write)
    .map(({ name }) => name),
]

const taken: ReadonlySet<string> = new Set<string>([...formats, ...exporters.keys(), 'html'])

/**
 * Registers a custom format for imports and exports in the whole process. Registering the same object again changes nothing. Errors:
 * `FormatTaken`; `InvalidInput`, whose path names the field that is missing or invalid.
 */
export const registerFormat = (format: SessionFormat): E.Either<FormatTaken | InvalidInput, void> => {
  if (typeof format !== 'object' || format === null)
    return E.left(invalidInput('format', 'must be an object { name, recognises, parse, write? }'))
  const { name, recognises, parse, write } = format
  if (typeof name !== 'string' || !/^[a-z][a-z0-9-]*$/.test(name))
    return E.left(invalidInput('name', 'must be a name such as acme: a–z 0–9 -, beginning with a letter'))
  if (typeof recognises !== 'function')
    return E.left(invalidInput('recognises', 'must be a function that examines a line'))
  if (typeof parse !== 'function')
    return E.left(invalidInput('parse', 'must be a function that reads a text'))
  if (write !== undefined && typeof write !== 'function')
    return E.left(invalidInput('write', 'must be a function that writes a conversation'))
  const there = ownFormats().get(name)
  if (taken.has(name) || (there && there !== format)) return E.left(formatTaken(name))
  ownFormats().set(name, format)
  return E.right(undefined)
}
