import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { installPeers } from '../install-peers.ts'
import { systemEnvironment, systemNode } from '../processes.ts'
import { count, duration, type PartResult } from '../report.ts'
import { clockOf } from '../worker-processes.ts'

const processes = 4
const polls = [1_000, 10]

interface Said {
  readonly type: 'ready' | 'added' | 'begun'
  readonly job?: string
  readonly at: string
}

/** What a job queue on SQLite takes whose jobs do nothing, beside what workers do. */
export const queue = async (folder: string, isQuick: boolean): Promise<PartResult> => {
  const missing = await installPeers((text) => void process.stderr.write(text))
  if (missing !== undefined) return { title: 'A job queue on SQLite', figures: [], notes: [missing] }
  const jobs = isQuick ? 500 : 4_000
  const figures = []
  for (const poll of polls) {
    const file = join(folder, `${poll}.db`)
    const waits = await pickups(file, poll, isQuick ? 10 : 100)
    const at = (share: number): string => duration(waits[Math.floor(waits.length * share)] ?? Number.NaN)
    figures.push({
      what: `pickup, polled every ${count(poll)} ms: p50 / p99`,
      figure: `${at(0.5)} / ${at(0.99)}`,
    })
    figures.push({
      what: `jobs added and done by ${processes} processes, polled every ${count(poll)} ms`,
      figure: `${count(await rate(file, poll, jobs))}/s`,
    })
  }
  return {
    title: 'Beside it: plainjob 0.0.14, a job queue on SQLite, with jobs that do nothing',
    figures,
    notes: [
      'With synchronous=FULL, as Palimpsest; by itself it has NORMAL. It polls every 1,000 ms unless told otherwise; each process does one job at a time.',
      'A worker that was killed keeps its jobs for 30 minutes.',
    ],
  }
}

/** Rejects once a process has ended. */
const endOf = async (child: ChildProcess): Promise<never> => {
  const [code] = (await once(child, 'exit')) as readonly unknown[]
  throw new Error(`its process has ended (${String(code)})`)
}

/** Processes that work, and one that adds. */
const begin = async (file: string, poll: number, workers: number, heard: (said: Said) => void) => {
  const script = new URL('../children/plainjob.mjs', import.meta.url).pathname
  const start = async (works: boolean): Promise<ChildProcess> => {
    const env = { ...systemEnvironment(), ...(works && { PLAINJOB_WORKS: '1' }) }
    const child = fork(script, [file, String(poll)], { execPath: systemNode(), env, execArgv: [] })
    await Promise.race([once(child, 'message'), endOf(child)])
    child.on('message', (said) => heard(said as Said))
    return child
  }
  const adder = await start(false)
  const all = [adder]
  for (let n = 0; n < workers; n++) all.push(await start(true))
  return {
    add: (add: readonly string[]): void => void adder.send({ add }),
    end: async () => {
      for (const child of all) {
        child.kill()
        await once(child, 'exit')
      }
    },
  }
}

const pickups = async (file: string, poll: number, jobs: number): Promise<readonly number[]> => {
  const added = new Map<string, number>()
  const began = new Map<string, number>()
  const { add, end } = await begin(file, poll, 2, ({ type, job = '', at }) => {
    const times = type === 'added' ? added : began
    times.set(job, clockOf(at))
  })
  for (let job = 0; job < jobs; job++) {
    add([`pickup-${job}`])
    while (began.size <= job || added.size <= job) await sleep(1)
    await sleep(20 + Math.random() * 40)
  }
  await end()
  return [...began].map(([job, at]) => at - (added.get(job) ?? Number.NaN)).toSorted((a, b) => a - b)
}

/** Jobs a second, from the first that is added until the last has begun. */
const rate = async (file: string, poll: number, jobs: number): Promise<number> => {
  let begun = 0
  let last = 0
  let first = Infinity
  const { add, end } = await begin(file, poll, processes, ({ type, at }) => {
    if (type === 'added') first = Math.min(first, clockOf(at))
    else {
      begun++
      last = Math.max(last, clockOf(at))
    }
  })
  add(Array.from({ length: jobs }, (_, job) => `rate-${job}`))
  while (begun < jobs) await sleep(5)
  await end()
  return (jobs * 1_000) / (last - first)
}
