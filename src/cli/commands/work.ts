import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { deathOf } from '../../agent/workers/board/open-step.ts'
import { writeProblemOf } from '../../api/schemes.ts'
import { flush } from '../../agent/telemetry/open-telemetry.ts'
import { sealAnchorOption, createSealTask, type SealingOptions, sealOption } from '../audit/seal-task.ts'
import { usage } from '../errors.ts'
import { type OpenStepInfo, openStore, type Store } from '../../index.ts'
import { once } from '../../result/once.ts'
import { toError } from '../../result/typed-error.ts'
import { keepApplyingRetention } from '../retention-task.ts'
import type { Output } from '../output.ts'
import { secondsIn } from '../durations.ts'
import { serverUrl, several, workerName } from '../options.ts'
import { packageFile } from '../package.ts'
import { type GlobalOptions, missingFile, openNamedStore, type Shell } from '../shell.ts'
import { plural, untilText } from '../text.ts'
import { type DeadStep, writeDeaths, writeNews } from '../views/work-news.ts'
import { type WorkerFlags, workHere } from '../work/child.ts'
import { nodeFlags } from '../work/node-flags.ts'
import { relayTokenName } from '../work/relay-client.ts'
import { changedText, checkAgentFile, createChangeCheck } from '../work/agent.ts'
import { abortOnSignals, createDrainNote } from '../work/abort-on-signals.ts'
import { supervise } from '../work/supervise.ts'

interface Options extends SealingOptions {
  readonly processes: number
  readonly slots?: number
  readonly name?: string
  readonly conversations?: readonly string[]
  readonly grace?: number
  readonly answerAll?: true
  readonly relay?: string
  readonly relayToken?: string
}

/** Name of the hidden command that runs in the process of a single worker. */
const childCommand = 'work-as-one'

export const addWork = (program: Command, shell: Shell): void => {
  withWorkerOptions(program.command('work <agent>'))
    .description("answer conversations with a module's agent, in several processes")
    .option('--processes <n>', 'how many processes', several, 1)
    .option(...sealOption)
    .option(...sealAnchorOption)
    .option('--relay-token <token>', `the server's token (default: ${relayTokenName})`)
    .addHelpText(
      'after',
      `
The module's default export returns the options of a turn for a conversation:
  export default ({ id, chat }) => ({ client, model: 'claude-opus-5-5', tools })
or is an object with that function as \`turn\`, and other options of a worker.

Only conversations for which somebody has requested an answer are served
(\`append --answer\`, \`palimpsest answer ID\`, or \`answer: true\` in a program),
unless --answer-all is given, in which case imported sessions and forks are
answered, too. A
process that dies is started again, and others take over its steps at once. With
two or more processes, an additional one stands by: it replaces one that dies,
and is the only one to retry a step during which two have died.
With --relay, \`palimpsest serve\` at that URL streams what the model writes as it
is written. This stream is never recorded; if the server is down, only the
stream is lost. The token needs the scope write.
When it starts, then daily, it applies the rules of \`palimpsest retention\`.
On SIGTERM or SIGINT, only steps in progress finish; a second signal ends
all processes at once (exit code 1).

Examples:
  palimpsest work agent.ts --processes 4 --slots 8
  palimpsest work agent.ts --conversations billing- support- --name billing
  palimpsest work agent.ts --json | jq 'select(.type == "step")'`,
    )
    .action(
      shell.action('created', async ({ store, out, isJson, host, fail }, agent: string, options: Options) => {
        if (options.anchor && options.seal === undefined) throw toError(usage('--anchor needs --seal'))
        if (store.url === 'memory:')
          throw toError(
            usage(
              'worker processes share no memory, so a memory: store cannot be used: name another store with --store',
            ),
          )
        checkAgentFile(agent)
        const hasChanged = createChangeCheck(agent)
        const problem = await writeProblemOf(store.url)
        if (problem) throw toError(problem)
        const given = program.opts<GlobalOptions>()
        const args = [
          childCommand,
          agent,
          ...workerArgs(options),
          ...(given.import ?? []).flatMap((file) => ['--load', file]),
        ]
        const sealer = await createSealTask(store, options, host.stderr)
        const stops = abortOnSignals()
        // If the reader closes the output, the command ends as on a first signal.
        out.unread.addEventListener('abort', () => stops.drain.abort())
        const sealing = sealer?.run(stops.drain.signal)
        // A failure of the sealer does not stop the workers; it is reported at once.
        sealing?.catch((error: unknown) =>
          host.stderr.write(`${JSON.stringify({ audit: 'ended', error })}\n`),
        )
        // Only this command creates the store, and only once: a file that is moved later may be put back.
        const create = once(async () => {
          const missing = await missingFile(host, store.url)
          if (missing !== undefined && !isJson) await out.line([missing, 'warning'])
          await (await openNamedStore(host, given.store, 'created at once')).close()
          // Has this process, too, open the store that is there now.
          await store.conversation(childCommand).exists()
        })
        let isAnswering = false
        const begin = async (): Promise<void> => {
          await out.aside([`answering the conversations of ${store.url}; Ctrl-C ends it`, 'dim'])
          await sayWaiting(store, out)
        }
        const lastTurns = createDrainNote(host.stderr)
        const keeping = keepApplyingRetention(store, host.stderr, stops.drain.signal)
        try {
          await supervise({
            processes: options.processes,
            // Output of the agent is not output of this command, so it goes to standard error. The store's URL is passed in the
            // environment, because it may contain a password.
            start: ({ isSpare }) =>
              fork(
                fileURLToPath(packageFile('bin/palimpsest.js')),
                [...args, ...(isSpare ? ['--standby'] : [])],
                {
                  env: {
                    ...host.env,
                    PALIMPSEST_STORE: given.store,
                    ...(options.relayToken !== undefined && { [relayTokenName]: options.relayToken }),
                  },
                  execArgv: [...nodeFlags, ...process.execArgv],
                  stdio: ['ignore', 2, 2, 'ipc'],
                },
              ),
            onLoaded: create,
            onNews: (news) => {
              // The first worker has started: the agent is loaded. A large store takes seconds to read, and nobody waits for that.
              if (!isAnswering && !isJson && news.type === 'started') void begin().catch(() => {})
              isAnswering ||= news.type === 'started'
              void (isJson ? out.json(news, false) : writeNews(out, news))
            },
            onDraining: lastTurns.begin,
            // Each process tells of the change, which is said once.
            onChanged: () => void (hasChanged() && host.stderr.write(changedText(agent))),
            onDeath: async (worker, reason, taken) => {
              const inStore = withStore(store, given.store)
              await inStore((now) => now.workerStopped(worker, { reason })).catch(() =>
                out.aside([`the death of ${worker} cannot be recorded`, 'warning']),
              )
              // Others take over at once, and need not wait for this.
              if (!isJson)
                void inStore((now) => stepsDuring(now, worker))
                  .catch(() => [])
                  .then((steps) => writeDeaths(out, withTaken(steps, taken), worker))
                  .catch(() => {})
            },
            ...stops,
          })
          await sealing
        } finally {
          lastTurns.end()
          stops.drain.abort()
          await keeping
          await sealer?.close()
          stops.forget()
        }
        if (stops.end.signal.aborted) fail()
      }),
    )
}

