import { accessSync, constants, createReadStream } from 'node:fs'
import { SingleBar } from 'cli-progress'
import type { Command } from 'commander'
import { visible, visibleLines } from '../../transfer/formats/visible.ts'
import { fileUnreadable, type ImportError } from '../../transfer/formats/errors.ts'
import { formats } from '../../transfer/formats/plan.ts'
import { formatNames } from '../../transfer/formats/registry.ts'
import type { Format, ImportOptions, ImportResult, SessionStream, Store } from '../../index.ts'
import { toError } from '../../result/typed-error.ts'
import { withBoundedHeap } from '../bounded-heap.ts'
import { type CliError, failureOf, unknownChoice, usage } from '../errors.ts'
import type { Host } from '../host.ts'
import { checkId } from '../options.ts'
import {
  databaseNamed,
  folderProblem,
  isFolder,
  kindOf,
  type NamedDatabase,
  sessionPaths,
  type SessionPath,
  withSessionsInDatabases,
} from '../session-files.ts'
import type { CommandSession, Shell } from '../shell.ts'
import { plural } from '../text.ts'
import {
  type ImportedFile,
  isIncomplete,
  isUnchanged,
  mostExamples,
  writeExamples,
  writeFiles,
  writeImported,
  writeSums,
} from '../views/import-report.ts'

interface Options {
  readonly format?: Format
  readonly id?: string
  readonly skipBadLines?: boolean
  readonly verbose?: boolean
  readonly last?: true
  readonly archive: boolean
  readonly follow?: true
}

export const addImport = (program: Command, shell: Shell): void => {
  program
    .command('import [file...]')
    .description(
      'import sessions, or folders of them (- reads standard input); without a file, list the sessions of this machine',
    )
    .option(
      '--format <format>',
      `${formats.join(', ')}, or one registered by --load (default: recognised by content)`,
    )
    .option('--id <id>', 'id of the conversation (default: the id of the session)')
    .option('--last', 'import the newest session of this machine, of --format if it is given')
    .option('--follow', 'then import what its program adds to the file, until Ctrl-C')
    .option('--no-archive', 'do not keep the file itself, from which it could be exported to the byte')
    .option('--skip-bad-lines', 'skip unreadable lines, and list them')
    .option('--verbose', 'of several files: report on each one, instead of sums and a few examples')
    .addHelpText(
      'after',
      `
Importing a file again adds only what is new. Without a file, lists the sessions
of Claude Code, Codex, pi, Copilot CLI and Gemini CLI on this machine, newest
first. In a pipe, each line is time, format, size in bytes, file, project and
first prompt, separated by tabs.

Examples:
  palimpsest import
  palimpsest import --format claude-code --last
  palimpsest import --last --follow
  palimpsest import ~/.claude/projects
  palimpsest import api_conversation_history.json --id task-42`,
    )
    .action(async (given: readonly string[], { last: isLast, ...options }: Options) => {
      if (isLast === true && given.length > 0)
        throw toError(usage('--last chooses the file: leave the files out'))
      if (given.length > 0) return importGiven(given, options)
      access(given, options)
      const context = shell.surroundings()
      const { machineSessions, noSessionFound, writeSessions } = await import('../views/session-list.ts')
      const found = (await machineSessions(context.host.env)).filter(
        ({ format }) => format === (options.format ?? format),
      )
      if (isLast !== true) return writeSessions(context, found)
      const [newest] = found
      if (!newest) throw toError(noSessionFound(options.format))
      return importGiven([newest.file], options)
    })
  const importGiven = shell.action(
    access,
    async (session: CommandSession, files: readonly string[], options: Options) => {
      const paths = await withSessionsInDatabases(sessionPaths(files))
      const [only] = paths
      if (options.follow) {
        if (!only || paths.length > 1 || kindOf(only.file)?.isFile() !== true)
          throw toError(usage('--follow is for one file'))
        return follow(session, only.file, options)
      }
      if (only && !only.isFound && paths.length === 1) {
        // The report on a single file is always whole.
        const { verbose: _verbose, ...importing } = options
        const result = { file: only.file, ...(await importFile(session, only.file, importing)) }
        if (isIncomplete(result)) session.fail()
        if (session.isJson) return session.out.json({ imported: [result] })
        return writeImported(session.out, result)
      }
      await importAll(session, paths, options)
    },
  )
}

