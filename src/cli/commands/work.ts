import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { writeProblemOf } from '../../api/schemes.ts'
import { isDeath, maxAttempts } from '../../agent/workers/board/open-step.ts'
import { flush } from '../../agent/telemetry/open-telemetry.ts'
import { sealAnchorOption, createSealTask, type SealingOptions, sealOption } from '../audit/seal-task.ts'
import { usage } from '../errors.ts'
import { type AttemptReport, openStore, type Store } from '../../index.ts'
import { toError } from '../../result/typed-error.ts'
import { keepApplyingRetention } from '../retention-task.ts'
import type { Output } from '../output.ts'
import { secondsIn } from '../durations.ts'
import { serverUrl, several, workerName } from '../options.ts'
import { packageFile } from '../package.ts'
import { type GlobalOptions, missingFile, type Shell } from '../shell.ts'
import { cutToWidth, linesOf, type Paint, plural, type TextSpan, untilText, widthOf } from '../text.ts'
import { visible } from '../../transfer/formats/visible.ts'
import { mostBelow } from '../views/table.ts'
import { type WorkerFlags, workHere } from '../work/child.ts'
import type { News } from '../work/life.ts'
import { nodeFlags } from '../work/node-flags.ts'
import { relayTokenName } from '../work/relay-client.ts'
import { checkAgentFile } from '../work/agent.ts'
import { abortOnSignals } from '../work/abort-on-signals.ts'
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
Once a day, the rules of \`palimpsest retention\` are applied.
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
        if (!isJson) {
          const missing = await missingFile(host, store.url)
          if (missing !== undefined) await out.line([missing, 'warning'])
          await out.aside([`answering the conversations of ${store.url}; Ctrl-C ends it`, 'dim'])
          // A large store without a snapshot takes seconds to read, and the workers need not wait for it.
          void sayWaiting(store, out).catch(() => {})
        }
        const keeping = keepApplyingRetention(store, host.stderr, stops.drain.signal)
        try {
          await supervise({
            processes: options.processes,
            // Output of the agent is not output of this command, so it goes to standard error. The store's URL is passed in the
            // environment, because it may contain a password.
            start: ({ isReplaced, isSpare }) =>
              fork(
                fileURLToPath(packageFile('bin/palimpsest.js')),
                [...args, ...(isReplaced ? ['--existing'] : []), ...(isSpare ? ['--standby'] : [])],
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
            onNews: (news) => void (isJson ? out.json(news, false) : writeNews(out, news)),
            onDeath: async (worker, reason) => {
              await report(store, given.store, out, worker, reason)
              // Others take over at once, and need not wait for this.
              if (!isJson) void writeDeaths(store, out, worker).catch(() => {})
            },
            ...stops,
          })
          await sealing
        } finally {
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

/**
 * Records the death of a worker, so that others take over its steps at once instead of after a timeout. If recording fails, opens the
 * store again and retries, as the store's file may have been replaced.
 */
const report = async (
  store: Store,
  url: string,
  out: Output,
  worker: string,
  reason: string,
): Promise<void> => {
  try {
    await store.workerStopped(worker, { reason })
  } catch {
    if (await reportAgain(url, worker, reason)) return
    await out.aside([`the death of ${worker} cannot be recorded`, 'warning'])
  }
}
const reportAgain = async (url: string, worker: string, reason: string): Promise<boolean> => {
  try {
    const store = await openStore(url, { create: false })
    try {
      await store.workerStopped(worker, { reason })
    } finally {
      await store.close()
    }
    return true
  } catch {
    return false
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

/** Returns what happens next to a step after an attempt; undefined if it needs no explanation. */
const nextPart = ({ conversation, outcome, waitMs }: AttemptReport): string | undefined => {
  if (outcome === 'parked') return `fix the cause; palimpsest retry ${conversation} lets workers try again`
  if (waitMs === undefined) return undefined
  const again = `tried again in ${Math.ceil(waitMs / 1_000)} s`
  return outcome === 'free' ? `not counted as an attempt; ${again}` : again
}

/** Maximum number of steps of a dead process that are shown. A process may have worked on many. */
const mostDeaths = 5

/** Names the steps during which a worker died, because one of them may kill each worker that tries it. */
const writeDeaths = async (store: Store, out: Output, worker: string): Promise<void> => {
  const lines: string[] = []
  for await (const { conversation, step, errors } of store.steps()) {
    if (errors.at(-1) !== `${worker} ended`) continue
    const deaths = errors.filter(isDeath).length
    // Each attempt leaves an error. The number of attempts may already include the next one.
    const known = `${conversation}  its process died  attempt ${errors.length} of ${maxAttempts}, step ${step}`
    const advice = `${deaths} workers died during it: palimpsest log ${conversation} --turns shows it, palimpsest pause ${conversation} keeps it from workers`
    // The first death may be due to another step of the process.
    lines.push(deaths > 1 ? `${known}; ${advice}` : known)
  }
  const shown = lines.slice(0, mostDeaths)
  for (const line of shown) await writeBelow(out, line, 'warning')
  if (lines.length > shown.length)
    await writeBelow(
      out,
      `and ${plural(lines.length - shown.length, 'further step')}: palimpsest steps lists them`,
    )
}

/** Writes a text on a line of its own, or on a terminal on as many as it takes, as it says what happens next. */
const writeBelow = async (out: Output, text: string, paint: Paint = 'dim'): Promise<void> => {
  for (const line of out.columns < Infinity ? linesOf(text, out.columns - 2) : [text])
    await out.line([`  ${line}`, paint])
}

/** Writes a line of news. If an attempt does not fit into the terminal, its error and what happens next follow below it. */
const writeNews = async (out: Output, news: News): Promise<void> => {
  if (news.type !== 'step') return out.line(...newsParts(news))
  const parts = newsParts(news)
  const [conversation, outcome, text, error, next] = parts
  const width = parts.reduce((sum, [each]) => sum + widthOf(visible(each)), 0)
  if (width <= out.columns || !conversation || !outcome || !text) return out.parts(parts)
  await out.line(conversation, outcome, text)
  if (error?.[0])
    await writeBelow(out, cutToWidth(visible(error[0].trim()), mostBelow * out.columns), 'warning')
  if (next?.[0]) await writeBelow(out, next[0].trim().slice(1, -1))
}

const newsParts = (news: News): readonly TextSpan[] => {
  if (news.type === 'started') return [[`${news.worker} started, process ${news.pid}`, 'dim']]
  if (news.type === 'spare') return [[`${news.worker} stands by, process ${news.pid}`, 'dim']]
  if (news.type === 'step') {
    const { conversation, outcome, attempt, ms, error } = news
    const text = `  attempt ${attempt}  ${Math.round(ms)} ms`
    const next = nextPart(news)
    return [
      [conversation, 'bold', 'whole'],
      [`  ${outcome}`, outcome === 'failed' || outcome === 'parked' ? 'warning' : 'assistant'],
      [text],
      [error ? `  ${error}` : ''],
      [next ? `  (${next})` : '', 'dim'],
    ]
  }
  const { worker = 'a process', by, restartIn, error } = news
  const how = typeof by === 'number' ? `ended (exit code ${by})` : `was killed (${by})`
  const next =
    restartIn === 0 ? '; the standby takes over' : `; starts again in ${(restartIn ?? 0) / 1_000} s`
  const again = restartIn === undefined ? '' : next
  return [
    [`${worker} ${how}${again}${error === undefined ? '' : `: ${error}`}`, by === 0 ? 'dim' : 'warning'],
  ]
}

interface ChildOptions extends WorkerFlags {
  readonly existing?: true
  readonly relay?: string
}

/** Adds the hidden command with which `work` starts the process of a single worker. */
export const addWorkAsOne = (program: Command, shell: Shell): void => {
  const command = withWorkerOptions(program.command(`${childCommand} <agent>`, { hidden: true }))
  command
    .option('--existing', 'create no store')
    .option('--standby', 'stand by until asked to step in')
    .action(async (agent: string, { grace, existing, relay, ...options }: ChildOptions) => {
      const given = { ...options, ...(grace !== undefined && { grace: grace * 1_000 }) }
      await shell.action(existing ? 'existing' : 'created', ({ store, host: { env, stderr } }) => {
        const says = (text: string): void => void stderr.write(`${text}\n`)
        const server = relay === undefined ? undefined : { url: relay, token: env[relayTokenName], says }
        return workHere(store, agent, given, server)
      })()
      await flush()
      // The agent may have left something open that would keep the process alive.
      process.exit()
    })
}
