import type { Command } from 'commander'
import { toError } from '../../result/typed-error.ts'
import type { Store } from '../../index.ts'
import { usage } from '../errors.ts'
import type { Screen } from '../output.ts'
import type { Shell } from '../shell.ts'
import { summaryOf, watchRosters, writeRoster } from '../views/workers.ts'

interface Options {
  readonly watch?: true
  readonly all?: boolean
}

export const addWorkers = (program: Command, shell: Shell): void => {
  program
    .command('workers')
    .description('list the workers and the steps that each works on')
    .option('--watch', 'on a terminal: refresh every second, in place, until Ctrl-C')
    .option('--all', 'include idle workers last seen more than ten minutes ago')
    .addHelpText(
      'after',
      `
A worker is listed until it stops or is reported dead. An idle worker reports
every minute. \`palimpsest pause --worker ID\` stops it from starting anything
more.

In a pipe, each line is worker, slots in use, when last heard of, conversation,
attempt and since when, separated by tabs.

Examples:
  palimpsest workers --watch
  palimpsest workers --json | jq '.workers[].steps[].conversation'`,
    )
    .action(
      shell.action('existing', async ({ store, out, isJson, host }, { watch, all = false }: Options) => {
        if (watch && (isJson || !host.stdout.isTTY))
          throw toError(usage('--watch needs a terminal: without it, the workers are listed once'))
        if (watch) return watchUntilStopped(store, host.stdout, all)
        for await (const roster of store.workers())
          await (isJson ? out.json(summaryOf(roster, all)) : writeRoster(out, summaryOf(roster, all)))
      }),
    )
}

const watchUntilStopped = async (store: Store, stdout: Screen, isAll: boolean): Promise<void> => {
  const stop = new AbortController()
  const end = (): void => stop.abort()
  process.once('SIGINT', end)
  try {
    await watchRosters(store, stdout, { isAll, signal: stop.signal })
  } finally {
    process.off('SIGINT', end)
  }
}
