import { accessSync, constants, createReadStream } from 'node:fs'
import { SingleBar } from 'cli-progress'
import type { Command } from 'commander'
import { visible } from '../../formats/visible.ts'
import { fileUnreadable } from '../../formats/errors.ts'
import { formats } from '../../formats/plan.ts'
import { formatNames } from '../../formats/registry.ts'
import type { Format, Imported } from '../../index.ts'
import { toError } from '../../result/typed.ts'
import { collecting } from '../collect.ts'
import { failureOf, usage } from '../errors.ts'
import type { Host } from '../host.ts'
import { checkId } from '../options.ts'
import type { Output } from '../output.ts'
import type { Session, Shell } from '../shell.ts'
import { plural } from '../text.ts'

interface Options {
  readonly format?: Format
  readonly id?: string
  readonly skipBadLines?: boolean
}

export const addImport = (program: Command, shell: Shell): void => {
  program
    .command('import <file...>')
    .description('import sessions (- reads standard input); importing a file again adds only what is new')
    .option(
      '--format <format>',
      `${formats.join(', ')}, or one registered by --import (default: recognised by content)`,
    )
    .option('--id <id>', 'id of the conversation (default: the id of the session)')
    .option('--skip-bad-lines', 'skip lines that cannot be read, and list them')
    .addHelpText(
      'after',
      '\nExamples:\n  palimpsest import ~/.claude/projects/*/*.jsonl\n  palimpsest import api_conversation_history.json --id task-42',
    )
    .action(
      shell.action(access, async (session, files: readonly string[], options: Options) => {
        const imported: (Imported & { readonly file: string })[] = []
        for (const file of files) {
          const result = await importFile(session, file, options).catch((error: unknown) => {
            throw files.length === 1 ? error : toError({ ...failureOf(error), file, imported })
          })
          imported.push({ file, ...result })
          if (!session.isJson) await writeImported(session.out, file, result)
        }
        if (session.isJson) await session.out.json({ imported })
      }),
    )
}

const access = (files: readonly string[], { format, id }: Options): 'created' => {
  if (format !== undefined && !formatNames().includes(format))
    throw toError(usage(`--format must be one of ${formatNames().join(', ')}`))
  if (id !== undefined && files.length > 1)
    throw toError(usage('--id names one conversation: import one file at a time with it'))
  if (files.filter((file) => file === '-').length > 1)
    throw toError(usage('standard input can be read only once: give - once'))
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

/** Imports with a progress bar, on a terminal and if it takes a while. */
export const importFile = async (
  { store, out, host }: Session,
  file: string,
  options: Options,
): Promise<Imported> => {
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
    return await collecting(() => store.importSession(session, out.isTerminal ? { progress } : {}))
  } finally {
    bar.stop()
  }
}

/** The bytes of a file, or of standard input (`-`). */
const bytesOf = (file: string, { stdin }: Host): AsyncIterable<Uint8Array> =>
  file === '-' ? stdin : createReadStream(file, { highWaterMark: 256 * 1024 })

/** Reports what was imported from a file, and what was left out. */
const writeImported = async (
  out: Output,
  file: string,
  { format, conversations, report }: Imported,
): Promise<void> => {
  for (const { id, added, events, notes } of conversations) {
    const news = [
      ...(added > 0 ? [plural(added, 'event')] : []),
      ...(notes === undefined ? [] : [plural(notes, 'note')]),
    ]
    const what = news.length > 0 ? `${news.join(', ')} added` : `nothing new, ${plural(events, 'event')}`
    await out.line([id, 'bold'], [`  ${what}  from ${file} (${format})`])
  }
  for (const { kind, count, reason } of report.leftOut)
    await out.line([`  left out: ${count} ${kind} (${reason})`, 'dim'])
  for (const { line, problem } of report.badLines)
    await out.line([`  skipped: line ${line}: ${problem}`, 'warning'])
  for (const note of report.notes) await out.line([`  note: ${note}`])
}
