import { conversationOf } from '../events/ids.ts'
import { nearest } from '../events/nearest.ts'
import { emptyFile } from '../store/errors.ts'
import { shellWord } from './text.ts'

/** An error in the form in which the command line reports it. It comes from the library or from the command line itself. */
export interface CliError {
  readonly _tag: string
  readonly message: string
  readonly [field: string]: unknown
}

/** Makes an error for wrong usage, which leads to exit code 2. */
export const usage = (message: string): CliError => ({ _tag: 'Usage', message })

/**
 * Makes an error for a value of an option that must be one of a list.
 *
 * @param others further names of the choices, which are suggested but not listed
 */
export const unknownChoice = (
  option: string,
  value: string,
  choices: readonly string[],
  others: readonly string[] = [],
): CliError =>
  usage(`${option} must be one of ${choices.join(', ')}${suggestion(value, [...choices, ...others])}`)

/** Names that resemble another choice than the one that is meant. */
const aliases: Readonly<Record<string, string>> = { json: 'palimpsest', jsonl: 'palimpsest' }

const suggestion = (value: string, choices: readonly string[]): string => {
  const alias = aliases[value.toLowerCase()]
  const meant = alias !== undefined && choices.includes(alias) ? alias : nearest(value, choices)
  return meant === undefined ? '' : `\n(Did you mean ${meant}?)`
}

/** Advice if words follow an argument that is a text. */
export const quoteText = 'put a text of several words in quotes'

/** Adds to a message of commander what to do next, if commander does not say it. */
export const withUsageAdvice = (message: string): string =>
  withNearestChoice(message)
    .replace(/^(?:error: )?missing required argument 'id'(?=\n|$)/, '$&: palimpsest list shows the ids')
    .replace(
      /too many arguments for 'steps'\. .*(?=\n|$)/,
      '$& palimpsest log ID --turns shows those of one conversation',
    )
    .replace(
      /too many arguments for '(?!(?:diff|steps)')[^']*'\. Expected \d+ arguments? but got \d+\.(?=\s|$)/,
      `$& If they are one text, ${quoteText}`,
    )
    .replace(
      /required option '--from <position>' not specified/,
      '$&: diff compares what the model sees at two positions of one conversation, such as palimpsest diff ID --from 4. palimpsest log ID shows the positions',
    )
    .replace(
      /too many arguments for 'diff'\. Expected 1 argument but got \d+\./,
      '$& diff compares two positions of one conversation. To see what a fork has changed: palimpsest diff FORK --from N, N being the position at which it was forked',
    )
    .replace(
      /required option '--marker <position>' not specified/,
      '$&: palimpsest log shows the positions. To restore a backup of the store: palimpsest backup --restore FILE',
    )
    .replace(
      /(unknown command '(?:delete|del|remove|rm)')(?:\n\(Did you mean .*\))?/,
      `$1: ${nothingDeleted}`,
    )

const nothingDeleted =
  'nothing was deleted. palimpsest truncate hides messages from the model, palimpsest rewind goes back to an earlier position; both keep what they hide; palimpsest erase removes content for good'

/** Adds the nearest choice to commander's message about a value that is not among the choices of an option. */
const withNearestChoice = (message: string): string => {
  const [, value, choices] = /argument '(.*)' is invalid\. Allowed choices are (.*)\.\s*$/.exec(message) ?? []
  return value === undefined || choices === undefined
    ? message
    : message.trimEnd() + suggestion(value, choices.split(', ')) + (message.endsWith('\n') ? '\n' : '')
}

/** Makes an error for a prefix that several conversation ids share. */
export const ambiguousId = (beginning: string, conversations: readonly string[]): CliError => ({
  _tag: 'AmbiguousId',
  message: `several conversation ids begin with ${beginning}: ${conversations.slice(0, 5).join(', ')}${conversations.length > 5 ? ' …' : ''}. Type more of the id`,
  conversations,
})

/** Makes an error for a beginning of an id that is too short for a command that writes. */
export const shortId = (conversation: string, meant: string, least: number): CliError => ({
  _tag: 'ShortId',
  message: `${conversation} is too short to write to ${meant}: type at least ${least} characters of the id`,
  conversation,
  meant,
})

/** Makes an error for a beginning of a call's id that is too short to decide on the call. */
export const shortCall = (
  call: string,
  prefix: string,
  least: number,
  waiting: readonly string[],
): CliError => ({
  _tag: 'ShortId',
  message: `${call} is too short to name a call: type its id, or at least ${least} characters of it${prefix === '' ? '' : ` after ${prefix}`}; ${waitingText(waiting)}`,
  call,
  waiting,
})

/** Lists the calls that wait, as the error `NotWaiting` does. */
export const waitingText = (calls: readonly string[]): string => `these calls wait: ${calls.join(', ')}`

