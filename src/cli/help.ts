import type { Command } from 'commander'
import { nearest } from '../events/nearest.ts'

const firstSteps = `Usage: palimpsest COMMAND [options]

Keeps conversations of LLM agents. Summaries, cuts and rewinds delete nothing.

First steps:
  palimpsest start          tour a sample session; --web shows it in the browser
  palimpsest import PATH    import a session, or a folder: ~/.claude/projects
  palimpsest list           list the conversations, each with its ID
  palimpsest show ID        show what the model sees; --at N: saw at position N
  palimpsest why ID         explain what the model could see in its last call

Commands:
`

const further = `
palimpsest help --all describes them; palimpsest COMMAND --help has examples.
Every command takes --store URL, --json and --load FILE.
`

/** Makes the help of the program fit one screen: first steps, then the names of all commands. */
export const addHelp = (program: Command, write: (text: string) => void): void => {
  const describeAll = program.helpInformation.bind(program)
  program.helpInformation = () => `${firstSteps}${namesIn(program).join('\n')}\n${further}`
  program
    .helpCommand(false)
    .command('help [command...]')
    .description('show help for a command')
    .helpGroup('Help:')
    .option('--all', 'describe every command')
    .addHelpText('after', '\nExamples:\n  palimpsest help --all\n  palimpsest help audit export')
    .action((names: readonly string[], { all }: { readonly all?: true }) => {
      if (all) write(`${describeAll()}${notes}`)
      else names.reduce(subcommandOf, program).outputHelp()
    })
}

const notes = `
Each line of output about an event begins with its position; commands refer to
events by position. A unique beginning of an ID stands for it; commands that
write need at least 8 characters of it. append and say, which begin a
conversation under a new ID, take only the beginning of a UUID.
Exit codes: 0 success, 1 refused or not found, 2 wrong usage.
`

/** Lists the names of the commands by group: a line for each group. */
const namesIn = (program: Command): readonly string[] => {
  const shown = program.createHelp().visibleCommands(program)
  const groups = Map.groupBy(shown, (command) => command.helpGroup())
  groups.delete('Help:')
  return [...groups].map(
    ([heading, commands]) =>
      `  ${heading.replace(':', '').padEnd(12)} ${commands.map((command) => command.name()).join(' ')}`,
  )
}

const subcommandOf = (command: Command, name: string): Command => {
  const found = command.commands.find((each) => each.name() === name || each.aliases().includes(name))
  if (found) return found
  const meant = nearest(
    name,
    command.commands.map((each) => each.name()),
  )
  return command.error(
    `error: unknown command '${name}'${meant === undefined ? '' : `\n(Did you mean ${meant}?)`}`,
  )
}
