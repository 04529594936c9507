import { mkdir, mkdtemp, realpath, rm, stat } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { gitWorkspace } from '../api/git-workspace.ts'
import { invalidInput } from '../events/errors.ts'
import type { Conversation, ConversationEvent, Workspace } from '../index.ts'
import { checkoutCommand, isSameWorkspace, workspaceOf, workspaceText } from '../projections/workspace.ts'
import { toError } from '../result/typed-error.ts'
import { visible } from '../transfer/formats/visible.ts'
import type { SessionClient } from '../transfer/formats/sessions/clients.ts'
import {
  type SessionExport,
  type SessionExportOptions,
  writeSession,
} from '../transfer/formats/sessions/write-session.ts'
import type { CliError } from './errors.ts'
import { writerOf } from './output-file.ts'
import { runProgram } from './run-program.ts'
import type { CommandContext, CommandSession } from './shell.ts'
import { plural, rangesText, shellWord } from './text.ts'

/** A session for a client, before it is installed. */
export interface PlannedSession extends SessionExport {
  readonly conversation: string
  readonly client: SessionClient
  readonly cwd: string
  /** Path of the file to write; undefined if the client has to import a file. */
  readonly file: string | undefined
  /** State of the files at that moment; undefined if it was not recorded. */
  readonly workspace: Workspace | undefined
}

/** An installed session, and how to continue it. */
export interface InstalledSession extends PlannedSession {
  readonly file: string
  readonly command: ClientCommand
}

/** A command to type, with the folder in which to type it. */
interface ClientCommand {
  readonly cwd: string
  readonly program: string
  readonly args: readonly string[]
  /** Arguments with which the client first imports the file. */
  readonly first?: readonly string[]
}

/** Returns the real path of a folder. Throws `InvalidInput` if it is not a folder. */
export const folderAt = async (folder = '.'): Promise<string> => {
  const path = await realpath(folder).catch(() => undefined)
  if (path === undefined || !(await stat(path)).isDirectory())
    throw toError(invalidInput('cwd', `${folder} is not a folder: name the one in which to continue`))
  return path
}

/** Prepares a session for a client. Throws `InvalidInput` if the model sees nothing at the position. */
export const planSession = async (
  { host: { env } }: Pick<CommandContext, 'host'>,
  chat: Conversation,
  client: SessionClient,
  options: SessionExportOptions & { readonly cwd: string },
): Promise<PlannedSession> => {
  // Loaded when it is needed: it knows how files are imported.
  const { linesUntil } = await import('../transfer/original-lines.ts')
  const written = await writeSession(chat, client, { ...options, findLines: linesUntil })
  if (written.messages === 0)
    throw toError(invalidInput('at', 'the model sees no messages at this position: name a later one'))
  const folder = client.folder?.(env, env['HOME'] || homedir())
  const file = folder === undefined ? undefined : join(folder, written.path)
  const { workspace } = workspaceOf(await pathAt(chat, options.at)) ?? {}
  return { ...written, conversation: chat.id, client, cwd: options.cwd, file, workspace }
}

/** Returns the events on the path at a position. */
export const pathAt = async (
  chat: Conversation,
  at: number | undefined,
): Promise<readonly ConversationEvent[]> =>
  (await chat.timeline({ at })).filter(({ onPath }) => onPath).map(({ event }) => event)

/**
 * Writes a session where its client looks, readable only by the user. A client that has to import it does so; if it is not installed,
 * importing becomes part of the command. Throws `InvalidInput` if the file cannot be written; `ImportFailed`.
 *
 * @param more further arguments for the client
 */
export const installSession = async (
  session: CommandSession,
  planned: PlannedSession,
  more: readonly string[] = [],
): Promise<InstalledSession> => {
  const { client, cwd, lines } = planned
  const file = planned.file ?? join(await mkdtemp(join(tmpdir(), 'palimpsest-')), planned.path)
  // If the folder cannot be made, the write says why.
  await mkdir(dirname(file), { recursive: true, mode: 0o700 }).catch(() => undefined)
  await (
    await writerOf(session, 'install', file, 0o600)
  )(lines)
  const command = commandFor(planned, file, more)
  const { first, ...rest } = command
  if (!first) return { ...planned, file, command }
  const code = await runProgram(client.program, first, { cwd, env: session.host.env, stdio: 'ignore' })
  if (code === undefined) return { ...planned, file, command }
  if (code !== 0) throw toError(importFailed(commandText(command), client.title, code))
  await rm(dirname(file), { recursive: true, force: true })
  return { ...planned, file, command: rest }
}

