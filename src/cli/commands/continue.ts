import { type Command, Option } from 'commander'
import { toError } from '../../result/typed-error.ts'
import { sessionFormats } from '../../transfer/formats/plan.ts'
import { clientNamed } from '../../transfer/formats/sessions/clients.ts'
import { visible } from '../../transfer/formats/visible.ts'
import {
  clientNotFound,
  commandFor,
  commandText,
  folderAt,
  type InstalledSession,
  installSession,
  planSession,
  sessionJson,
  writeFiles,
  writeLost,
} from '../client-session.ts'
import { unknownChoice } from '../errors.ts'
import { pattern, position, withholdOption } from '../options.ts'
import { type DisclosureOptions, inspectExport } from '../inspect-export.ts'
import { runProgram } from '../run-program.ts'
import type { CommandSession, Shell } from '../shell.ts'
import { plural } from '../text.ts'

interface Options extends Omit<DisclosureOptions, 'format'> {
  readonly in: string
  readonly cwd?: string
  readonly dryRun?: true
}

export const addContinue = (program: Command, shell: Shell): void => {
  program
    .command('continue <id> [args...]')
    .description('continue a conversation in Claude Code, Codex, pi or opencode')
    .requiredOption('--in <client>', 'claude-code (or claude), codex, pi or opencode')
    .option('--at <position>', 'as of this position, even before a compaction (default: now)', position)
    .option('--cwd <folder>', 'the folder to continue it in (default: this one)')
    .addOption(withholdOption())
    .option(
      '--redact <pattern>',
      'replace text that matches this regular expression with [redacted]',
      pattern,
    )
    .option('--force', 'continue even if the content contains what looks like secrets')
    .addOption(new Option('--dry-run', 'say what would be written, lost and started, and do nothing'))
    .addHelpText(
      'after',
      `
Writes what the model sees at the position as a new session of the client, lists
what is lost on standard error, and starts the client with it. The exit code is
the client's. Arguments after -- are passed to the client. Neither the
conversation in the store nor the client's own session changes: to record how
the conversation continues, import the new session.

Examples:
  palimpsest continue task-42 --at 120 --in claude-code
  palimpsest continue task-42 --in codex --cwd ~/project
  palimpsest continue task-42 --in claude -- --model opus
  palimpsest continue task-42 --in pi --dry-run`,
    )
    .action(async (id: string, args: readonly string[], options: Options) => {
      let installed: InstalledSession | undefined
      // The store is closed before the client starts, which may run for hours.
      await shell.look(async (session: CommandSession, whole: string) => {
        installed = await install(session, whole, args, options)
      })(id)
      if (!installed) return
      const { command } = installed
      const { host, fail } = shell.surroundings()
      const { cwd } = command
      const code = command.first
        ? undefined
        : await runProgram(command.program, command.args, { cwd, env: host.env, stdio: 'inherit' })
      if (code === undefined) throw toError(clientNotFound(installed))
      if (code !== 0) fail(code)
    })
}

/** Installs a session for a client; with `--dry-run`, only announces that and returns undefined. */
const install = async (
  session: CommandSession,
  id: string,
  args: readonly string[],
  options: Options,
): Promise<InstalledSession | undefined> => {
  const { store, host, out, isJson } = session
  const client = clientNamed(options.in)
  if (!client) throw toError(unknownChoice('--in', options.in, sessionFormats, ['claude']))
  const cwd = await folderAt(options.cwd)
  const chat = store.conversation(id)
  // Fails with the nearest id if the conversation does not exist.
  await chat.position()
  const left = await inspectExport(session, chat, { ...options, format: client.name })
  const planned = await planSession(session, chat, client, { ...left, at: options.at, cwd })
  writeLost(session, planned)
  await writeFiles(session, planned)
  if (options.dryRun) {
    const { file = 'FILE', messages } = planned
    const command = commandText(commandFor(planned, file, args))
    if (isJson) await out.json({ ...sessionJson(planned), file, command })
    else {
      host.stderr.write(`would write ${visible(file)}: ${client.name}, ${plural(messages, 'message')}\n`)
      await out.line([command, 'bold'])
    }
    return undefined
  }
  const installed = await installSession(session, planned, args)
  if (!isJson)
    host.stderr.write(`continuing in ${client.title}: ${visible(commandText(installed.command))}\n`)
  return installed
}
