import { Command, CommanderError, Option } from 'commander'
import pc from 'picocolors'
import { visibleJson, visibleLines } from '../formats/visible.ts'
import { withoutSecrets } from '../api/secrets.ts'
import { addCommands } from './commands/index.ts'
import { type Failure, failureOf, usage } from './errors.ts'
import { configuredStore, shellOf } from './shell.ts'
import { version } from './version.ts'

const examples = `
Examples:
  palimpsest import session.jsonl        import a session in any known format
  palimpsest log ID --all                every event, with the graph of branches
  palimpsest show ID --at 12             what the model saw at position 12
  palimpsest condense ID --summary "…" --keep-last 4
  palimpsest undo ID                     undo that: nothing is ever lost
  palimpsest backup monday.db            one consistent file, even while in use

Each line begins with a position, and positions name events in every command.
Exit codes: 0 done, 1 refused or not found, 2 wrong usage.`

/**
 * Runs the command line.
 *
 * @param argv the arguments behind the program's name
 * @returns the exit code: 0 done; 1 refused, not found or invalid; 2 wrong usage
 */
export const run = async (argv: readonly string[]): Promise<number> => {
  const isJson = argv.includes('--json')
  const hide: Hide = (text) => withoutSecrets(text, [...argv, configuredStore()])
  try {
    await programOf(isJson, hide).parseAsync(argv, { from: 'user' })
    return Number(process.exitCode ?? 0)
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) return report(failureOf(thrown), isJson, hide)
    if (thrown.exitCode === 0) return 0
    // Commander has written its message already, unless it was kept from it.
    return isJson ? report(usage(usageMessage(thrown)), isJson, hide) : 2
  }
}

/** Takes what is secret out of a text that is about what was typed. */
type Hide = (text: string) => string

const usageMessage = ({ code, message }: CommanderError): string =>
  code === 'commander.help'
    ? 'no command is given: palimpsest --help lists them'
    : message.replace(/^error: /, '')

const programOf = (isJson: boolean, hide: Hide): Command => {
  const shown = (text: string): string => visibleLines(hide(text))
  const program = new Command('palimpsest')
    .description('Conversations of LLM agents. Condense, truncate and rewind them without losing a word.')
    .version(version, '--version')
    .addOption(
      // The value may hold a password.
      new Option('--store <url>', 'where the conversations are').default(
        configuredStore(),
        'PALIMPSEST_STORE, else sqlite:palimpsest.db',
      ),
    )
    .option('--json', 'answer in JSON (docs/cli.md has the shapes)')
    .addHelpText('after', examples)
    .configureHelp({ showGlobalOptions: true })
    .addHelpCommand(
      new Command('help')
        .argument('[command]')
        .description('show help for the command')
        .helpGroup('In and out:'),
    )
    .showHelpAfterError('(--help shows how it is used)')
    .configureOutput({
      writeOut: (text) => process.stdout.write(shown(text)),
      writeErr: (text) => !isJson && process.stderr.write(shown(text)),
    })
    .exitOverride()
  addCommands(program, shellOf(program))
  return program
}

const report = ({ stack, ...failure }: Failure, isJson: boolean, hide: Hide): number => {
  const { red } = pc.createColors(process.stderr.isTTY && pc.isColorSupported)
  const text = isJson
    ? visibleJson(
        JSON.stringify({ error: failure }, (_, value: unknown) =>
          typeof value === 'string' ? hide(value) : value,
        ),
      )
    : `${red('error:')} ${visibleLines(hide(failure.message))}`
  process.stderr.write(`${text}\n`)
  if (typeof stack === 'string' && !isJson) process.stderr.write(`${visibleLines(hide(stack))}\n`)
  return failure._tag === 'Usage' ? 2 : 1
}
