import type { Command } from 'commander'
import type { Store, WorkerInfo } from '../../index.ts'
import { toError } from '../../result/typed-error.ts'
import { usage } from '../errors.ts'
import { actorIn } from '../host.ts'
import { conversationNamed, onlyBeginningWith, type Shell } from '../shell.ts'
import { shortest } from '../short-ids.ts'

interface Options {
  readonly by?: string
  readonly reason?: string
  readonly worker?: true
}

const workerOption = ['--worker', 'treat the id as that of a worker'] as const

/** Makes the action of a command that pauses or resumes. `change` returns what it did. */
const pausing = (
  shell: Shell,
  change: (store: Store, id: string, options: Options & { readonly by: string }) => Promise<string>,
) =>
  shell.action('existing', async ({ store, out, isJson, host }, given: string, options: Options) => {
    const id = options.worker
      ? await workerNamed(store, given)
      : await conversationNamed(store, given, shortest)
    if (!options.worker) await checkConversation(store, id)
    const by = actorIn(host, options.by)
    const done = await change(store, id, { ...options, by })
    if (isJson) return out.json({ [options.worker ? 'worker' : 'conversation']: id, by })
    await out.line([`${id} ${done}`])
  })

/** Throws if there is no such conversation: a usage error if the id is that of a worker. */
const checkConversation = async (store: Store, id: string): Promise<void> => {
  const chat = store.conversation(id)
  if (!(await chat.exists()) && (await workersIn(store)).some(({ worker }) => worker.startsWith(id)))
    throw toError(usage(`${id} is a worker, not a conversation: add --worker`))
  await chat.position()
}

const workersIn = async (store: Store): Promise<readonly WorkerInfo[]> => {
  const all: WorkerInfo[] = []
  for await (const { workers } of store.workers()) all.push(...workers)
  return all
}

/** Returns the id of the worker whose id alone begins with this text, otherwise the text. */
const workerNamed = async (store: Store, text: string): Promise<string> =>
  onlyBeginningWith(
    (await workersIn(store)).map(({ worker }) => worker),
    text,
  )

const isConversationPaused = async (store: Store, id: string): Promise<boolean> => {
  let isPaused = false
  for await (const { type } of store.conversation(id).turnFacts())
    if (type === 'TurnsPaused' || type === 'TurnsResumed') isPaused = type === 'TurnsPaused'
  return isPaused
}

/** Reports whether a worker is paused. Returns true for one that is not known: resuming it is refused. */
const isWorkerPaused = async (store: Store, id: string): Promise<boolean> =>
  (await workersIn(store)).find(({ worker }) => worker === id)?.paused ?? true

const isClaimed = async (store: Store, id: string): Promise<boolean> => {
  for await (const { conversation } of store.steps({ state: 'claimed', conversations: [id] }))
    if (conversation === id) return true
  return false
}

export const addPause = (program: Command, shell: Shell): void => {
  program
    .command('pause <id>')
    .description('stop workers from starting steps in a conversation, or one worker from starting any')
    .option(...workerOption)
    .option('--by <name>', 'who pauses it (default: $USER)')
    .option('--reason <text>', 'reason, stored with the event')
    .addHelpText(
      'after',
      `
Steps in progress continue; \`palimpsest cancel\` ends a turn. New messages,
rewinds and decisions are recorded as usual, and wait for the workers until
\`palimpsest resume\`. A worker's id is new each time it starts.

Examples:
  palimpsest pause task-42 --reason "to be looked at"
  palimpsest pause --worker billing-7d1b6a0e-6c3d-4c0f-9d6f-0b6c0a4c2e51`,
    )
    .action(
      pausing(shell, async (store, id, { by, reason, worker }) => {
        await (worker ? store.pauseWorker(id, { by, reason }) : store.conversation(id).pause({ by, reason }))
        return worker || !(await isClaimed(store, id))
          ? 'is paused'
          : `is paused; its turn in progress continues: palimpsest cancel ${id} ends it`
      }),
    )
}

export const addResume = (program: Command, shell: Shell): void => {
  program
    .command('resume <id>')
    .description('resume a paused conversation or worker')
    .option(...workerOption)
    .option('--by <name>', 'who resumes it (default: $USER)')
    .option('--reason <text>', 'reason, stored with the event')
    .addHelpText(
      'after',
      '\nExamples:\n  palimpsest resume task-42\n  palimpsest resume task-42 --by ann --reason "it was looked at"',
    )
    .action(
      pausing(shell, async (store, id, { by, reason, worker }) => {
        const isPaused = worker ? await isWorkerPaused(store, id) : await isConversationPaused(store, id)
        if (!isPaused) return 'was not paused: nothing was written'
        await (worker
          ? store.resumeWorker(id, { by, reason })
          : store.conversation(id).resume({ by, reason }))
        return 'continues'
      }),
    )
}
