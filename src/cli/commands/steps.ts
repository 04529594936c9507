import { type Command, Option } from 'commander'
import { isParked, notParked } from '../../server/parked-step.ts'
import type { OpenStepInfo, StepState, Store } from '../../index.ts'
import { toError } from '../../result/typed-error.ts'
import { usage } from '../errors.ts'
import { actorIn } from '../host.ts'
import { conversationNamed, type Shell } from '../shell.ts'
import { ageText } from '../text.ts'
import { loadAgent } from '../work/agent.ts'
import { writeTable } from '../views/table.ts'

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
In a pipe, each line is conversation, state, since when, attempts, worker and
last error, separated by tabs. The worker of a claimed step may have died since.
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
        await writeTable(
          out,
          headings,
          steps.map(out.isTerminal ? shownRow : plainRow),
          [2, 3],
          'last is prose',
        )
        if (steps.some((step) => step.state === 'parked'))
          await out.aside([
            'parked: refused, or failed five times. Fix the cause; palimpsest retry ID, or --parked for all, lets workers try again',
            'dim',
          ])
      }),
    )
  for (const state of states) {
    const others = states.filter((other) => other !== state)
    command.addOption(
      new Option(`--${state}`, `only steps that are ${state}: ${meanings[state]}`).conflicts(others),
    )
  }
}

const headings = ['conversation', 'state', 'age', 'attempts', 'worker', 'last error']

const row = (
  { conversation, state, held, attempt, holder, errors }: OpenStepInfo,
  age: string,
): readonly string[] => [
  conversation,
  held ? `${state} (${held})` : state,
  age,
  String(attempt),
  holder ?? '',
  errors.at(-1) ?? '',
]
const shownRow = (step: OpenStepInfo): readonly string[] => row(step, ageText(step.since))
const plainRow = (step: OpenStepInfo): readonly string[] => row(step, step.since)

interface RetryOptions {
  readonly by?: string
  readonly reason?: string
  readonly parked?: true
  readonly dryRun?: true
}

export const addRetry = (program: Command, shell: Shell): void => {
  retrying(program.command('retry [id...]'), shell)
    .description('let workers try parked steps again')
    .addHelpText(
      'after',
      `
A step is parked after five failed attempts, or once the API refuses its
request: \`palimpsest steps --parked\` shows the errors. Repair the cause first:
workers then try the step up to five times more. A new message, a rewind or a
new request also opens it again. If one of several conversations has no parked
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
        for (const id of conversations) await out.line([`workers ${may} try ${id} again`])
      }),
    )

const refuseUnlessNamed = (given: readonly string[], { parked }: RetryOptions): 'existing' => {
  if (given.length > 0 === (parked === true))
    throw toError(
      usage(`name conversations${parked ? ' or give --parked, not both' : ', or all with --parked'}`),
    )
  return 'existing'
}

const parkedIn = async (store: Store): Promise<readonly string[]> => {
  const ids: string[] = []
  for await (const { conversation } of store.steps({ state: 'parked' })) ids.push(conversation)
  return ids
}

/** Returns the ids of the conversations that these texts name. Throws `NotParked` for the first that has no parked step. */
const namedParked = async (store: Store, given: readonly string[]): Promise<readonly string[]> => {
  const ids = new Set<string>()
  for (const text of given) {
    const id = await conversationNamed(store, text)
    if (!(await isParked(store, id)))
      throw toError(notParked(id, 'palimpsest steps lists the steps and their states'))
    ids.add(id)
  }
  return [...ids]
}
