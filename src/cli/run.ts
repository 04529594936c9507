import { Command, CommanderError, Option } from 'commander'
import pc from 'picocolors'
import { visibleJson, visibleLines } from '../transfer/formats/visible.ts'
import { withoutSecrets } from '../api/secrets.ts'
import { addCommands } from './commands/index.ts'
import { type CliError, failureOf, usage, withUsageAdvice, withStoreAdvice } from './errors.ts'
import { addHelp } from './help.ts'
import { defaultStore, type Host } from './host.ts'
import { newName } from './options.ts'
import type { Screen } from './output.ts'
import { loadPlugIns } from './plug-ins.ts'
import { type GlobalOptions, shellOf, type CommandContext } from './shell.ts'
import { version } from './package.ts'

export { hasLoadedAgent } from './work/agent.ts'

/**
 * Runs the command line.
 *
 * @param argv the arguments after the program's name
 * @param host the program's input, output and environment
 * @returns the exit code: 0 success; 1 refused, not found or invalid; 2 wrong usage
 */
export const run = async (argv: readonly string[], host: Host): Promise<number> => {
  const isJson = argv.includes('--json')
  const hide: Hide = (text) => withoutSecrets(text, [...argv, defaultStore(host)])
  let code = 0
  let command = ''
  const onCommand = (name: string): void => void (command = name)
  const fail: CommandContext['fail'] = (as = 1) => {
    code = code === 1 ? 1 : as
  }
  try {
    await programOf({ isJson, hide, host, fail, onCommand }).parseAsync(argv, { from: 'user' })
    return code
  } catch (thrown) {
    if (!(thrown instanceof CommanderError))
      return report(withStoreAdvice(failureOf(thrown), command), { isJson, hide, host })
    if (thrown.exitCode === 0) return 0
    // Commander has already written its message, unless `--json` suppressed it.
    return isJson ? report(usage(usageMessage(thrown)), { isJson, hide, host }) : 2
  }
}

/** Removes secrets from a text that may repeat arguments given by the user. */
type Hide = (text: string) => string

interface Telling {
  readonly isJson: boolean
  readonly hide: Hide
  readonly host: Host
}

const usageMessage = ({ code, message }: CommanderError): string =>
  code === 'commander.help'
    ? 'no command given: palimpsest --help lists them'
    : withUsageAdvice(message.replace(/^error: /, ''))

interface Wiring extends Telling, Pick<CommandContext, 'fail'> {
  /** Called with the name of the command before it runs. */
  readonly onCommand: (name: string) => void
}

const programOf = ({ isJson, hide, host, fail, onCommand }: Wiring): Command => {
  const shown = (text: string): string => visibleLines(hide(text))
  const program: Command = new Command('palimpsest')
    .description(
      'A store for conversations of LLM agents. Condense, truncate and rewind them without losing anything.',
    )
    .version(version, '-v, --version')
    .addOption(
      // The help shows a description instead of the value, which may contain a password.
      new Option('--store <url>', 'the store to use').default(
        defaultStore(host),
        'PALIMPSEST_STORE, else sqlite:palimpsest.db',
      ),
    )
    .option('--json', 'print JSON (shapes: docs/cli.md)')
    .addOption(
      newName(
        new Option(
          '--load <file>',
          'first load this module, which registers stores or formats; may be repeated',
        ),
        'import',
      ).argParser(listed),
    )
    .addOption(new Option('--import <file>').argParser(listed).hideHelp())
    .hook('preAction', (_, command) => onCommand(command.name()))
    .hook('preAction', (command) => loadPlugIns(command.opts<GlobalOptions>().import ?? []))
    .configureHelp({
      showGlobalOptions: true,
      // Commander would also list the options of `serve` below `serve token`.
      visibleGlobalOptions: (command) =>
        command === program ? [] : program.options.filter(({ hidden }) => !hidden),
    })
    .showHelpAfterError('(see --help for usage)')
    .configureOutput({
      writeOut: (text) => host.stdout.write(shown(text)),
      outputError: (text, write) => write(withUsageAdvice(text)),
      writeErr: (text) => !isJson && host.stderr.write(shown(text)),
      getOutHelpWidth: () => columnsOf(host.stdout),
      getErrHelpWidth: () => columnsOf(host.stderr),
    })
    .exitOverride()
  addCommands(program, shellOf(program, host, fail))
  // Added after the other commands, so that they do not inherit its settings.
  addHelp(program, (text) => host.stdout.write(shown(text)))
  return program
}

const listed = (value: string, before: readonly string[] = []): readonly string[] => [...before, value]

/** Returns the width of help texts in columns. Commander would choose another default. */
const columnsOf = ({ isTTY = false, columns = 80 }: Screen): number => (isTTY ? columns : 80)

const report = ({ stack, ...failure }: CliError, { isJson, hide, host: { stderr } }: Telling): number => {
  const { red } = pc.createColors((stderr.isTTY ?? false) && pc.isColorSupported)
  const text = isJson
    ? visibleJson(
        JSON.stringify({ error: failure }, (_, value: unknown) =>
          typeof value === 'string' ? hide(value) : value,
        ),
      )
    : `${red('error:')} ${visibleLines(hide(failure.message))}`
  stderr.write(`${text}\n`)
  if (typeof stack === 'string' && !isJson) stderr.write(`${visibleLines(hide(stack))}\n`)
  return failure._tag === 'Usage' || failure['exitCode'] === 2 ? 2 : 1
}
