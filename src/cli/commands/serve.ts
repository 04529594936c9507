import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { writeProblemOf } from '../../api/schemes.ts'
import { flush } from '../../agent/telemetry/open-telemetry.ts'
import type { Store } from '../../index.ts'
import { toError } from '../../result/typed-error.ts'
import { newRelay } from '../../server/relay.ts'
import type { ServeOptions } from '../../server/serve.ts'
import { patrolBeside, patrolOption, type PatrolFlags } from '../audit/patrol.ts'
import { usage } from '../errors.ts'
import { createSealTask, type SealingOptions, sealOption } from '../audit/seal-task.ts'
import { port, several } from '../options.ts'
import { keepApplyingRetention } from '../retention-task.ts'
import { type CommandSession, missingFile, type Shell } from '../shell.ts'
import { addServeToken, defaultTokenFile } from './token.ts'
import { writeAttempt, writeEarlierDeaths } from '../views/work-news.ts'
import { workInside, type WorkListeners } from '../work/inside.ts'
import { abortOnSignals, createDrainNote, untilAborted } from '../work/abort-on-signals.ts'

interface Options extends SealingOptions, PatrolFlags {
  readonly port: number
  readonly host: string
  readonly allowHost?: readonly string[]
  readonly readOnly?: true
  readonly tokenFile?: string
  readonly work?: string
  readonly slots?: number
}

export const addServe = (program: Command, shell: Shell): void => {
  const command = program
    .command('serve')
    .description('serve the store over HTTP: a web page and an API')
    .option('--port <n>', 'port to listen on; 0 for any free one', port, 4141)
    .option('--host <address>', 'the address to listen on', '127.0.0.1')
    .option('--allow-host <names...>', 'further host names that clients may use')
    .option('--read-only', 'refuse all writes over HTTP')
    .option('--token-file <file>', 'require a token from this file')
    .option('--work <agent>', "also answer conversations with this module's agent")
    .option('--slots <n>', 'with --work: how many at once (default: 8)', several)
    .option(...sealOption)
    .option(...patrolOption)
    .option('--anchor <places...>', 'with --seal, --patrol: where checkpoints are kept')
    .addHelpText(
      'after',
      `
Listens on this machine only. Without a token file, every user of the machine
may do everything; \`palimpsest serve token create\` creates one. Any other
address requires a token file.
The access log, a line of JSON for each request, goes to standard error.
With --work, a worker runs in this process: the API then streams what the model
writes as it is written. \`palimpsest work --help\` says what the module exports.
Attempts that failed are printed, as \`palimpsest work\` does.
When it starts, then daily, it applies the rules of \`palimpsest retention\`.
With --seal, an anchor that has seen more than the ledger, as after a backup was
restored, stops only the sealing: the log and /readyz (warnings) say so.
With --patrol, each audit's findings are an event in the store, a metric and a
line in the log.
On SIGTERM or SIGINT, requests in progress are answered, then the server ends.

Examples:
  palimpsest serve                 # then open http://127.0.0.1:4141
  palimpsest serve --work agent.ts
  curl http://127.0.0.1:4141/api/v1/conversations
  palimpsest serve --host 0.0.0.0 --token-file tokens.json`,
    )
    .action(async ({ allowHost: names, readOnly: isReadOnly, ...options }: Options) => {
      const wrong = names?.find((name) => /[/\s]/.test(name))
      if (wrong !== undefined)
        throw toError(usage(`--allow-host must be a host name, such as agents.example.org, not ${wrong}`))
      if (options.slots !== undefined && options.work === undefined)
        throw toError(usage('--slots needs --work'))
      if (options.anchor && options.seal === undefined && !options.patrol)
        throw toError(usage('--anchor has no effect without --seal or --patrol: add one of them'))
      let isWhole = true
      await shell.action('created', async ({ store, out, isJson, host, fail }: CommandSession) => {
        const { stderr } = host
        const missing = await missingFile(host, store.url)
        // A worker, a sealer and a patrol write, even if clients may not.
        const isWritten =
          !isReadOnly || options.work !== undefined || options.seal !== undefined || options.patrol
        const writeProblem = isWritten ? () => writeProblemOf(store.url) : undefined
        const unwritable = await writeProblem?.()
        const listeners: WorkListeners = {
          onStep: (step) => {
            // Those that went well are in the access log of their requests, or in the store.
            if (step.error === undefined) return
            void (isJson ? out.json({ type: 'step', ...step }, false) : writeAttempt(out, step))
          },
          onDeaths: (steps) => void (isJson || writeEarlierDeaths(out, steps)),
        }
        const all = { ...options, ...listeners, names, isReadOnly, writeProblem, log: stderr }
        isWhole = await serveUntilEnded(store, all, async (url) => {
          if (isJson) await out.json({ url }, false)
          else await out.line([`${store.url} is served on ${url} (the API: ${url}/api/v1)`])
          if (missing !== undefined && !isJson) await out.line([missing, 'warning'])
          if (unwritable) stderr.write(`warning: nothing can be written: ${unwritable.message}\n`)
          if (!isJson) for (const line of tasksOf(options)) await out.line([line])
          if (options.tokenFile !== undefined || isJson) return
          // A person who has created tokens may believe that they are required.
          if (existsSync(defaultTokenFile)) stderr.write(unusedTokens)
          else await out.aside(['without --token-file, every user of this machine may do everything', 'dim'])
        })
        if (!isWhole) fail()
      })()
      if (options.work === undefined) return
      await flush()
      // The agent may have left something open that would keep the process alive.
      process.exit(isWhole ? 0 : 1)
    })
  addServeToken(command, shell)
}