/** Imports a file and what is added to it, until Ctrl-C. */
const follow = async (
  { store, out, isJson, host }: CommandSession,
  file: string,
  { format, id, skipBadLines, archive }: Options,
): Promise<void> => {
  const stop = new AbortController()
  const end = (): void => stop.abort()
  process.once('SIGINT', end).once('SIGTERM', end)
  const bytes = (start: number) => createReadStream(file, { start, highWaterMark: 256 * 1024 })
  try {
    if (!isJson) host.stderr.write(`following ${visible(file)}: Ctrl-C ends it\n`)
    const session = { file, bytes, format, id, skipBadLines }
    for await (const result of store.followSession(session, { archive, signal: stop.signal })) {
      if (isJson) await out.json({ file, ...result }, false)
      else
        for (const { id: conversation, added, events } of result.conversations)
          if (added > 0)
            await out.line([`${conversation}  ${plural(added, 'event')} added, ${events} in all`])
    }
  } finally {
    process.off('SIGINT', end).off('SIGTERM', end)
  }
}

/** Outcome of importing several files. */
interface Outcome {
  readonly imported: ImportedFile[]
  readonly failed: (CliError & { readonly file: string })[]
  /** Empty files, and files whose session has no messages. */
  readonly withoutMessages: string[]
  /** Files of unknown format that were found in a folder. */
  readonly noSessions: string[]
}

/** Imports files sequentially. Continues after an error about one file; any other error ends the import. */
const importAll = async (
  session: CommandSession,
  paths: readonly SessionPath[],
  { verbose: isVerbose = false, ...options }: Options,
): Promise<void> => {
  const { out, isJson, host, fail } = session
  const outcome: Outcome = { imported: [], failed: [], withoutMessages: [], noSessions: [] }
  const { imported, failed, withoutMessages, noSessions } = outcome
  let shown = 0
  for (const { file, isFound } of paths) {
    try {
      const result = { file, ...(await importFile(session, file, options)) }
      imported.push(result)
      if (isIncomplete(result)) fail()
      if (isJson) continue
      if (isVerbose) await writeImported(out, result)
      else if (!isUnchanged(result))
        shown += await writeExamples(out, result, Math.max(0, mostExamples - shown))
    } catch (error) {
      const failure = aboutFile(failureOf(error), file)
      if (failure['isWithoutMessages'] === true) withoutMessages.push(file)
      else if (isFound && failure._tag === 'UnknownFormat') noSessions.push(file)
      else if (fileErrors.has(failure._tag)) {
        fail()
        failed.push({ ...failure, file })
        const alike = failed.filter(({ _tag }) => _tag === failure._tag).length
        if (!isJson && !isDiverged(failure) && (isVerbose || alike <= mostExamples))
          writeFailure(host, failure)
      } else {
        if (!isJson) writeLast(host, failed, isVerbose)
        throw toError({ ...failure, file, ...outcome })
      }
    }
  }
  if (isJson) return out.json(outcome)
  if (!isVerbose) await writeSums(out, imported)
  writeLast(host, failed, isVerbose)
  await writeFiles(out, 'no messages yet', withoutMessages, isVerbose)
  await writeFiles(out, 'not a session', noSessions, isVerbose)
  await out.line([summaryOf(outcome)])
}

const writeFailure = ({ stderr }: Host, { message }: CliError): unknown =>
  stderr.write(`error: ${visibleLines(message)}\n`)

/** Reports whether a file has new messages that no longer fit its conversation. */
const isDiverged = ({ _tag }: CliError): boolean => _tag === 'ImportDiverged'

/** Writes which files diverged, after all others, where the user sees them together, and how many failures were not written. */
const writeLast = (host: Host, failed: readonly CliError[], isVerbose: boolean): void => {
  const most = isVerbose ? Infinity : mostExamples
  for (const failure of failed.filter(isDiverged).slice(0, most)) writeFailure(host, failure)
  for (const [tag, { length }] of Map.groupBy(failed, ({ _tag }) => _tag))
    if (length > most)
      host.stderr.write(
        `error: ${plural(length - most, 'more file')} failed with ${tag}: --verbose lists all\n`,
      )
}

/** Errors about a single file, after which the others can still be imported. */
const fileErrors: ReadonlySet<string> = new Set<ImportError['_tag']>([
  'UnknownFormat',
  'UnsupportedFormat',
  'BadLine',
  'ImportDiverged',
  'FileUnreadable',
  'InvalidInput',
  'EventTooLarge',
])

