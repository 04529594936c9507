import { accessSync, constants, createReadStream } from 'node:fs'
import { SingleBar } from 'cli-progress'
import type { Command } from 'commander'
import { visible, visibleLines } from '../../transfer/formats/visible.ts'
import { fileUnreadable, type ImportError } from '../../transfer/formats/errors.ts'
import { formats } from '../../transfer/formats/plan.ts'
import { formatNames } from '../../transfer/formats/registry.ts'
import type { Format, ImportResult, SessionStream } from '../../index.ts'
import { toError } from '../../result/typed-error.ts'
import { withBoundedHeap } from '../bounded-heap.ts'
import { type CliError, failureOf, unknownChoice, usage } from '../errors.ts'
import type { Host } from '../host.ts'
import { checkId } from '../options.ts'
import type { Output } from '../output.ts'
import { folderProblem, isFolder, kindOf, sessionPaths, type SessionPath } from '../session-files.ts'
import type { CommandSession, Shell } from '../shell.ts'
import { plural } from '../text.ts'

interface Options {
  readonly format?: Format
  readonly id?: string
  readonly skipBadLines?: boolean
}

export const addImport = (program: Command, shell: Shell): void => {
  program
    .command('import <file...>')
    .description(
      'import sessions, or folders of them (- reads standard input); importing a file again adds only what is new',
    )
    .option(
      '--format <format>',
      `${formats.join(', ')}, or one registered by --load (default: recognised by content)`,
    )
    .option('--id <id>', 'id of the conversation (default: the id of the session)')
    .option('--skip-bad-lines', 'skip unreadable lines, and list them')
    .addHelpText(
      'after',
      '\nExamples:\n  palimpsest import ~/.claude/projects\n  palimpsest import api_conversation_history.json --id task-42',
    )
    .action(
      shell.action(access, async (session, files: readonly string[], options: Options) => {
        const paths = sessionPaths(files)
        const [only] = paths
        if (only && !only.isFound && paths.length === 1) {
          const result = await importFile(session, only.file, options)
          if (isIncomplete(result)) session.fail()
          if (session.isJson) return session.out.json({ imported: [{ file: only.file, ...result }] })
          return writeImported(session.out, only.file, result)
        }
        await importAll(session, paths, options)
      }),
    )
}

/** Outcome of importing several files. */
interface Outcome {
  readonly imported: (ImportResult & { readonly file: string })[]
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
  options: Options,
): Promise<void> => {
  const { out, isJson, host, fail } = session
  const outcome: Outcome = { imported: [], failed: [], withoutMessages: [], noSessions: [] }
  const { imported, failed, withoutMessages, noSessions } = outcome
  for (const { file, isFound } of paths) {
    try {
      const result = await importFile(session, file, options)
      imported.push({ file, ...result })
      if (isIncomplete(result)) fail()
      if (!isJson && !isUnchanged(result)) await writeImported(out, file, result)
    } catch (error) {
      const failure = aboutFile(failureOf(error), file)
      if (failure['isWithoutMessages'] === true) withoutMessages.push(file)
      else if (isFound && failure._tag === 'UnknownFormat') noSessions.push(file)
      else if (fileErrors.has(failure._tag)) {
        fail()
        failed.push({ ...failure, file })
        if (!isJson && !isDiverged(failure)) writeFailure(host, failure)
      } else {
        if (!isJson) writeDiverged(host, failed)
        throw toError({ ...failure, file, ...outcome })
      }
    }
  }
  if (isJson) return out.json(outcome)
  writeDiverged(host, failed)
  for (const file of withoutMessages) await out.line([`no messages yet: ${file}`, 'dim'])
  for (const file of noSessions) await out.line([`not a session: ${file}`, 'dim'])
  await out.line([summaryOf(outcome)])
}

const writeFailure = ({ stderr }: Host, { message }: CliError): unknown =>
  stderr.write(`error: ${visibleLines(message)}\n`)

/** Reports whether a file has new messages that no longer fit its conversation. */
const isDiverged = ({ _tag }: CliError): boolean => _tag === 'ImportDiverged'

/** Writes which files diverged. They come after all others, where the user sees them together. */
const writeDiverged = (host: Host, failed: readonly CliError[]): void => {
  for (const failure of failed.filter(isDiverged)) writeFailure(host, failure)
}

/** Reports whether a file had nothing that the store did not have, and nothing that differs from it. */
const isUnchanged = ({ conversations, report }: ImportResult): boolean =>
  report.badLines.length === 0 &&
  conversations.every(
    ({ added, notes, changed }) => added === 0 && notes === undefined && changed === undefined,
  )

/**
 * Reports whether a skipped line makes later lines unreadable, because each stored event has the hash of the one before it. A single bad
 * line, such as a torn end, has none after it.
 */
const isIncomplete = ({ format, report }: ImportResult): boolean =>
  format === 'palimpsest' && report.badLines.length > 1

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
  if (only !== undefined && only !== '-' && files.length === 1) checkReadable(only)
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
  options: Options,
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
    const session = { ...options, file: name, bytes: bytesOf(file, host) }
    return await withBoundedHeap(() => store.importSession(session, out.isTerminal ? { progress } : {}))
  } catch (error) {
    const failure = failureOf(error)
    if (failure._tag !== 'BadLine' || options.format === undefined) throw error
    const advice = `. If the file is not in the format ${options.format}, leave --format out`
    throw toError({ ...failure, message: failure.message + advice })
  } finally {
    bar.stop()
  }
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

/** Maximum number of skipped lines that are printed for a file. */
const mostSkipped = 10

/** Reports the events and notes that were imported from a file, and the records that were left out. */
const writeImported = async (out: Output, file: string, result: ImportResult): Promise<void> => {
  const { format, conversations, report } = result
  for (const { id, added, events, notes, changed } of conversations) {
    const news = [
      ...(added > 0 ? [plural(added, 'event')] : []),
      ...(notes === undefined ? [] : [plural(notes, 'note')]),
    ]
    const what = news.length > 0 ? `${news.join(', ')} added` : `nothing new, ${plural(events, 'event')}`
    await out.line([id, 'bold'], [`  ${what}  from ${file} (${format})`])
    if (changed !== undefined)
      await out.line([
        `  changed: ${plural(changed, 'message')} of the file differ from those imported earlier, which stay as they are: to import the file as it is now, name another conversation with --id`,
        'warning',
      ])
  }
  for (const { kind, count, reason } of report.leftOut)
    await out.line([`  left out: ${count} ${kind} (${reason})`, 'dim'])
  for (const { line, problem } of report.badLines.slice(0, mostSkipped))
    await out.line([`  skipped: line ${line}: ${problem}`, 'warning'])
  const more = report.badLines.length - mostSkipped
  if (more > 0) await out.line([`  skipped: ${plural(more, 'more line')}`, 'warning'])
  if (isIncomplete(result))
    await out.line([
      `  incomplete: the events of a conversation after its first bad line are not imported (${plural(report.badLines.length, 'line')} skipped)`,
      'warning',
    ])
  for (const note of report.notes) await out.line([`  note: ${note}`])
}
