import type { AuditSummary, AuditProblem, LedgerStatus, SealedNow } from '../../index.ts'
import { noKeyOpens } from '../../store/errors.ts'
import { visible } from '../../transfer/formats/visible.ts'
import type { Output } from '../output.ts'
import type { AnchorSet } from './anchors.ts'
import { linesOf, type TextSpan, plural, widthOf } from '../text.ts'
import { writeFinding } from '../views/write-finding.ts'

const labels: Readonly<Record<AuditProblem['kind'], string>> = {
  ledger: 'LEDGER',
  entry: 'REWRITTEN',
  anchor: 'ANCHOR',
  conversation: 'CHANGED',
  newer: 'NEWER',
  receipt: 'RECEIPT',
  store: 'DAMAGED',
}

/** Returns the label of what cannot be checked. The ledger records one kind for all of it. */
const newerLabel = (message: string): string =>
  message.includes(noKeyOpens) ? 'NOT CHECKED' : /^at \d+, older: /.test(message) ? 'OLDER' : labels.newer

export const writeProblem = (
  out: Output,
  { kind, conversation, revision, message }: AuditProblem,
): Promise<void> => {
  const at = revision === undefined ? '' : `event ${revision}: `
  const label = kind === 'newer' ? newerLabel(message) : labels[kind]
  return writeFinding(out, [
    [label.padEnd('REWRITTEN'.length), 'warning'],
    [conversation ?? 'all', 'bold'],
    [at + message],
  ])
}

export const writeDone = async (
  out: Output,
  { conversations, events, receipts, withoutReceipt, entries, problems, checkpoint }: AuditSummary,
): Promise<void> => {
  await out.line([
    `${plural(problems, 'problem')}: ${plural(entries, 'entry', 'entries')} of the ledger, ${plural(conversations, 'conversation')}, ${plural(events, 'event')}, ${plural(receipts, 'request')}`,
    problems > 0 ? 'warning' : 'user',
  ])
  if (entries === 0 && problems === 0)
    await out.line(['nothing is sealed, so nothing is proven: palimpsest audit seal', 'warning'])
  if (withoutReceipt > 0)
    await out.aside([`${plural(withoutReceipt, 'reply', 'replies')} without a receipt`, 'dim'])
  await out.aside([`to continue from here: --since ${checkpoint}`, 'dim'])
}

export const writeSealed = async (
  out: Output,
  { sealed, turns, size, anchored, unsealable }: SealedNow,
  { anchors, newFolders }: Pick<AnchorSet, 'anchors' | 'newFolders'>,
): Promise<void> => {
  const signs = new Set(anchors.filter(({ verify }) => verify).map(({ name }) => name))
  await out.line([
    `${plural(sealed, 'conversation')}${turns > 0 ? `, and the turns of ${turns},` : ''} sealed, ${plural(size, 'entry', 'entries')} in the ledger`,
  ])
  for (const { conversation, message } of unsealable)
    await writeFinding(out, [['UNSEALED', 'warning'], [conversation, 'bold'], [message]])
  if (size === 0 && anchors.length > 0)
    await out.line(['nothing to seal: the anchors were given no checkpoint', 'warning'])
  for (const { anchor, error } of anchored)
    await writeFinding(
      out,
      error
        ? [['FAILED', 'warning'], [anchor, 'bold'], [error.message.replace(`${anchor} `, '')]]
        : signs.has(anchor)
          ? [
              ['signed', 'user'],
              [anchor, 'bold'],
              ['has signed the time of the checkpoint; it keeps no copy'],
            ]
          : [
              ['kept', 'user'],
              [anchor, 'bold'],
              [
                newFolders.has(anchor)
                  ? 'has the checkpoint, in a folder that did not exist: check that its disk is mounted'
                  : 'has the checkpoint',
              ],
            ],
    )
}

export const writeStatus = async (out: Output, status: LedgerStatus): Promise<void> => {
  const {
    origin,
    key,
    again,
    size,
    sealed,
    anchors,
    unsealed,
    blocked,
    patrolled,
    alarms = [],
    withoutReceipt,
  } = status
  const lines: readonly (readonly [name: string, value: string])[] = [
    ['ledger', origin],
    ['key', key],
    ...(again ? [['again', `begun ${again.time} to replace another ledger: ${again.reason}`] as const] : []),
    ['entries', size === 0 ? '0' : `${size}, the last sealed ${sealed ?? ''}`],
    ...anchors.map(
      ({ anchor, size: seen, time }) =>
        ['anchor', `${anchor} was given ${plural(seen, 'entry', 'entries')}, sealed ${time}`] as const,
    ),
    ['unsealed', plural(unsealed, 'conversation')],
    ...(blocked === undefined ? [] : [['sealing', `blocked: ${blocked}`] as const]),
    ['exposure', exposure(status)],
    ...(withoutReceipt === undefined
      ? []
      : [['calls', `${plural(withoutReceipt, 'reply', 'replies')} without a receipt`] as const]),
    ...(patrolled ? [['patrol', patrol(patrolled)] as const] : []),
    ...alarms.map(
      ({ time, conversation, revision, message }) =>
        [
          'alarm',
          `${time}, ${conversation ?? 'all'}: ${revision === undefined ? '' : `event ${revision}: `}${message}`,
        ] as const,
    ),
  ]
  for (const [name, value] of lines) {
    const label = [name.padEnd('exposure'.length), 'dim'] as const
    // Users copy the key, so it is not wrapped here; the terminal breaks the line.
    if (name === 'key') await out.text(`${label[0]}  ${visible(value)}\n`)
    else await writeWrapped(out, label, value)
  }
}

/** Writes a label and its text. The text is wrapped, with continuation lines indented to the label's width, and never cut off. */
const writeWrapped = async (out: Output, label: TextSpan, text: string): Promise<void> => {
  const indent = widthOf(label[0]) + 2
  const [first = '', ...rest] = linesOf(text, out.columns - indent)
  await out.line(label, ['  '], [first])
  for (const line of rest) await out.line([' '.repeat(indent) + line])
}

const patrol = ({
  time,
  problems,
  conversations,
  withoutReceipt,
}: NonNullable<LedgerStatus['patrolled']>): string =>
  `${plural(problems, 'problem')} in ${plural(conversations, 'conversation')}, ${plural(withoutReceipt, 'reply', 'replies')} without a receipt; the last round ended ${time}`

const exposure = ({ exposedSince, size, blocked }: LedgerStatus): string => {
  if (exposedSince === undefined && blocked !== undefined) return 'unknown, as sealing is blocked'
  if (exposedSince === undefined && size === 0)
    return 'none: nothing is sealed, because there are no events; no anchor has a checkpoint'
  if (exposedSince === undefined)
    return 'none, according to this store: every event is sealed, and an anchor has seen the checkpoint'
  return exposedSince === 'beginning'
    ? 'everything: no checkpoint was ever kept elsewhere, so anyone with the key and the database can rewrite all of it unnoticed (--anchor)'
    : `events since ${exposedSince}: anyone with the key and the database could rewrite them unnoticed`
}