const aboutFile = (failure: CliError, file: string): CliError =>
  failure.message.startsWith(file) ? failure : { ...failure, message: `${file}: ${failure.message}` }

const summaryOf = ({ imported, failed, withoutMessages, noSessions }: Outcome): string => {
  const conversations = imported.flatMap((each) => each.conversations)
  const added = conversations.reduce((sum, each) => sum + each.added, 0)
  const files = imported.length + failed.length + withoutMessages.length + noSessions.length
  const unchanged = imported.filter(isUnchanged).length
  // A file may be named twice.
  const ids = new Set(conversations.map(({ id }) => id))
  return [
    `${plural(files, 'file')}: ${plural(ids.size, 'conversation')}, ${plural(added, 'event')} added`,
    ...(unchanged > 0 ? [`${unchanged} unchanged`] : []),
    ...(failed.length > 0 ? [`${failed.length} failed`] : []),
    ...(withoutMessages.length > 0 ? [`${withoutMessages.length} without messages`] : []),
    ...(noSessions.length > 0 ? [`${noSessions.length} not a session`] : []),
  ].join('; ')
}

const access = (files: readonly string[], { format, id }: Options): 'created' => {
  if (format !== undefined && !formatNames().includes(format))
    throw toError(unknownChoice('--format', format, formatNames()))
  if (id !== undefined && (files.length > 1 || files.some(isFolder)))
    throw toError(usage('--id names one conversation: import one file at a time with it'))
  if (files.filter((file) => file === '-').length > 1)
    throw toError(usage('standard input can be read only once: give - only once'))
  if (id !== undefined) checkId(id)
  const [only] = files
  if (only !== undefined && only !== '-' && files.length === 1)
    checkReadable(databaseNamed(only)?.path ?? only)
  return 'created'
}

const checkReadable = (file: string): void => {
  try {
    accessSync(file, constants.R_OK)
  } catch (error) {
    throw toError(fileUnreadable(file, error))
  }
}

/** Imports a file. On a terminal, a progress bar is shown while events remain to be written. */
export const importFile = async (
  { store, out, host }: CommandSession,
  file: string,
  { archive, ...options }: Options,
): Promise<ImportResult> => {
  const problem = folderProblem(file)
  if (problem) throw toError(problem)
  const bar = new SingleBar({
    format: '{file}  {bar}  {value}/{total} events',
    clearOnComplete: true,
    stream: host.stderr,
  })
  let isShown = false
  const progress = (written: number, total: number): void => {
    if (!isShown && written < total) bar.start(total, written, { file: visible(file) })
    isShown ||= written < total
    if (isShown) bar.update(written)
  }
  try {
    const name = file === '-' ? 'standard input' : file
    const database = databaseNamed(file)
    const wishes = { archive, ...(out.isTerminal && { progress }) }
    if (database?.session !== undefined)
      return await importFromDatabase(store, database, options, { ...wishes, archive: false })
    const session = { ...options, file: name, bytes: bytesOf(file, host) }
    return await withBoundedHeap(() => store.importSession(session, wishes))
  } catch (error) {
    const failure = failureOf(error)
    if (failure._tag !== 'BadLine' || options.format === undefined) throw error
    const advice = `. If the file is not in the format ${options.format}, leave --format out`
    throw toError({ ...failure, message: failure.message + advice })
  } finally {
    bar.stop()
  }
}

/** Imports the one session that a path names. It is not archived, because what is read of the database is no file. */
const importFromDatabase = async (
  store: Store,
  { path, session }: NamedDatabase,
  { id, skipBadLines }: Omit<Options, 'archive'>,
  wishes: ImportOptions,
): Promise<ImportResult> => {
  const { opencodeSessions } = await import('../../api/opencode-sessions.ts')
  for await (const file of opencodeSessions(path, session))
    return store.importSession({ ...file, id, skipBadLines }, wishes)
  throw toError(fileUnreadable(path, new Error('there is no session in it')))
}

/**
 * Returns the bytes of a file, or of standard input for `-`. A regular file can be read repeatedly; anything else, such as a pipe, can
 * be read only once.
 */
const bytesOf = (file: string, { stdin }: Host): SessionStream['bytes'] => {
  if (file === '-') return stdin
  const open = (): AsyncIterable<Uint8Array> => createReadStream(file, { highWaterMark: 256 * 1024 })
  return kindOf(file)?.isFile() === true ? open : open()
}
