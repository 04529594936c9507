import { readFile } from 'node:fs/promises'
import { text as textOf } from 'node:stream/consumers'
import { type Command, InvalidArgumentError, Option } from 'commander'
import * as E from 'fp-ts/lib/Either.js'
import { check } from '../events/check.ts'
import { invalidInput } from '../events/errors.ts'
import type { Actor, AnswerFlag, AnswerTerms, Covers } from '../events/events.ts'
import { conversationIdSchema, nameRule } from '../events/ids.ts'
import { parseBoundedJson } from '../events/json.ts'
import { fileUnreadable } from '../transfer/formats/errors.ts'
import type { Prices, WriteOptions } from '../index.ts'
import { type CallName, callNameIn } from '../events/call-name.ts'
import { toError } from '../result/typed-error.ts'
import { usage } from './errors.ts'
import type { Host } from './host.ts'

const wholeFrom =
  (least: number) =>
  (text: string): number => {
    const number = Number(text)
    if (!/^-?\d{1,15}$/.test(text) || number < least)
      throw new InvalidArgumentError(`It must be a whole number, ${least} or more.`)
    return number
  }

export const position = wholeFrom(0)
/** Parses a position; -1 means before the first event. */
export const positionOrStart = wholeFrom(-1)
/** Parses an integer ≥ 1. */
export const several = wholeFrom(1)
const count = wholeFrom(0)
const stepClass = (text: string): number => {
  if (!/^\d$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 0 to 9.')
  return Number(text)
}
/** Parses a reference to a model call: the number of the call, `p` and the position of a reply, or `last`. */
export const callNameOrLast = (text: string): CallName | 'last' => {
  const name = text === 'last' ? text : callNameIn(text)
  if (name === undefined)
    throw new InvalidArgumentError(
      'It must be the number of a call, from 1, or p followed by the position of a reply (p17), or last.',
    )
  return name
}
/** Help for an option that takes such a reference. */
export const callNameHelp = 'number of the call, or p and the position of a reply without a receipt, or last'
export const workerName = (text: string): string => {
  if (!/^[A-Za-z0-9._:-]{1,163}$/.test(text)) throw new InvalidArgumentError(`It ${nameRule}.`)
  return text
}
/** Parses the port of a server; 0 means any free port. */
export const port = (text: string): number => {
  const number = count(text)
  if (number > 65_535) throw new InvalidArgumentError('It must be 65535 or less.')
  return number
}
export const serverUrl = (text: string): string => {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw new InvalidArgumentError('It must be the URL of a server, such as http://127.0.0.1:4141.')
  return text
}

const share = (text: string): number => {
  const number = Number(text)
  if (!(number > 0 && number <= 1))
    throw new InvalidArgumentError('It must be a number above 0 and at most 1, such as 0.5.')
  return number
}

const slice = (text: string): Covers => {
  const [, first, last] = /^(\d{1,15})\.\.(\d{1,15})$/.exec(text) ?? []
  if (first === undefined || last === undefined)
    throw new InvalidArgumentError('It must be FIRST..LAST, two positions, such as 3..8.')
  return { first: Number(first), last: Number(last) }
}

export const pattern = (text: string, before?: RegExp): RegExp => {
  try {
    const own = new RegExp(text, 'u')
    // If the option is repeated, nothing that was to be redacted may be dropped.
    return before ? new RegExp(`(?:${before.source})|(?:${text})`, 'u') : own
  } catch {
    throw new InvalidArgumentError("It must be a regular expression, such as 'sk-[a-z0-9]+'.")
  }
}

/** Maximum number of positions that an option may name. */
const mostPositions = 1_000_000

/** Parses positions and ranges of positions. If the option is repeated, nothing that was to be withheld may be dropped. */
export const positions = (text: string, before: readonly number[] = []): readonly number[] => {
  const all = new Set(before)
  for (const part of text.split(',')) {
    const [, first, last = first] = /^\s*(\d{1,15})(?:(?:-|\.\.)(\d{1,15}))?\s*$/.exec(part) ?? []
    const named = Number(last) - Number(first) + 1
    if (first === undefined || !(named > 0 && named <= mostPositions))
      throw new InvalidArgumentError('It must be positions and ranges of positions, such as 12,15-18.')
    for (let at = Number(first); at <= Number(last); at++) all.add(at)
  }
  return [...all].toSorted((one, other) => one - other)
}

/** Makes the option for the events to withhold, which is the same for every export. */
export const withholdOption = (): Option =>
  new Option(
    '--withhold <positions>',
    'leave out the content of these events, and show a stub: 12,15-18',
  ).argParser(positions)

export const jsonText = (text: string): unknown => {
  try {
    return parseBoundedJson(text)
  } catch {
    throw new InvalidArgumentError(`It must be JSON, such as '{"step": 3}' or '"a text"'.`)
  }
}

const actor = (text: string): Actor => {
  const [kind = '', ...id] = text.split(':')
  if (kind === '') throw new InvalidArgumentError('It must be KIND or KIND:ID, such as agent:worker-3.')
  return id.length > 0 ? { kind, id: id.join(':') } : { kind }
}

/** Adds the options for the id of a command and for its actor. */
export const withEnvelope = (command: Command): Command =>
  command
    .option('--command-id <id>', 'id that makes the command idempotent: a repetition writes nothing')
    .option('--actor <kind[:id]>', 'who is acting (default: user)', actor)

/** Adds the options for the terms of a request for an answer. */
export const withTerms = (command: Command): Command =>
  command
    .option('--tenant <name>', 'tenant whose limits and budget apply')
    .option('--priority <n>', 'class of the step, 0 (first) to 9', stepClass)

/** Adds the option to request an answer to what a command writes, and those for its terms, which need it. */
export const withAnswer = (command: Command): Command =>
  withTerms(command.option('--answer', 'ask workers to answer it')).hook('preAction', () => {
    const { answer, tenant, priority } = command.opts<AnswerOptions>()
    const given = tenant !== undefined ? '--tenant' : priority !== undefined ? '--priority' : undefined
    if (given !== undefined && !answer)
      command.error(`error: option '${given}' cannot be used without option '--answer'`)
  })

/** Options that request an answer. */
export interface AnswerOptions extends AnswerTerms {
  readonly answer?: true
}

/** Returns options of a command as those of a write, whose `answer` includes the terms. */
export const withAnswerFlag = <O extends AnswerOptions>({
  answer,
  tenant,
  priority,
  ...others
}: O): Omit<O, keyof AnswerOptions> & { readonly answer?: AnswerFlag } => {
  const terms = { ...(tenant !== undefined && { tenant }), ...(priority !== undefined && { priority }) }
  return { ...others, ...(answer && { answer: Object.keys(terms).length > 0 ? terms : true }) }
}

/** Makes an option that conflicts with other options. Their names are given in camel case, such as `keepLast`. */
export const exclusive = (
  flags: string,
  description: string,
  others: readonly string[],
  parse: (text: string) => unknown = String,
): Option => new Option(flags, description).argParser(parse).conflicts([...others])

/** Makes an option a new name of another one: both set the same value. */
export const newName = (option: Option, former: string): Option =>
  Object.assign(option, { attributeName: () => former })

/** Option of commands that may begin a conversation. */
export const newOption = ['--new', 'allow a new conversation whose id resembles an existing one'] as const

/** Adds the options that all commands writing to a conversation share. */
export const withWriteOptions = (command: Command): Command =>
  withEnvelope(
    command
      .addOption(
        newName(
          new Option('--expect <position>', 'refuse the command unless this is still the last position'),
          'after',
        ).argParser(positionOrStart),
      )
      .addOption(new Option('--after <position>').argParser(positionOrStart).hideHelp())
      .addOption(
        new Option('--tolerate <what>', 'with --expect: allow these events after it').choices(['markers']),
      ),
  ).hook('preAction', () => {
    const { tolerate, after } = command.opts<WriteOptions>()
    if (tolerate !== undefined && after === undefined)
      command.error("error: option '--tolerate <what>' cannot be used without option '--expect <position>'")
  })

/** Adds the options that choose which slice of the effective history to hide. */
export const withSelection = (command: Command): Command =>
  command
    .option('--fraction <share>', 'hide this fraction of the items after the kept first messages', share)
    .option('--keep-first <n>', 'keep this many messages at the start (default: 1)', count)
    .option(
      '--keep-last <n>',
      'keep this many messages at the end (default: 3; with --fraction or --keep-tokens: 1)',
      count,
    )
    .option('--keep-tokens <n>', 'keep the newest items, up to about this many tokens', count)
    .addOption(
      exclusive(
        '--covers <first..last>',
        'hide exactly this slice: the positions of its first and its last item',
        ['fraction', 'keepFirst', 'keepLast', 'keepTokens'],
        slice,
      ),
    )

/** Throws `InvalidInput` if the text is not a valid conversation id. */
export const checkId = (id: string): void => {
  const checked = check(conversationIdSchema, id)
  if (E.isLeft(checked)) throw toError(checked.left)
}

/**
 * Returns a text given on the command line, in a file, or on standard input (for `-`, or if neither text nor file is given). A trailing
 * newline is stripped from a file and from standard input. Throws a usage error if the text is blank.
 */
export const readGivenText = async (
  { text, file }: { readonly text?: string | undefined; readonly file?: string | undefined },
  what: string,
  host: Host,
): Promise<string> => {
  const given = text ?? (await readText(file, what, host))
  if (given.trim() === '') throw toError(usage(`${what} is empty: nothing was written`))
  return given
}

const readText = async (file: string | undefined, what: string, { stdin, stderr }: Host): Promise<string> => {
  const isStdin = file === undefined || file === '-'
  if (isStdin && stdin.isTTY) stderr.write(`Type ${what}; end it with Ctrl-D on a line of its own.\n`)
  const read = isStdin ? await textOf(stdin) : await fileText(file)
  return read.replace(/\r?\n$/, '')
}

export const fileText = async (file: string): Promise<string> => {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw toError(fileUnreadable(file, error))
  }
}

/** Reads prices from a JSON file without checking them, because the library checks them. */
/** Form of a file of prices. */
export const pricesForm =
  '{"MODEL": {"input": 5, "output": 25, "cacheRead": 0.5, "cacheWrite5m": 6.25, "cacheWrite1h": 10}}'

/** Reads a file of prices. Fails with every field that is missing or wrong. */
export const pricesIn = async (file: string | undefined): Promise<Prices | undefined> => {
  if (file === undefined) return undefined
  const prices = await jsonFile(file)
  const { problemsOfPrices } = await import('../investigate/price-problems.ts')
  const wrong = problemsOfPrices(prices)
  if (wrong.length > 0)
    throw toError(invalidInput(file, `must have the form ${pricesForm}: ${wrong.slice(0, 20).join(', ')}`))
  return prices as Prices
}

export const jsonFile = async (file: string): Promise<unknown> => {
  const text = await fileText(file)
  try {
    return parseBoundedJson(text)
  } catch (error) {
    throw toError(
      invalidInput(file, `is not JSON (${error instanceof Error ? error.message : String(error)})`),
    )
  }
}