/** Makes an error for an id that would begin a conversation, but is probably a slip for an existing one. */
export const similarId = (conversation: string, meant: string): CliError => ({
  _tag: 'SimilarId',
  message: `there is no conversation ${conversation} in this store: did you mean ${meant}? To begin ${conversation}, add --new`,
  conversation,
  meant,
})

/** Converts anything thrown into an error to report. An error without a tag is a bug. */
export const failureOf = (thrown: unknown): CliError => {
  const error = typeof thrown === 'object' && thrown !== null ? thrown : { message: String(thrown) }
  const message = 'message' in error ? String(error.message) : 'unknown error'
  if (!('_tag' in error) || typeof error._tag !== 'string')
    return {
      _tag: 'Unexpected',
      message: `${message}. This is a bug: please report it`,
      stack: stackOf(error),
    }
  const { _tag, name: _name, stack: _stack, cause: _cause, message: _message, ...data } = error as CliError
  return { _tag, message: inOurWords(_tag, message, data), ...data }
}

/**
 * Phrases of the library's error messages and their replacements on the command line, by error tag. Only the last occurrence in a
 * message is replaced, because the phrase belongs to the advice at the end, and names given by users come before that.
 */
const ourWords: { readonly [tag: string]: readonly [library: string, ours: string] } = {
  SecretsFound: [
    'withhold these events or redact these texts, or export anyway with force',
    'leave them out with --withhold POSITIONS or --redact PATTERN, or export anyway with --force',
  ],
  ImportDiverged: ['import the file under another id', 'import this file alone under another id (--id NEW)'],
  FileExists: ['overwrite it with force', 'overwrite it with --force'],
  BadLine: ['skip bad lines', 'skip it with --skip-bad-lines'],
  KeyMismatch: [
    'Specify the file of that key',
    'Name the file of that key with --key (serve and work: --seal)',
  ],
  NothingToHide: ['name a slice with covers', 'name a slice with --covers'],
  UnknownFormat: ['name its format', 'say which with --format'],
  UnsupportedFormat: ['open it with openStore', 'open it with --store'],
}

const inOurWords = (
  tag: string,
  text: string,
  { store, conversation, stream, isNewer, isKeyMissing }: ErrorData,
): string => {
  if (tag === 'InvalidInput')
    return text
      .replace(/^(?=(?:withhold|redact|since|keep): )/, '--')
      .replace(/^(--keep: .*)set force and give a reason$/, '$1add --force and --reason')
  // A bundle names the positions, at the end of the message.
  if (tag === 'SecretsFound')
    text = text.replace(
      /(: |: withhold ([\d,-]+), or )export anyway with force$/,
      (_, before: string, positions?: string) =>
        `${positions === undefined ? before : `: leave them out with --withhold ${positions}, or `}export anyway with --force`,
    )
  if (tag === 'StoreNotFound')
    return `there is no store at ${String(store)}${text.includes(emptyFile) ? emptyFile : ''}`
  if (tag === 'DecodeFailed')
    return withVerify(text, String(stream), isNewer === true || isKeyMissing === true)
  const message = tag === 'ImportDiverged' ? withRewind(text, String(conversation)) : text
  if (tag === 'ConversationNotFound' && message.endsWith('in this store'))
    return `${message}: palimpsest list shows all`
  const [library = '', ours = ''] = ourWords[tag] ?? []
  const at = message.lastIndexOf(library)
  return at < 0 ? message : message.slice(0, at) + ours + message.slice(at + library.length)
}

/** Adds to the error for an event that cannot be read what says how to continue, unless a newer version or other keys may read it. */
const withVerify = (message: string, stream: string, mayBeRead: boolean): string => {
  const id = conversationOf(stream)
  return id === undefined || mayBeRead
    ? message
    : `${message}. Run palimpsest verify ${shellWord(id)}, which says how to continue before it`
}

/** Fields of an error that its message may name. */
type ErrorData = { readonly [field: string]: unknown }

/** Replaces the last "rewind the conversation to N" by the command that does it. */
const withRewind = (message: string, id: string): string =>
  message.replace(
    /^(.*)rewind the conversation to (\d+)/s,
    (_, before: string, to: string) => `${before}run palimpsest rewind ${shellWord(id)} --to ${to}`,
  )

/** Commands that newcomers try first: to have something to show, they import a session. */
const firstCommands: ReadonlySet<string> = new Set(
  'list search show full log diff request render sent stats why cost cache bisect replay export'.split(' '),
)

/** Adds to the error for a missing store what the user of a command can do about it. */
export const withStoreAdvice = (failure: CliError, command: string): CliError => {
  if (failure._tag !== 'StoreNotFound') return failure
  const advice = firstCommands.has(command)
    ? 'import a session first (palimpsest import PATH), or name another store with --store'
    : command === 'copy'
      ? 'check the URL of --from'
      : 'check the path, or name another store with --store'
  return { ...failure, message: `${failure.message}: ${advice}` }
}

const stackOf = (error: object): string | undefined =>
  'stack' in error && typeof error.stack === 'string' ? error.stack : undefined
