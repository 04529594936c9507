import { type Command, Option } from 'commander'
import { isDeath } from '../../agent/workers/board/open-step.ts'
import { canRetry, notParked } from '../../server/parked-step.ts'
import type { OpenStepInfo, StepState, Store } from '../../index.ts'
import { toError } from '../../result/typed-error.ts'
import { usage } from '../errors.ts'
import { actorIn } from '../host.ts'
import { conversationNamed, type Shell } from '../shell.ts'
import { shortIds } from '../short-ids.ts'
import { ageText, linesOf, untilText } from '../text.ts'
import { loadAgent } from '../work/agent.ts'
import { termsColumns } from '../views/answer-terms.ts'
import { writeTable } from '../views/table.ts'
import { summaryOf } from '../views/workers.ts'

const states = ['open', 'claimed', 'waiting', 'parked'] as const satisfies readonly StepState[]
const meanings: Readonly<Record<StepState, string>> = {
  open: 'for a worker to take',
  claimed: 'in progress',
  waiting: 'for an approval or a result',
  parked: 'refused, or failed five times',
}

type Options = { readonly [S in StepState]?: true } & { readonly agent?: string }

export const addSteps = (program: Command, shell: Shell): void => {
  const command = program
    .command('steps')
    .description('list the steps requested of workers, oldest first')
    .option('--agent <file>', 'the module given to `work`: mark the steps that its policy holds back')
    .addHelpText(
      'after',
      `
In a pipe, each line is conversation, state, since when, attempts, worker, last
error, and when the step is tried again, separated by tabs. The worker of a
claimed step may have died since.
For an open step that no worker takes, the reason is shown: paused, or, if
--agent names the policy, its tenant's budget or limit.

Examples:
  palimpsest steps
  palimpsest steps --open --agent agent.ts
  palimpsest steps --parked --json`,
    )
    .action(
      shell.action('existing', async ({ store, out, isJson }, options: Options) => {
        const state = states.find((each) => options[each])
        const steps: OpenStepInfo[] = []
        const policy = options.agent === undefined ? {} : (await loadAgent(options.agent)).policy
        for await (const step of store.steps({ state, policy })) steps.push(step)
        if (isJson) return out.json({ steps })
        if (steps.length === 0) return out.aside([`no ${state ?? 'open'} steps`, 'dim'])
        const workers = shortIds(steps.flatMap(({ holder }) => holder ?? []))
        const shown = withoutRepeats(steps)
        const terms = termsColumns(steps)
        const rows = out.isTerminal
          ? shown.map((step) => shownRow(step, workers).toSpliced(2, 0, ...terms.texts(step)))
          : steps.map(plainRow)
        const right = [2, 3, 4].map((column) => column + terms.headings.length)
        await writeTable(out, headings.toSpliced(2, 0, ...terms.headings), rows, right, 'last may go below')
        for (const text of await adviceFor(store, steps, options))
          for (const line of linesOf(text, out.columns)) await out.aside([line, 'dim'])
      }),
    )
  for (const state of states) {
    const others = states.filter((other) => other !== state)
    command.addOption(
      new Option(`--${state}`, `only steps that are ${state}: ${meanings[state]}`).conflicts(others),
    )
  }
}

const headings = ['conversation', 'state', 'age', 'attempts', 'next try', 'worker', 'last error']

