import type { Command } from 'commander'
import { withoutSecrets } from '../../api/secrets.ts'
import { toError } from '../../result/typed-error.ts'
import { type CliError, usage } from '../errors.ts'
import { indexFolder } from '../host.ts'
import { port, serverUrl } from '../options.ts'
import { startProxy, type ProxyRoute } from '../record/proxy.ts'
import { type RecordTotals, startRecorder, type ThreadRecorder } from '../record/recorder-thread.ts'
import { spoolFolder } from '../record/spool.ts'
import { runProgram } from '../run-program.ts'
import { type CommandContext, type GlobalOptions, openNamedStore, type Shell } from '../shell.ts'
import { plural } from '../text.ts'
import { abortOnSignals, untilAborted } from '../work/abort-on-signals.ts'

interface Options {
  readonly port: number
  readonly upstream?: string
  readonly strict?: true
}

type Env = Readonly<Record<string, string | undefined>>

export const addRecord = (program: Command, shell: Shell): void => {
  program
    .command('record [client] [args...]')
    .description('record what an agent sends to its model, by a proxy on this machine')
    .option('--port <n>', 'port to listen on; 0 for any free one', port, 0)
    .option(
      '--upstream <url>',
      "the model's server (default: ANTHROPIC_BASE_URL, OPENAI_BASE_URL, or theirs)",
      serverUrl,
    )
    .option('--strict', 'pass on nothing that is not recorded first')
    .showHelpAfterError('(put -- before a client with options: palimpsest record -- claude -p "Fix it.")')
    .addHelpText(
      'after',
      `
Starts the client with ANTHROPIC_BASE_URL and OPENAI_BASE_URL set to the proxy,
and ends with it; the exit code is the client's. Without a client, it prints
these variables and runs until Ctrl-C.
Requests and replies are passed on unchanged, also if they cannot be recorded;
with --strict, those are refused. If the process is killed, the next start
records the calls that were waiting.
Each call becomes events of a conversation, with a receipt that proves it:
palimpsest request ID --call N prints what was sent. Keys are never stored.

Examples:
  palimpsest record -- claude
  palimpsest record --store sqlite:team.db -- claude -p "Fix the tests."
  palimpsest record --port 4142 --upstream https://api.anthropic.com`,
    )
    .action(async (client: string | undefined, args: readonly string[], options: Options) => {
      const context = shell.surroundings()
      const { host, fail } = context
      const { store, import: modules = [] } = program.opts<GlobalOptions>()
      const routes = routesOf(host.env, options.upstream)
      // Opened here first, because an error of the URL is one of usage.
      await (await openNamedStore(host, store, 'created at once')).close()
      const index = indexFolder(host, store)
      const isStrict = options.strict === true
      // With --strict, nothing is passed on before it is recorded, so nothing waits.
      const spool = isStrict ? undefined : spoolFolder(host, store)
      const recorder = await startRecorder({ url: store, index, modules, spool, isStrict })
      try {
        const proxy = await startProxy({
          port: options.port,
          routes,
          onCall: recorder.add,
          onMissed: recorder.miss,
          isStrict,
        })
        try {
          const env = variablesFor(proxy.url, routes)
          const code =
            client === undefined
              ? await untilStopped(context, env)
              : await start(client, args, { ...host.env, ...env })
          if (code !== 0) fail(code)
        } finally {
          await proxy.close()
        }
      } finally {
        await writeTotals(context, store, recorder)
      }
    })
}

/** The providers whose API is recorded: the variable that names its URL, and the URL if it is not set. */
const providers = [
  { prefix: '/anthropic', variable: 'ANTHROPIC_BASE_URL', url: 'https://api.anthropic.com' },
  { prefix: '/openai', variable: 'OPENAI_BASE_URL', url: 'https://api.openai.com/v1' },
] as const

/** Returns the servers to which requests go. They are never taken from a request. */
const routesOf = (env: Env, upstream: string | undefined): readonly ProxyRoute[] => {
  if (upstream !== undefined) return [{ prefix: '', upstream: new URL(upstream) }]
  return providers.map(({ prefix, variable, url }) => {
    const set = env[variable] || url
    if (!URL.canParse(set)) throw toError(usage(`${variable} must be a URL, not ${withoutSecrets(set)}`))
    return { prefix, upstream: new URL(set) }
  })
}

/** Returns the variables with which a client sends its requests to the proxy. */
const variablesFor = (url: string, routes: readonly ProxyRoute[]): Record<string, string> =>
  Object.fromEntries(
    providers.map(({ prefix, variable }) => [variable, `${url}${routes.length > 1 ? prefix : ''}`]),
  )

const start = async (client: string, args: readonly string[], env: Env): Promise<number> => {
  const code = await runProgram(client, args, { cwd: process.cwd(), env, stdio: 'inherit' })
  if (code === undefined) throw toError(noClient(client))
  return code
}

const noClient = (command: string): CliError => ({
  _tag: 'ClientNotFound',
  message: `there is no command ${command}: install it, or check its name`,
  command,
})

/** Prints the variables, and waits for a signal. */
const untilStopped = async (
  { out, isJson }: CommandContext,
  env: Record<string, string>,
): Promise<number> => {
  // Before anything is printed, so that a reader can then end this process in order.
  const { drain, forget } = abortOnSignals()
  if (isJson) await out.json(env, false)
  else for (const [name, value] of Object.entries(env)) await out.line([`export ${name}=${value}`])
  await untilAborted(drain.signal)
  forget()
  return 0
}

/** Ends the recorder, and reports on standard error how many calls it has recorded. */
const writeTotals = async (
  { host }: CommandContext,
  store: string,
  recorder: ThreadRecorder,
): Promise<void> => {
  const { calls, conversations, missed, reason, unlike }: RecordTotals = await recorder.end()
  const lost = missed > 0 ? `; ${plural(missed, 'call')} not recorded: ${reason}` : ''
  host.stderr.write(
    `recorded ${plural(calls, 'call')} in ${plural(conversations, 'conversation')} of ${withoutSecrets(store)}${lost}\n`,
  )
  for (const client of unlike)
    host.stderr.write(
      `${client} changes its history in ways that this version does not know: every request is recorded to the byte, but more of the log than needed is rewinds\n`,
    )
}
