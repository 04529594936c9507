import type { Store } from '../../index.ts'
import { openAnchors } from './anchors.ts'
import type { BackgroundTask } from './seal-task.ts'

export interface PatrolFlags {
  readonly patrol?: true | undefined
  readonly anchor?: readonly string[] | undefined
}

export const patrolOption = ['--patrol', 'also audit the whole store once a day, at a low rate'] as const

/**
 * Returns a background task that audits the store once a day, or undefined without `--patrol`. The task logs each alarm and each
 * retried failure as one line of JSON.
 */
export const patrolBeside = async (
  store: Store,
  { patrol, anchor }: PatrolFlags,
  log: { readonly write: (text: string) => unknown } | undefined,
): Promise<BackgroundTask | undefined> => {
  if (!patrol) return undefined
  const { anchors, close } = await openAnchors(anchor)
  const told = (line: object): void => void log?.write(`${JSON.stringify(line)}\n`)
  return {
    run: (signal) =>
      store.audit.patrol({
        anchors,
        signal,
        onEvent: (event) => {
          if (event.type === 'alarm') told({ audit: 'alarm', ...event.problem, type: undefined })
          if (event.type === 'failed') told({ audit: 'failed', error: event.error })
        },
      }),
    close,
  }
}
