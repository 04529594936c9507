import type { Command } from 'commander'
import type { Conversation, ReceiptFinding, Store, VerificationReport } from '../../index.ts'
import type { LogDiscrepancy } from '../../index.ts'
import { contentIsSealed } from '../../events/codec.ts'
import { several } from '../../result/several.ts'
import { type CliError, failureOf } from '../errors.ts'
import { type CommandSession, conversationNamed, type Shell } from '../shell.ts'
import { plural, shellWord, type TextSpan } from '../text.ts'
import { erasedText } from '../views/due-content.ts'
import { type FindingParts, writeFinding } from '../views/write-finding.ts'

/** Result of verifying a conversation; `error` is set if the conversation could not be read at all. */
type Outcome = VerificationReport & { readonly error?: CliError; readonly receipts?: Receipts }
/** Number of requests that match their receipts, and the mismatches; `error` is set if the check itself failed. */
interface Receipts {
  readonly verified: number
  readonly findings: readonly ReceiptFinding[]
  /** Number of calls that are not checkable, because their requests showed content that was erased. */
  readonly erased?: number
  readonly error?: CliError
}

export const addVerify = (program: Command, shell: Shell): void => {
  program
    .command('verify [id]')
    .description('check the database file and recompute every hash and view')
    .option('--receipts', 'also rebuild every model request from the log and compare it with its receipt')
    .addHelpText(
      'after',
      '\nWithout an id, every conversation in the store. Exit code 1 if anything differs.\n\nExamples:\n  palimpsest verify\n  palimpsest verify task-42 --receipts',
    )
    .action(
      shell.action('existing', async (session, given: string | undefined, options: Options) => {
        const { store, out, isJson, fail } = session
        const id = given === undefined ? undefined : await conversationNamed(store, given)
        const conversations: Outcome[] = []
        const error = await fileProblem(store)
        if (error && !isJson)
          await writeFinding(out, [['DAMAGED', 'warning'], [store.url, 'bold'], [withoutName(store, error)]])
        const verify = (each: string): Promise<Outcome> => {
          const verifying = outcomeOf(store.conversation(each), options, id !== undefined)
          return id === undefined ? verifying.catch(unreadable(each)) : verifying
        }
        for await (const outcome of several(id === undefined ? await idsOf(session) : [id], atOnce, verify)) {
          conversations.push(outcome)
          if (!isJson) for (const finding of findingsOf(outcome)) await writeFinding(out, finding)
        }
        const isWhole = !error && conversations.every(isAsWritten)
        if (!isWhole) fail()
        if (isJson) await out.json({ ok: isWhole, ...(error && { error }), conversations })
        else if (id === undefined) await out.line(totalOf(conversations, error))
      }),
    )
}

/** Returns the message of an error about the store, which begins with the name of the store. */
const withoutName = ({ url }: Store, { message }: CliError): string =>
  message.startsWith(`${url} `) ? message.slice(url.length + 1) : message

/** Number of conversations verified concurrently. */
const atOnce = 4

interface Options {
  readonly receipts?: boolean
}

/**
 * Returns the problem with the store's file, or undefined if the file is intact. The file is checked only once, because damage may
 * affect any conversation.
 */
const fileProblem = async (store: Store): Promise<CliError | undefined> => {
  try {
    await store.check()
    return undefined
  } catch (thrown) {
    return withoutStack(thrown)
  }
}

const outcomeOf = async (
  chat: Conversation,
  { receipts = false }: Options,
  inherited: boolean,
): Promise<Outcome> => {
  const verified = await chat.verify({ file: false, inherited })
  return receipts ? { ...verified, receipts: await receiptsOf(chat) } : verified
}

/**
 * Checks the receipts of a conversation. Errors are returned in the result: if events were changed, they may be unreadable, and
 * `verify` has already reported that.
 */
const receiptsOf = async (chat: Conversation): Promise<Receipts> => {
  try {
    const { receipts, findings, erased } = await chat.verifyReceipts()
    return { verified: receipts, findings, ...(erased !== undefined && { erased }) }
  } catch (thrown) {
    return { verified: 0, findings: [], error: withoutStack(thrown) }
  }
}

const isAsWritten = ({ discrepancy, error, receipts }: Outcome): boolean =>
  !discrepancy && !error && !receipts?.error && (receipts?.findings.length ?? 0) === 0