/** Returns what to do about these steps, a text for each state that they are in. */
const adviceFor = async (
  store: Store,
  steps: readonly OpenStepInfo[],
  { agent }: Options,
): Promise<readonly string[]> => {
  const [free, suspect] = [steps.filter(isFree), steps.filter((step) => isFree(step) && hasKilled(step))]
  const nobody = free.length > 0 ? await nobodyText(store) : undefined
  const isLeft = free.some(({ since }) => Date.now() - Date.parse(since) > 60_000)
  return [
    ...(steps.some(({ nextTry, heldUntil }) => nextTry !== undefined && heldUntil === undefined)
      ? ['next try: palimpsest retry ID lets workers try a step at once']
      : []),
    ...(steps.some(({ heldUntil }) => heldUntil !== undefined)
      ? ['budget: spent until the next try; retry has no effect before that']
      : []),
    ...(nobody === undefined ? [] : [`open: ${nobody}`]),
    ...(nobody === undefined && suspect.length > 0
      ? [
          'open after two deaths: left to the worker that stands by; if none does, others take the step after 10 s at most',
        ]
      : []),
    ...(nobody === undefined && agent === undefined && isLeft
      ? [
          'open for over a minute: palimpsest workers shows who is there; --agent FILE, if the policy of that agent holds a step back, and until when',
        ]
      : []),
    ...(steps.some(({ state }) => state === 'waiting')
      ? ['waiting: palimpsest waiting lists the calls; palimpsest approve ID CALL or deny ID CALL decides']
      : []),
    ...(steps.some(({ state }) => state === 'parked')
      ? [
          'parked: refused, or failed five times. Fix the cause; palimpsest retry ID, or --parked for all, lets workers try again',
        ]
      : []),
  ]
}

/** Reports whether a step is open, although nothing that can be seen here holds it back. */
const isFree = ({ state, held, nextTry }: OpenStepInfo): boolean =>
  state === 'open' && !held && nextTry === undefined

const hasKilled = ({ errors }: OpenStepInfo): boolean => errors.filter(isDeath).length > 1

/** Returns the reason why no worker at all takes a step; undefined if one may. */
const nobodyText = async (store: Store): Promise<string | undefined> => {
  for await (const roster of store.workers()) {
    const { workers } = summaryOf(roster, false)
    if (workers.length === 0)
      return 'no worker is running: start palimpsest work AGENT, or wait if it restarts its processes'
    if (workers.every(({ paused }) => paused))
      return 'all workers are paused; palimpsest resume --worker ID lets one continue'
  }
  return undefined
}

/** Replaces an error that an earlier step has, too, by the name of that step's conversation, which has the number of such steps. */
const withoutRepeats = (steps: readonly OpenStepInfo[]): readonly OpenStepInfo[] => {
  const having = Map.groupBy(steps, ({ errors }) => errors.at(-1))
  return steps.map((step) => {
    const error = step.errors.at(-1)
    const [first = step, ...others] = having.get(error) ?? []
    if (error === undefined || others.length === 0) return step
    const text = first === step ? `in ${others.length + 1} steps: ${error}` : `as for ${first.conversation}`
    return { ...step, errors: [text] }
  })
}

/** Returns the time at which workers may try a step, after a failure or in the next period of its budget. */
const nextOf = ({ nextTry, heldUntil }: OpenStepInfo): string | undefined =>
  [nextTry, heldUntil]
    .filter((time) => time !== undefined)
    .toSorted()
    .at(-1)

const stateText = ({ state, held }: OpenStepInfo): string => (held ? `${state} (${held})` : state)
const shownRow = (step: OpenStepInfo, workers: ReadonlyMap<string, string>): readonly string[] => {
  const { conversation, since, attempt, holder = '', errors } = step
  const nextTry = nextOf(step)
  const next =
    step.held === 'paused' ? 'when resumed' : nextTry === undefined ? '' : `in ${untilText(nextTry)}`
  const age = ageText(since)
  const worker = workers.get(holder) ?? holder
  return [conversation, stateText(step), age, String(attempt), next, worker, errors.at(-1) ?? '']
}
const plainRow = (step: OpenStepInfo): readonly string[] => {
  const { conversation, since, attempt, holder = '', errors } = step
  const nextTry = nextOf(step) ?? ''
  return [conversation, stateText(step), since, String(attempt), holder, errors.at(-1) ?? '', nextTry]
}

interface RetryOptions {
  readonly by?: string
  readonly reason?: string
  readonly parked?: true
  readonly dryRun?: true
}

