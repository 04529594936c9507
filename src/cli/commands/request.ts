import { type Command, Option } from 'commander'
import { visible } from '../../transfer/formats/visible.ts'
import { render } from '../../core.ts'
import { anthropicRequest, lastModel } from '../../transfer/formats/write-anthropic.ts'
import { configurationOf, type Effective } from '../../projections/effective.ts'
import { type Conversation, isError, type ModelCall } from '../../index.ts'
import type { CallName } from '../../investigate/index.ts'
import { callNameHelp, callNameOrLast, exclusive, positionOrStart, several } from '../options.ts'
import type { CommandSession, Shell } from '../shell.ts'
import { shellWord } from '../text.ts'
import { writeRequestNotes } from '../views/request-notes.ts'
import { writeTable } from '../views/table.ts'

interface RequestViewOptions {
  readonly at?: number
  readonly systemMessages?: boolean
  readonly prefill?: boolean
  readonly truncationNotes: boolean
}

interface SentOptions {
  readonly call?: number
  readonly list?: boolean
}

interface Options extends RequestViewOptions {
  readonly call?: CallName | 'last'
  readonly list?: boolean
}

export const addRequest = (program: Command, shell: Shell): void => {
  const rendering = ['at', 'systemMessages', 'prefill', 'truncationNotes']
  withRenderOptions(program.command('request <id>'))
    .description('print a request to the model as JSON: the next one, or the one sent in a call')
    .addOption(
      exclusive(
        '--call <n>',
        `as sent in this call: ${callNameHelp}`,
        ['list', ...rendering],
        callNameOrLast,
      ),
    )
    .addOption(new Option('--list', listed).conflicts(rendering))
    .addHelpText(
      'after',
      `
Without --call and --list, the body for the Messages API that the events up to a
position lead to, with the model and parameters that the log has; standard error
lists the repairs, and the fields that are missing. With --call, the body is
rebuilt from the log, and standard error says whether it matches the digest in
its receipt. A reply without one, such as one in an imported session whose file
does not hold its request, is named by its position (p17): its request is then
derived from the log, not proven, and lacks what the log does not have. Without
--call, --json adds the repairs, whose turn it is, and the names of beta
features to the body, which the API refuses.

Examples:
  palimpsest request task-42 | curl https://api.anthropic.com/v1/messages \\
    -H "x-api-key: $ANTHROPIC_API_KEY" -H "anthropic-version: 2023-06-01" \\
    -H "content-type: application/json" -d @-
  palimpsest request task-42 --json | jq .repairs
  palimpsest request task-42 --at 12 > request.json
  palimpsest request task-42 --list
  palimpsest request task-42 --call 3`,
    )
    .action(
      shell.look((session, id, { call, list, ...options }: Options) => {
        if (list) return writeCalls(session, id)
        if (call === undefined) return writeRendered(session, id, options)
        return writeCall(session, id, call === 'last' ? undefined : call)
      }),
    )
}

/** Maximum number of entries among which a hidden reply is looked for. */
const mostLooked = 1_000

/** Returns the model of the last reply if a summary or truncation hides all replies; undefined if one is shown, or none is found. */
const earlierModel = async (chat: Conversation, { at, items }: Effective): Promise<string | undefined> =>
  at < 0 || lastModel(items) !== undefined ? undefined : lastModel(await chat.full({ at, last: mostLooked }))

/** Adds the former name of `request`. */
export const addRender = (program: Command, shell: Shell): void => {
  withRenderOptions(program.command('render <id>', { hidden: true }))
    .description('the former name of `request`')
    .action(shell.look(writeRendered))
}

/** Adds the former name of `request --call`. */
export const addSent = (program: Command, shell: Shell): void => {
  program
    .command('sent <id>', { hidden: true })
    .description('the former name of `request --call`')
    .addOption(
      exclusive('--call <n>', 'number of the call, from 1 (default: the last one)', ['list'], several),
    )
    .option('--list', listed)
    .action(
      shell.look((session, id, { call, list }: SentOptions) =>
        list ? writeCalls(session, id) : writeCall(session, id, call),
      ),
    )
}

const listed = 'list the calls: number, position, kind, model, tokens in and out, digest'

const withRenderOptions = (command: Command): Command =>
  command
    .option('--at <position>', 'as of this position (default: now)', positionOrStart)
    .option('--system-messages', 'the model accepts system messages inside the conversation')
    .option('--prefill', 'keep a final assistant message for the model to continue')
    .option('--no-truncation-notes', 'do not mark for the model where messages were left out')

