import type { RetentionReport, RetentionRunOptions, Store, VerificationReport } from '../../index.ts'
import { failureOf } from '../errors.ts'
import type { Output } from '../output.ts'
import { plural } from '../text.ts'

/** Says when the rules are applied. */
export const whenApplied =
  'serve and work erase it when they start, then daily; palimpsest retention --apply erases it at once'

/** Maximum time for counting what is due while a command waits, in milliseconds, as a large store takes long. */
const countingTime = 5_000

/** Counts what is due, within a limited time. Returns the message of the error if it cannot be counted; throws `InvalidInput`. */
export const countDue = async (
  store: Store,
  options: Pick<RetentionRunOptions, 'rule' | 'conversations'>,
): Promise<RetentionReport | string> => {
  const signal = AbortSignal.timeout(countingTime)
  try {
    return await store.retention.apply({ ...options, dryRun: true, signal })
  } catch (error) {
    const { _tag, message } = failureOf(error)
    if (_tag === 'InvalidInput') throw error
    return `what is due is unknown: ${message}`
  }
}

/** Formats the numbers of what a run erased, or would erase. */
export const amountOf = (report: RetentionReport): string =>
  `${report.isComplete ? '' : 'at least '}${partsOf(report)} of ${plural(report.conversations, 'conversation')}`

type Amounts = Pick<RetentionReport, 'events' | 'notes' | 'turns' | 'inbox'> & {
  readonly files: number
  readonly contents?: number
}

/** Lists the numbers of erased events, of events beside them, and of what is stored outside them. */
export const partsOf = ({ events, notes, turns, inbox, files, contents = 0 }: Amounts): string =>
  [
    ...(events > 0 ? [plural(events, 'event')] : []),
    ...(notes > 0 ? [plural(notes, 'note')] : []),
    ...(turns > 0 ? [plural(turns, 'record of turns', 'records of turns')] : []),
    ...(inbox > 0 ? [plural(inbox, 'queued message')] : []),
    ...(files > 0 ? [plural(files, 'original file')] : []),
    ...(contents > 0 ? [plural(contents, 'large content')] : []),
  ].join(', ')

/** Lists what was erased, of a conversation and beside it. */
export const erasedText = (all: number, beside: VerificationReport['erasedBeside'] = {}): string => {
  const { notes = 0, turns = 0, inbox = 0, archive = 0 } = beside
  const events = all - notes - turns - inbox - archive
  return partsOf({ events, notes, turns, inbox, files: archive > 0 ? 1 : 0 })
}

/** Names the conversations from which a run erased, or would erase, at most `most`, and all that it skipped. */
export const writeConversations = async (
  out: Output,
  { conversations, erased, skipped, moreSkipped }: RetentionReport,
  most: number,
): Promise<void> => {
  const shown = erased.slice(0, most)
  for (const { file, ...one } of shown)
    await out.line([
      `  ${one.conversation}  ${partsOf({ ...one, files: file ? 1 : 0 })}, the first of ${one.first.slice(0, 10)}`,
    ])
  if (conversations > shown.length)
    await out.line([
      `  and ${plural(conversations - shown.length, 'more conversation')} (--json names 1,000)`,
      'dim',
    ])
  for (const { conversation, problem } of skipped)
    await out.line([
      `skipped ${conversation}: ${problem.replace(`nothing of conversation ${conversation} was erased: `, '')}`,
      'warning',
    ])
  if (moreSkipped > 0) await out.line([`skipped ${plural(moreSkipped, 'further conversation')}`, 'warning'])
}