export const addRetry = (program: Command, shell: Shell): void => {
  retrying(program.command('retry [id...]'), shell)
    .description('let workers try steps again that are parked, or wait after a failure')
    .addHelpText(
      'after',
      `
A step is parked after five failed attempts, or once the API refuses its
request: \`palimpsest steps --parked\` shows the errors. One that waits after a
failure is tried at once. Repair the cause first:
workers then try the step up to five times more. A new message, a rewind or a
new request also opens it again. If one of several conversations has no such
step, nothing is retried.

Examples:
  palimpsest retry task-42
  palimpsest retry task-42 --by ann --reason "the key is valid again"
  palimpsest retry --parked --dry-run`,
    )
}

/** Adds the former name of `retry`. */
export const addUnpark = (program: Command, shell: Shell): void => {
  retrying(program.command('unpark [id...]', { hidden: true }), shell).description(
    'the former name of `retry`',
  )
}

const retrying = (command: Command, shell: Shell): Command =>
  command
    .option('--parked', 'retry all parked steps')
    .option('--dry-run', 'only list the conversations')
    .option('--by <name>', 'who retries them (default: $USER)')
    .option('--reason <text>', 'reason, stored with the events')
    .action(
      shell.action(refuseUnlessNamed, async (session, given: readonly string[], options: RetryOptions) => {
        const { store, out, isJson, host } = session
        const by = actorIn(host, options.by)
        const conversations = options.parked ? await parkedIn(store) : await namedParked(store, given)
        if (!options.dryRun)
          for (const id of conversations) await store.conversation(id).retry({ by, reason: options.reason })
        if (isJson) {
          const [conversation] = conversations
          return out.json(given.length === 1 ? { conversation, by } : { conversations, by })
        }
        if (conversations.length === 0) return out.aside(['no parked steps', 'dim'])
        const may = options.dryRun ? 'could' : 'may'
        const paused = await pausedIn(store)
        for (const id of conversations) {
          const until = paused.has(id) ? `, once palimpsest resume ${id} ends its pause` : ''
          await out.line([`workers ${may} try ${id} again${until}`])
        }
      }),
    )

const refuseUnlessNamed = (given: readonly string[], { parked }: RetryOptions): 'existing' => {
  if (given.length > 0 === (parked === true))
    throw toError(
      usage(`name conversations${parked ? ' or give --parked, not both' : ', or all with --parked'}`),
    )
  return 'existing'
}

/** Returns the conversations whose steps are held back by a pause. */
const pausedIn = async (store: Store): Promise<ReadonlySet<string>> => {
  const ids = new Set<string>()
  for await (const { conversation, held } of store.steps({ state: 'open' }))
    if (held === 'paused') ids.add(conversation)
  return ids
}

const parkedIn = async (store: Store): Promise<readonly string[]> => {
  const ids: string[] = []
  for await (const { conversation } of store.steps({ state: 'parked' })) ids.push(conversation)
  return ids
}

/** Returns the ids of the conversations that these texts name. Throws `NotParked` for the first without a step to retry. */
const namedParked = async (store: Store, given: readonly string[]): Promise<readonly string[]> => {
  const ids = new Set<string>()
  for (const text of given) {
    const id = await conversationNamed(store, text)
    if (!(await canRetry(store, id))) throw toError(notParked(id, await adviceOn(store, id)))
    ids.add(id)
  }
  return [...ids]
}

/** Returns advice on a conversation without a step to retry. */
const adviceOn = async (store: Store, id: string): Promise<string> => {
  for await (const { conversation, state } of store.steps({ conversations: [id] }))
    if (conversation === id)
      return state === 'open'
        ? "workers may take it already; palimpsest steps --agent FILE shows whether its tenant's limit or budget holds it back, and until when"
        : `it is ${state}, ${meanings[state]}`
  return `palimpsest steps lists the steps; palimpsest answer ${id} asks workers for an answer`
}