const writeRendered = async (
  { store, out, isJson, host }: CommandSession,
  id: string,
  { at, ...options }: RequestViewOptions,
): Promise<void> => {
  const chat = store.conversation(id)
  const now = await chat.context({ at })
  const rendered = render(now, options)
  if (isJson) return out.json(rendered)
  const body = anthropicRequest(now, options, await earlierModel(chat, now))
  await out.json(body, true)
  const { betas } = configurationOf(now).parameters ?? {}
  writeRequestNotes(host, body, { ...rendered, betas, conversation: id })
}

/** Writes the request of a call, named as for `why`: as sent if the call has a receipt, otherwise as the log leads to it. */
const writeCall = async (session: CommandSession, id: string, call: CallName | undefined): Promise<void> => {
  try {
    if (typeof call !== 'string') return await writeSent(session, id, call)
  } catch (error) {
    if (!isError(error, 'CallOutOfRange')) throw error
  }
  const { why } = await import('../../investigate/index.ts')
  const found = await why(session.store.conversation(id), { call })
  if (typeof found.call === 'number') return writeSent(session, id, found.call)
  const { store, out, isJson, host } = session
  const chat = store.conversation(id)
  const now = await chat.context({ at: found.at })
  const body = anthropicRequest(now, {}, await earlierModel(chat, now))
  await out.json(body, !isJson || out.isTerminal)
  const source = (await isImported(chat, found.position))
    ? '; the imported file does not hold its request'
    : ''
  host.stderr.write(
    `${visible(`call ${found.call}, made at position ${found.at}, answered at ${found.position}`)}: derived from the log, not proven by a receipt${source}\n`,
  )
  if (!isJson) writeRequestNotes(host, body, { conversation: id })
}

/** Reports whether an import wrote the event at a position. */
const isImported = async (chat: Conversation, position: number): Promise<boolean> => {
  for await (const { metadata } of chat.events({ from: position, to: position }))
    return metadata.actor.kind === 'import'
  return false
}

const writeSent = async (
  { store, out, isJson, host, fail }: CommandSession,
  id: string,
  call: number | undefined,
): Promise<void> => {
  const sentCall = await store.conversation(id).sent(call)
  const { number, position, receipt, isSame, finding, request, body, betas } = sentCall
  const isErased = finding?.kind === 'erased'
  if (!isSame && !isErased) fail()
  const { parameters, ...sent } = request
  const posted = body ?? { ...parameters, ...sent }
  await out.json(isJson && betas ? { ...posted, betas } : posted, !isJson || out.isTerminal)
  const differs = isErased ? 'not checkable: it showed content that was erased' : 'DOES NOT MATCH ITS RECEIPT'
  const verdict = isSame ? 'matches its receipt' : differs
  const next = isSame || isErased ? '' : '; verify --receipts shows what differs'
  host.stderr.write(
    `${visible(`call ${number}, made at position ${receipt.position}, answered at ${position}: ${verdict} (${receipt.digest})${next}`)}\n`,
  )
  if (!isJson) writeRequestNotes(host, posted, { betas, conversation: id })
}

const writeCalls = async ({ store, out, isJson, host }: CommandSession, id: string): Promise<void> => {
  const calls = []
  for await (const each of store.conversation(id).calls()) calls.push(rowOf(each))
  if (isJson) return out.json({ conversation: id, calls })
  if (calls.length === 0) {
    const word = shellWord(id)
    const instead = `palimpsest request ${word} --at N prints what the events up to N lead to, --call pN what the reply at N was sent`
    host.stderr.write(
      `no call has a receipt, as in an imported session whose file holds no requests: ${instead}; palimpsest log ${word} lists positions\n`,
    )
    return
  }
  const rows = calls.map((row) => Object.values(row).map(String))
  await writeTable(out, ['call', 'position', 'kind', 'model', 'in', 'out', 'digest'], rows, [0, 1, 4, 5])
}

const rowOf = ({ number, position, kind, origin, receipt }: ModelCall) => {
  const { usage = {}, model = '' } = origin
  const tokens = (field: string): number => Number(usage[field] ?? 0)
  return {
    call: number,
    position,
    kind,
    model,
    in: tokens('input_tokens') + tokens('cache_read_input_tokens') + tokens('cache_creation_input_tokens'),
    out: tokens('output_tokens'),
    digest: receipt.digest,
  }
}