/**
 * Returns the command that continues a session.
 *
 * @param more further arguments for the client
 */
export const commandFor = (
  { client: { program, resume, imports }, id, cwd }: PlannedSession,
  file: string,
  more: readonly string[],
): ClientCommand => ({
  cwd,
  program,
  args: [...resume(id, file), ...more],
  ...(imports && { first: imports(file) }),
})

/** Error of a client that could not import a session. The file is kept. */
const importFailed = (command: string, client: string, exitCode: number): CliError => ({
  _tag: 'ImportFailed',
  message: `${client} could not import the session (exit code ${exitCode}): the file is kept, so try it yourself: ${command}`,
  command,
})

/** Error of a client that is not installed. The session is. */
export const clientNotFound = ({ client, command }: InstalledSession): CliError => ({
  _tag: 'ClientNotFound',
  message: `${client.program} is not installed, or not on the PATH: the session is written, so start ${client.title} yourself: ${commandText(command)}`,
  command: commandText(command),
})

/** Returns a command as it is typed in a shell. */
export const commandText = ({ cwd, program, args, first }: ClientCommand): string =>
  [
    ...(cwd === process.cwd() ? [] : [['cd', cwd]]),
    ...(first ? [[program, ...first]] : []),
    [program, ...args],
  ]
    .map((words) => words.map(shellWord).join(' '))
    .join(' && ')

/** Maximum number of kinds of losses that are listed. */
const mostLost = 20

/** Writes to standard error what a session of a client cannot hold, one line for each kind of loss. */
export const writeLost = ({ host: { stderr }, isJson }: CommandContext, planned: PlannedSession): void => {
  const { lost, client } = planned
  if (isJson || lost.length === 0) return
  const all = [...Map.groupBy(lost, ({ detail }) => detail)]
  const lines = all
    .slice(0, mostLost)
    .map(([detail, each]) => `  ${detail} (${cut(rangesText(positionsOf(each)))})`)
  const more = all.length > mostLost ? [`  and ${all.length - mostLost} more, which --json lists`] : []
  stderr.write(`${[`lost in ${client.title}:`, ...lines, ...more].map(visible).join('\n')}\n`)
}

/** Writes to standard error where the files were, unless they are there. Nothing here changes files: the command is for the user. */
export const writeFiles = async (
  { host: { stderr }, isJson }: CommandContext,
  { workspace, cwd }: PlannedSession,
): Promise<void> => {
  if (isJson || !workspace) return
  const now = await gitWorkspace(cwd)
  if (!workspace.dirty && isSameWorkspace(workspace, now)) return
  stderr.write(`the files were at ${workspaceText(workspace)}: ${checkoutCommand(workspace)}\n`)
}

const positionsOf = (lost: PlannedSession['lost']): readonly number[] =>
  [...new Set(lost.map(({ position }) => position))].toSorted((one, other) => one - other)

/** Cuts a list of positions that would take several lines. */
const cut = (ranges: string): string =>
  ranges.length <= 60 ? ranges : `${ranges.slice(0, ranges.lastIndexOf(',', 60))}, …`

/** The answer of a command about a session, for `--json`. */
export const sessionJson = ({
  conversation,
  client,
  id,
  cwd,
  way,
  messages,
  lost,
  workspace,
}: PlannedSession) => ({
  conversation,
  format: client.name,
  session: id,
  cwd,
  way,
  messages,
  lost,
  ...(workspace && { workspace }),
})

/** Says where a session was written, and prints the command that continues it. */
export const reportInstalled = async (
  session: CommandSession,
  installed: InstalledSession,
): Promise<void> => {
  const { out, isJson, host } = session
  const { client, file, command, messages } = installed
  if (isJson) return out.json({ ...sessionJson(installed), file, command: commandText(command) })
  writeLost(session, installed)
  await writeFiles(session, installed)
  host.stderr.write(`wrote ${visible(file)}: ${client.name}, ${plural(messages, 'message')}\n`)
  await out.line([commandText(command), 'bold'])
}
