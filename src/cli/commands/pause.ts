import type { Command } from 'commander'
import type { Store } from '../../index.ts'
import { actorIn } from '../host.ts'
import { conversationNamed, onlyBeginningWith, type Shell } from '../shell.ts'
import { shortest } from '../short-ids.ts'

interface Options {
  readonly by?: string
  readonly reason?: string
  readonly worker?: true
}

const workerOption = ['--worker', 'treat the id as that of a worker'] as const

const pausing = (
  shell: Shell,
  change: (store: Store, id: string, options: Options & { readonly by: string }) => Promise<void>,
  done: (id: string) => string,
) =>
  shell.action('existing', async ({ store, out, isJson, host }, given: string, options: Options) => {
    const id = options.worker
      ? await workerNamed(store, given)
      : await conversationNamed(store, given, shortest)
    const by = actorIn(host, options.by)
    await change(store, id, { ...options, by })
    if (isJson) return out.json({ [options.worker ? 'worker' : 'conversation']: id, by })
    await out.line([done(id)])
  })

/** Returns the id of the worker whose id alone begins with this text, otherwise the text. */
const workerNamed = async (store: Store, text: string): Promise<string> => {
  const ids: string[] = []
  for await (const { workers } of store.workers()) ids.push(...workers.map(({ worker }) => worker))
  return onlyBeginningWith(ids, text)
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
      pausing(
        shell,
        (store, id, { by, reason, worker }) =>
          worker ? store.pauseWorker(id, { by, reason }) : store.conversation(id).pause({ by, reason }),
        (id) => `${id} is paused`,
      ),
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
      pausing(
        shell,
        (store, id, { by, reason, worker }) =>
          worker ? store.resumeWorker(id, { by, reason }) : store.conversation(id).resume({ by, reason }),
        (id) => `${id} continues`,
      ),
    )
}
