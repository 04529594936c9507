import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Command } from 'commander'
import type { Store } from '../../index.ts'
import type { Entry } from '../../projections/full.ts'
import type { TimelineEntry } from '../../projections/timeline.ts'
import { toError } from '../../result/typed-error.ts'
import { withoutCredentials } from '../../api/secrets.ts'
import { usage } from '../errors.ts'
import type { Output } from '../output.ts'
import { defaultStore, type Host } from '../host.ts'
import { port } from '../options.ts'
import { commandName, type GlobalOptions, type CommandSession, type Shell } from '../shell.ts'
import { pad, widthOf, shellWord } from '../text.ts'
import { packageFile } from '../package.ts'
import { printHeading, tour, writeWhole } from '../views/tour.ts'
import { importFile } from './import.ts'
import { serveUntilEnded } from './serve.ts'

interface Options {
  readonly web?: true
  readonly port: number
}

const sample = packageFile('examples/sessions/claude-code.jsonl')

export const addStart = (program: Command, shell: Shell): void => {
  program
    .command('start [file]')
    .description('import a session (default: a sample) and take a tour of it')
    .option('--web', 'show it as a web page, served until Ctrl-C')
    .option('--port <n>', 'with --web: port to listen on; 0 for any free one', port, 4141)
    .addHelpText(
      'after',
      `
Examples:
  palimpsest start
  palimpsest start ~/.claude/projects/app/session.jsonl
  palimpsest start --web`,
    )
    .action(
      shell.action('created', async (session, file: string | undefined, options: Options) => {
        const imported = await importFile(session, file ?? fileURLToPath(sample), { archive: true })
        const id = imported.conversations[0]?.id
        if (id === undefined) throw toError(usage(`${file} contains no conversation`))
        if (options.web) return showPage(session, id, options.port)
        const chat = session.store.conversation(id)
        const entries = await chat.timeline()
        const full = await chat.full({ abandoned: true })
        if (session.isJson) return session.out.json({ imported, conversation: id, entries, full })
        const { out, store } = session
        const typed = typedIn(program, session.host)
        const isNew = imported.conversations.some(({ added }) => added > 0)
        await out.line(
          [isNew ? `Imported the ${imported.format} session ` : 'Found session '],
          [id, 'bold'],
          [isNew ? ' into ' : ' in '],
          [store.url, 'bold'],
        )
        const count = imported.conversations.length
        if (count > 1)
          await writeWhole(out, `This is the first of ${count} conversations in the file: ${typed('list')}`)
        const name = await shortened(store, id)
        await tour(out, { entries, items: await chat.effective(), full }, (command) => typed(command(name)))
        await suggest(out, nextCommands(name, full, entries), typed)
      }),
    )
}

/** Serves the page of a conversation until the process receives `SIGTERM` or `SIGINT`. */
const showPage = async (
  { store, out, isJson, fail }: CommandSession,
  id: string,
  wanted: number,
): Promise<void> => {
  await buildPage()
  const isWhole = await serveUntilEnded(store, { port: wanted }, async (url) => {
    if (isJson) await out.json({ url, conversation: id }, false)
    else await out.line([`${url}/c/${id}`, 'bold'], [' shows it, until Ctrl-C', 'dim'])
  })
  if (!isWhole) fail()
}

/**
 * Builds the web page if the package is a checkout without a built page. A failed build is ignored, because the server then reports
 * what to do.
 */
const buildPage = async (): Promise<void> => {
  const built = fileURLToPath(packageFile('dist/ui/index.html'))
  const isCheckout = existsSync(packageFile('vite.ui.config.ts'))
  if (existsSync(built) || !isCheckout) return
  await promisify(execFile)('npm', ['run', 'build:ui'], { cwd: fileURLToPath(packageFile('.')) }).catch(
    () => {},
  )
}

/** Formats a command as the user would type it. */
type Typed = (command: string) => string

const suggest = async (out: Output, commands: readonly NextCommand[], typed: Typed): Promise<void> => {
  await printHeading(out, 'Next', 'three commands to try')
  const lines = commands.map(([command, what]) => [`  ${typed(command)}`, what] as const)
  const columns = Math.max(...lines.map(([line]) => widthOf(line)))
  const isWide = lines.some(([, what]) => columns + 2 + widthOf(what) > out.columns)
  for (const [line, what] of lines) {
    if (!isWide) await out.line([pad(line, columns), 'call'], [`  ${what}`, 'dim'])
    if (isWide) await out.line([`  # ${what}`, 'dim'])
    if (isWide) await writeWhole(out, line)
  }
}

const typedIn = (program: Command, host: Host): Typed => {
  const { store } = program.opts<GlobalOptions>()
  const option = store === defaultStore(host) ? '' : ` --store ${shellWord(withoutCredentials(store))}`
  return (command) => `${commandName(host)} ${command}${option}`
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Shortens a UUID to its first eight characters if no other conversation id begins with them. */
const shortened = async (store: Store, id: string): Promise<string> => {
  if (!uuid.test(id)) return id
  const beginning = id.slice(0, 8)
  for await (const other of store.conversations({ beginning }))
    if (other.id !== id && !other.id.startsWith(`${id}:`)) return id
  return beginning
}

type NextCommand = readonly [command: string, what: string]

/** Returns the most useful commands for a conversation, each with a description. */
const nextCommands = (
  id: string,
  full: readonly Entry[],
  entries: readonly TimelineEntry[],
): readonly NextCommand[] => {
  const marker = full.find(({ kind, status }) => kind !== 'message' && status !== 'abandoned')
  const everything = [`show ${id} --full --abandoned`, 'every message, with its status'] as const
  if (!marker) {
    const half = Math.floor((entries.length - 1) / 2)
    return [
      [`show ${id} --at ${half}`, `what the model saw at ${half}`],
      [`diff ${id} --from ${half}`, 'what has changed since'],
      everything,
    ]
  }
  const { position, kind } = marker
  return [
    [`show ${id} --at ${position - 1}`, `what the model saw before the ${kind}`],
    [`diff ${id} --from ${position - 1} --to ${position}`, `what the ${kind} changed`],
    everything,
  ]
}