const withoutStack = (thrown: unknown): CliError => {
  const { stack: _stack, ...error } = failureOf(thrown)
  return error
}

/**
 * Turns an error into the outcome of a conversation, so that an unreadable conversation does not stop the verification of the others.
 */
const unreadable =
  (conversation: string) =>
  (thrown: unknown): Outcome => ({ conversation, events: 0, error: withoutStack(thrown) })

/** Returns all conversation ids. They are sorted here, because any order requested from the store would need the index. */
const idsOf = async ({ store }: CommandSession): Promise<readonly string[]> => {
  const ids: string[] = []
  for await (const { id } of store.conversations()) ids.push(id)
  return ids.toSorted()
}

const findingsOf = (outcome: Outcome): readonly FindingParts[] => {
  const { conversation, receipts } = outcome
  const problem = (what: string, message: string): FindingParts => [
    [what, 'warning'],
    [conversation, 'bold'],
    [message],
  ]
  return [
    firstOf(outcome),
    ...(receipts?.error ? [problem('NO RECEIPTS', receipts.error.message)] : []),
    ...(receipts?.findings ?? []).map(({ call, position, message }) =>
      problem(
        'RECEIPT',
        `${call === undefined ? 'the reply' : `call ${call}, answered`} at ${position}: ${message}`,
      ),
    ),
  ]
}

/** Returns the last line about a store: its size, and how many findings of each kind there are. */
const totalOf = (conversations: readonly Outcome[], error: CliError | undefined): TextSpan => {
  const events = conversations.reduce((sum, each) => sum + each.events, 0)
  const size = `${plural(conversations.length, 'conversation')}, ${plural(events, 'event')}`
  const problems = new Map<string, number>(error ? [['DAMAGED', 1]] : [])
  for (const [[label]] of conversations.flatMap(findingsOf))
    if (label !== okLabel) problems.set(label, (problems.get(label) ?? 0) + 1)
  if (problems.size === 0) return [`${size}: ok`, 'user']
  return [`${size}: ${[...problems].map(([label, count]) => `${count} ${label}`).join(', ')}`, 'warning']
}

/** Says how to continue a conversation with an event that cannot be read. */
const wayOut = (id: string, position: number): string =>
  position === 0
    ? '. Restore a backup'
    : `. Restore a backup, or continue before it: palimpsest fork ${shellWord(id)} NEW --at ${position - 1}`

/** Returns the label of a discrepancy. Nothing is known about an event that no key opens, nor about one of a newer version. */
const labelOf = (kind: LogDiscrepancy['kind'], message: string): string => {
  if (kind === 'sealed') return message.endsWith(contentIsSealed) ? 'SEALED' : 'NOT CHECKED'
  return kind === 'newer' ? 'NEWER' : kind === 'older' ? 'OLDER' : 'CHANGED'
}

const okLabel = 'ok     '

const firstOf = ({
  conversation,
  events,
  guessable,
  erased,
  erasedBeside,
  notes,
  inherited,
  discrepancy,
  error,
  receipts,
}: Outcome): FindingParts => {
  if (error) return [['UNREADABLE', 'warning'], [conversation, 'bold'], [error.message]]
  if (discrepancy) {
    const { position, kind, message } = discrepancy
    return [
      [labelOf(kind, message), 'warning'],
      [conversation, 'bold'],
      [
        `at ${position}${kind === 'sealed' || kind === 'older' ? '' : `, ${kind}`}: ${message}${kind === 'undecodable' ? wayOut(conversation, position) : ''}`,
      ],
    ]
  }
  const sent = receipts ? `, ${plural(receipts.verified, 'request')} verified` : ''
  const unchecked = receipts?.erased === undefined ? '' : `, ${receipts.erased} not checkable: erased`
  const gone = erased === undefined ? '' : `; erased: ${erasedText(erased, erasedBeside)}`
  const beside = notes === undefined ? '' : `, ${plural(notes, 'note')}`
  const parents = inherited ? ` and ${inherited.events} inherited from ${inherited.from}` : ''
  const unsalted = guessable === undefined ? '' : `, ${guessable} guessable if withheld: without a salt`
  return [
    [okLabel, 'user'],
    [conversation, 'bold'],
    [`${plural(events, 'event')}${parents}${beside} unchanged${sent}${unchecked}${unsalted}${gone}`, 'dim'],
  ]
}
