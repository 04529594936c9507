import type { ImportResult } from '../../index.ts'
import type { Output } from '../output.ts'
import { plural } from '../text.ts'

/** Result of importing a file. */
export type ImportedFile = ImportResult & { readonly file: string }

/** Maximum number of examples of each kind in the report on several files. */
export const mostExamples = 5
/** Maximum number of skipped lines that are printed for a file. */
const mostSkipped = 10

/** Reports whether a file had nothing that the store did not have, and nothing that differs from it. */
export const isUnchanged = ({ conversations, report }: ImportResult): boolean =>
  report.badLines.length === 0 &&
  conversations.every(
    ({ added, notes, changed, erased }) =>
      added === 0 && notes === undefined && changed === undefined && erased === undefined,
  )

/**
 * Reports whether a skipped line makes later lines unreadable, because each stored event has the hash of the one before it. A single bad
 * line, such as a torn end, has none after it.
 */
export const isIncomplete = ({ format, report }: ImportResult): boolean =>
  format === 'palimpsest' && report.badLines.length > 1

/** Reports the events and notes that were imported from a file, and the records that were left out. */
export const writeImported = async (out: Output, imported: ImportedFile): Promise<void> => {
  const { conversations, report } = imported
  for (const conversation of conversations) await writeConversation(out, imported, conversation)
  for (const { kind, count, reason } of report.leftOut)
    await out.line([`  left out: ${count} ${kind} (${reason})`, 'dim'])
  for (const { line, problem } of report.badLines.slice(0, mostSkipped))
    await out.line([`  skipped: line ${line}: ${problem}`, 'warning'])
  const more = report.badLines.length - mostSkipped
  if (more > 0) await out.line([`  skipped: ${plural(more, 'more line')}`, 'warning'])
  if (isIncomplete(imported)) await writeIncomplete(out, imported)
  for (const note of report.notes) await out.line([`  note: ${note}`])
}

/** Reports what the imports of several files had in common: sums, and a few examples. */
export const writeSums = async (out: Output, files: readonly ImportedFile[]): Promise<void> => {
  const news = files.filter((file) => !isUnchanged(file))
  const others = news.flatMap(({ conversations }) => conversations).slice(mostExamples)
  if (others.length > 0)
    await out.line([`${plural(others.length, 'more conversation')}: --verbose lists all`, 'dim'])
  const changed = others.reduce((sum, one) => sum + (one.changed ?? 0), 0)
  if (changed > 0) await writeChanged(out, changed, 'the files')
  const erased = others.reduce((sum, one) => sum + (one.erased ?? 0), 0)
  if (erased > 0) await writeErased(out, erased, 'the files')
  const leftOut = news.flatMap(({ report }) => report.leftOut)
  for (const [reason, entries] of Map.groupBy(leftOut, (entry) => entry.reason)) {
    const kinds = [...Map.groupBy(entries, ({ kind }) => kind)].map(
      ([kind, same]) => `${same.reduce((sum, { count }) => sum + count, 0)} ${kind}`,
    )
    await out.line([`  left out: ${kinds.join(', ')} (${reason})`, 'dim'])
  }
  const skipped = news.flatMap(({ file, report }) => report.badLines.map((bad) => ({ file, ...bad })))
  for (const { file, line, problem } of skipped.slice(0, mostExamples))
    await out.line([`  skipped: ${file}, line ${line}: ${problem}`, 'warning'])
  const rest = skipped.length - mostExamples
  if (rest > 0) await out.line([`  skipped: ${plural(rest, 'more line')}: --verbose lists them`, 'warning'])
  for (const file of news.filter(isIncomplete)) await writeIncomplete(out, file)
  const notes = Map.groupBy(
    news.flatMap(({ report }) => [...new Set(report.notes)]),
    (note) => note,
  )
  const common = [...notes].toSorted(([, one], [, other]) => other.length - one.length)
  for (const [note, { length }] of common.slice(0, mostExamples))
    await out.line([`  note: ${note}${length > 1 ? ` (${length} files)` : ''}`])
  if (common.length > mostExamples)
    await out.line([`  ${plural(common.length - mostExamples, 'more note')}: --verbose lists them`, 'dim'])
}

/** Reports the conversations of one of several files, up to a number of lines. Returns how many there were. */
export const writeExamples = async (out: Output, imported: ImportedFile, most: number): Promise<number> => {
  for (const conversation of imported.conversations.slice(0, most))
    await writeConversation(out, imported, conversation)
  return imported.conversations.length
}

/** Names files of a kind, each on a line: the first ones, or all. */
export const writeFiles = async (
  out: Output,
  kind: string,
  files: readonly string[],
  isVerbose: boolean,
): Promise<void> => {
  const most = isVerbose ? Infinity : mostExamples
  for (const file of files.slice(0, most)) await out.line([`${kind}: ${file}`, 'dim'])
  if (files.length > most)
    await out.line([`${kind}: ${plural(files.length - most, 'more file')}, which --verbose lists`, 'dim'])
}

const writeConversation = async (
  out: Output,
  { file, format }: ImportedFile,
  { id, added, events, notes, changed, erased }: ImportResult['conversations'][number],
): Promise<void> => {
  const news = [
    ...(added > 0 ? [plural(added, 'event')] : []),
    ...(notes === undefined ? [] : [plural(notes, 'note')]),
  ]
  const what = news.length > 0 ? `${news.join(', ')} added` : `nothing new, ${plural(events, 'event')}`
  await out.line([id, 'bold'], [`  ${what}  from ${file} (${format})`])
  if (changed !== undefined) await writeChanged(out, changed, 'the file')
  if (erased !== undefined) await writeErased(out, erased, 'the file')
}

const writeErased = (out: Output, erased: number, whose: 'the file' | 'the files'): Promise<void> =>
  out.line([
    `  erased: ${plural(erased, 'message')} of ${whose} ${erased === 1 ? 'was' : 'were'} erased here, and ${erased === 1 ? 'stays' : 'stay'} erased; ${whose} still ${whose === 'the file' ? 'has' : 'have'} the content`,
    'warning',
  ])

const writeChanged = (out: Output, changed: number, whose: 'the file' | 'the files'): Promise<void> =>
  out.line([
    `  changed: ${plural(changed, 'message')} of ${whose} differ from those imported earlier, which stay as they are: to import ${whose === 'the file' ? whose : 'a file'} as it is now, name another conversation with --id`,
    'warning',
  ])

const writeIncomplete = (out: Output, { file, report }: ImportedFile): Promise<void> =>
  out.line([
    `  incomplete: ${file}: the events of a conversation after its first bad line are not imported (${plural(report.badLines.length, 'line')} skipped)`,
    'warning',
  ])