/** Returns a line for each task that runs beside the server. */
const tasksOf = ({ work, seal, patrol, anchor = [] }: Options): readonly string[] => {
  const places = anchor.length > 0 ? `, anchored in ${anchor.join(', ')}` : ''
  return [
    ...(work === undefined ? [] : [`a worker answers conversations with ${work}`]),
    ...(seal === undefined ? [] : [`conversations are sealed with ${seal}${places}`]),
    ...(patrol ? ['the whole store is audited once a day'] : []),
  ]
}

interface Serving
  extends Omit<ServeOptions, 'store' | 'relay'>, SealingOptions, PatrolFlags, Partial<WorkListeners> {
  readonly work?: string | undefined
  readonly slots?: number | undefined
}

/**
 * Serves a store until the process receives `SIGTERM` or `SIGINT`. Throws if the worker, the sealer or the patrol fails, or if the
 * worker ends by itself.
 *
 * @param began called with the server's URL once it listens
 * @returns false if a second signal ended the server before all work was done
 */
export const serveUntilEnded = async (
  store: Store,
  { work, slots, seal, patrol, anchor, onStep, onDeaths, ...options }: Serving,
  began: (url: string) => Promise<void>,
): Promise<boolean> => {
  const { serve } = await import('../../server/serve.ts')
  const relay = newRelay()
  const inside =
    work === undefined
      ? undefined
      : await workInside(store, work, { slots, relay, log: options.log, onStep, onDeaths })
  const sealer = await createSealTask(store, { seal, anchor }, options.log)
  const patroller = await patrolBeside(store, { patrol, anchor }, options.log)
  const { drain, end, forget } = abortOnSignals()
  const drained = untilAborted(drain.signal)
  const lastTurns = createDrainNote(options.log)
  if (inside) drain.signal.addEventListener('abort', () => lastTurns.begin(inside.grace))
  try {
    const warnings = (): readonly string[] => [sealer?.problem?.() ?? []].flat()
    const server = await serve({ ...options, store, relay, warnings })
    const beside = [inside, sealer, patroller].flatMap((one) => (one ? [one.run(drain.signal)] : []))
    if (!options.isReadOnly) beside.push(keepApplyingRetention(store, options.log, drain.signal))
    // Prevents unhandled rejections; the errors are handled where these promises are awaited.
    for (const running of beside) running.catch(() => undefined)
    try {
      await began(server.url)
      await Promise.race([...beside, drained])
      if (!drain.signal.aborted) throw toError(workerEnded)
    } finally {
      await server.close()
      // If one of them has failed, the others end now.
      drain.abort()
      await Promise.race([Promise.allSettled(beside), untilAborted(end.signal)])
    }
    if (!end.signal.aborted) await Promise.all(beside)
    return !end.signal.aborted
  } finally {
    await sealer?.close()
    await patroller?.close()
    lastTurns.end()
    forget()
  }
}

const unusedTokens = `${defaultTokenFile} is not used, so every user of this machine may do everything: to require its tokens, add --token-file ${defaultTokenFile}\n`

/** Error for a worker that ends without a request to stop, because the store's file has been replaced. */
const workerEnded = {
  _tag: 'StoreReplaced',
  message: "the worker has ended: the store's file was replaced. Restart the server",
}