/** Says how many steps wait after a failure, because workers that start take none of them until then. */
const sayWaiting = async (store: Store, out: Output): Promise<void> => {
  const waiting: string[] = []
  for await (const { nextTry } of store.steps({ state: 'open' }))
    if (nextTry !== undefined) waiting.push(nextTry)
  const first = waiting.toSorted()[0]
  if (first === undefined) return
  const one = waiting.length === 1
  await out.aside([
    `${plural(waiting.length, 'step')} ${one ? 'waits' : 'wait'} after a failure, ${one ? '' : 'the first '}for ${untilText(first)}; palimpsest steps lists ${one ? 'it' : 'them'}, palimpsest retry ID lets workers try at once`,
    'dim',
  ])
}

/** Returns the steps during which a worker has died. Others may have tried them since. */
const stepsDuring = async (store: Store, worker: string): Promise<readonly OpenStepInfo[]> => {
  const steps: OpenStepInfo[] = []
  for await (const step of store.steps()) if (deathOf(step.errors, worker) >= 0) steps.push(step)
  return steps
}

/** Adds conversations whose steps are over by now, because others were quick. */
const withTaken = (steps: readonly OpenStepInfo[], taken: readonly string[]): readonly DeadStep[] => {
  const listed = new Set(steps.map(({ conversation }) => conversation))
  const others = taken.filter((conversation) => !listed.has(conversation))
  return [...steps, ...others.map((conversation) => ({ conversation }))]
}

/** Returns a function that uses a store, and if that fails, the store opened again, as its file may have been replaced. */
const withStore =
  (store: Store, url: string) =>
  async <T>(use: (store: Store) => Promise<T>): Promise<T> => {
    try {
      return await use(store)
    } catch {
      const again = await openStore(url, { create: false })
      try {
        return await use(again)
      } finally {
        await again.close()
      }
    }
  }

const withWorkerOptions = (command: Command): Command =>
  command
    .option('--slots <n>', 'conversations that each process works on at once (default: 8)', several)
    .option('--name <name>', "prefix of the workers' ids (default: worker)", workerName)
    .option('--conversations <prefixes...>', 'serve only conversations whose id begins with this')
    .option(
      '--grace <duration>',
      'time that turns may take to finish: 2min, or seconds (default: 30s)',
      secondsIn,
    )
    .option('--answer-all', 'answer every conversation that awaits the model, requested or not')
    .option('--relay <url>', "relay the model's output to this server", serverUrl)

const workerArgs = ({ slots, name, conversations, grace, answerAll, relay }: Options): readonly string[] => [
  ...(slots === undefined ? [] : ['--slots', String(slots)]),
  ...(name === undefined ? [] : ['--name', name]),
  ...(conversations === undefined ? [] : ['--conversations', ...conversations]),
  ...(grace === undefined ? [] : ['--grace', String(grace)]),
  ...(answerAll ? ['--answer-all'] : []),
  ...(relay === undefined ? [] : ['--relay', relay]),
]

interface ChildOptions extends WorkerFlags {
  readonly relay?: string
}

/** Adds the hidden command with which `work` starts the process of a single worker. */
export const addWorkAsOne = (program: Command, shell: Shell): void => {
  const command = withWorkerOptions(program.command(`${childCommand} <agent>`, { hidden: true }))
  command
    .option('--standby', 'stand by until asked to step in')
    .action(async (agent: string, { grace, relay, ...options }: ChildOptions) => {
      const given = { ...options, ...(grace !== undefined && { grace: grace * 1_000 }) }
      const { host } = shell.surroundings()
      const says = (text: string): void => void host.stderr.write(`${text}\n`)
      const server = relay === undefined ? undefined : { url: relay, token: host.env[relayTokenName], says }
      const { store: url } = program.opts<GlobalOptions>()
      await workHere(() => openNamedStore(host, url, 'existing'), agent, given, server)
      await flush()
      // The agent may have left something open that would keep the process alive.
      process.exit()
    })
}
