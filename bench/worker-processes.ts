import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { nodeFlags } from '../src/cli/work/node-flags.ts'

/** What a worker process says (children/worker.ts). */
export type WorkerSaid =
  | { readonly type: 'started'; readonly worker: string }
  /** `at`: nanoseconds of the machine's monotonic clock, which all processes share. */
  | { readonly type: 'call'; readonly conversation: string; readonly at: string }
  | { readonly type: 'ended'; readonly steps: number }
  | ({ readonly type: 'memory' } & Memory)

/** After a garbage collection, in MiB. */
export interface Memory {
  readonly resident: number
  readonly heap: number
}

export interface WorkerProcess {
  readonly process: ChildProcess
  readonly id: string
  readonly memory: () => Promise<Memory>
  readonly stop: () => Promise<void>
}

/** Milliseconds of the machine's monotonic clock. */
export const clockOf = (nanoseconds: bigint | string): number => Number(nanoseconds) / 1e6
export const clock = (): number => clockOf(process.hrtime.bigint())

export interface WorkerSetting {
  readonly slots?: number
  readonly ttl?: number
  /** How long the model takes, in milliseconds. */
  readonly ms?: number
  /** Whether it tells of each call of the model, for which it waits until the message is written. Default true. */
  readonly tells?: boolean
}

const script = new URL('./children/worker.ts', import.meta.url)

/** Starts a worker in a process of its own, as `palimpsest work` does. */
export const startWorker = async (
  url: string,
  heard: (said: WorkerSaid) => void,
  { slots = 8, ttl = 10_000, ms = 0, tells = true }: WorkerSetting = {},
): Promise<WorkerProcess> => {
  const child = fork(script.pathname, [url, slots, ttl, ms, tells].map(String), {
    execArgv: ['--expose-gc', ...nodeFlags],
  })
  child.on('message', (said) => heard(said as WorkerSaid))
  const [said] = (await once(child, 'message')) as readonly WorkerSaid[]
  return {
    process: child,
    id: said?.type === 'started' ? said.worker : '',
    memory: async () => {
      child.send('memory')
      for (;;) {
        const [answer] = (await once(child, 'message')) as readonly WorkerSaid[]
        if (answer?.type === 'memory') return answer
      }
    },
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.send('stop')
      await once(child, 'exit')
    },
  }
}
