import { once } from 'node:events'
import type { Command } from 'commander'
import { invalidInput } from '../../events/errors.ts'
import { toError } from '../../result/typed-error.ts'
import { version } from '../package.ts'
import { abortOnSignals, untilAborted } from '../work/abort-on-signals.ts'
import { type CommandSession, conversationNamed, type Shell } from '../shell.ts'

interface Options {
  readonly conversation?: string
  readonly write?: true
}

export const addMcp = (program: Command, shell: Shell): void => {
  program
    .command('mcp')
    .description('an MCP server on standard input and output, with which an agent searches conversations')
    .option(
      '--conversation <id>',
      'offer only this conversation; current: the session of the program that starts the server, imported again before each call',
    )
    .option('--write', 'also offer restore, which changes what the model sees')
    .addHelpText(
      'after',
      `
The tools are search, read, show, hidden and, without --conversation, list.
Standard output has nothing but the protocol. The server ends with its input.

Examples:
  claude mcp add palimpsest -- npx palimpsest mcp --conversation current
  palimpsest mcp --store sqlite:team.db
  palimpsest mcp --conversation task-42 --write`,
    )
    .action(
      shell.action(
        ({ conversation }: Options) => (conversation === 'current' ? 'created' : 'existing'),
        async (session, { conversation, write }: Options) => {
          const { createMcpServer, StdioServerTransport } = await import('../../server/mcp.ts')
          const { store, host } = session
          const named = (text: string): Promise<string> => conversationNamed(store, text)
          const server = createMcpServer(store, named, {
            version,
            current: conversation === undefined ? undefined : currentOf(session, conversation),
            canWrite: write === true,
          })
          const { drain, forget } = abortOnSignals()
          const input = once(host.stdin, 'end').catch(() => undefined)
          const transport = new StdioServerTransport()
          // It closes by itself only if a message is too long.
          const isCut = new Promise<boolean>((resolve) => {
            Object.assign(transport, { onclose: () => resolve(true) })
          })
          await server.connect(transport)
          const isTooLong = await Promise.race([input, untilAborted(drain.signal), isCut])
          await server.close()
          forget()
          if (isTooLong === true)
            throw toError(
              invalidInput('standard input', 'has a message of more than 10 MiB: send less at once'),
            )
        },
      ),
    )
}

/** Returns a function that finds the conversation: the given one, or the session of the program that started this server. */
const currentOf =
  ({ store, host }: CommandSession, conversation: string): (() => Promise<string>) =>
  async () => {
    if (conversation !== 'current') return conversationNamed(store, conversation)
    const { importCurrent } = await import('../current-session.ts')
    return importCurrent(store, host)
  }
