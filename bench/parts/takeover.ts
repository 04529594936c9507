import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { openStore, type Store } from '../../src/index.ts'
import { eventStoreDb } from '../../test/support/eventstoredb/server.ts'
import { messageAt } from '../messages.ts'
import { atMost, count, duration, type PartResult } from '../report.ts'
import { clock, clockOf, startWorker, type WorkerSaid } from '../worker-processes.ts'

const hour = 3_600_000
const until = async (isSo: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await isSo())) await sleep(1)
}

/** How soon the others call the model for what a worker was doing that is killed with SIGKILL. */
export const takeover = async (folder: string, isQuick: boolean): Promise<PartResult> => {
  const rounds = isQuick ? 2 : 7
  const ttl = isQuick ? 1_000 : 10_000
  const locked = await several(rounds, (n) => ofTwo(`sqlite:${join(folder, `lock-${n}.db`)}`, 10_000))
  const server = await eventStoreDb()
  const supervised = await several(rounds, (n) => ofCommand(server.url, join(folder, `calls-${n}`), `s${n}`))
  const silent = await several(isQuick ? 1 : 3, () => ofTwo(server.url, ttl))
  await server.close()
  return {
    title: 'Takeover: from SIGKILL of a worker until another calls the model for its step',
    figures: [
      atMost('supervised by palimpsest work, on the in-process server: slowest', supervised, 500, duration),
      atMost('SQLite, nobody supervises: slowest', locked, 100, duration),
      atMost(
        `the in-process server, nobody supervises, TTL of ${count(ttl)} ms: slowest`,
        silent,
        ttl + 1_000,
        duration,
      ),
    ],
    notes: [
      `${rounds} times each (the last one ${isQuick ? 1 : 3}), the slowest of them. One worker holds the step, another is idle.`,
      'The study measured BullMQ 48.6 s, pg-boss 105 s, Graphile Worker never (4 h), each with its defaults.',
    ],
  }
}

const several = async (rounds: number, round: (n: number) => Promise<number>): Promise<number> => {
  let slowest = 0
  for (let n = 0; n < rounds; n++) slowest = Math.max(slowest, await round(n))
  return slowest
}

let asked = 0
const ask = async (store: Store): Promise<string> => {
  const id = `taken-${process.pid}-${asked++}`
  await store.conversation(id).append(messageAt(0), { answer: true })
  return id
}

/** Two workers, of which nobody takes care. */
const ofTwo = async (url: string, ttl: number): Promise<number> => {
  const store = await openStore(url)
  const calls = new Map<string, number>()
  const heard = (said: WorkerSaid): void => {
    if (said.type === 'call') calls.set(said.conversation, clockOf(said.at))
  }
  const victim = await startWorker(url, heard, { slots: 1, ttl, ms: hour })
  const step = await ask(store)
  await until(() => calls.has(step))
  const other = await startWorker(url, heard, { slots: 1, ttl })
  const ready = await ask(store)
  await until(() => calls.has(ready))
  calls.clear()
  const killed = clock()
  victim.process.kill('SIGKILL')
  await until(() => calls.has(step))
  const took = (calls.get(step) ?? Number.NaN) - killed
  await other.stop()
  await store.close()
  return took
}

/** Two workers of the command. */
const ofCommand = async (url: string, file: string, name: string): Promise<number> => {
  writeFileSync(file, '')
  const store = await openStore(url)
  const agent = new URL('../children/agent.ts', import.meta.url).pathname
  const program = new URL('../../bin/palimpsest.js', import.meta.url).pathname
  const args = ['work', agent, '--processes', '2', '--slots', '1', '--name', name, '--grace', '1', '--json']
  const env = { ...process.env, BENCH_CALLS: file }
  const command = fork(program, [...args, '--store', url], { env, silent: true, execArgv: [] })
  const pids = new Map<string, number>()
  createInterface({ input: command.stdout ?? process.stdin }).on('line', (line) => {
    const { type, worker, pid } = JSON.parse(line) as { type: string; worker: string; pid: number }
    if (type === 'started') pids.set(worker, pid)
  })
  const callsOf = (id: string): readonly number[] =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line.endsWith(` ${id}`))
      .map((line) => clockOf(line.split(' ')[0] ?? ''))
  await until(() => pids.size === 2)
  const step = await ask(store)
  await until(() => callsOf(step).length === 1)
  // The other one is at work too by now.
  await sleep(500)
  let pid: number | undefined
  for await (const { conversation, holder = '' } of store.steps())
    if (conversation === step) pid = pids.get(holder)
  const killed = clock()
  process.kill(pid ?? Number.NaN, 'SIGKILL')
  await until(() => callsOf(step).length === 2)
  const took = (callsOf(step)[1] ?? Number.NaN) - killed
  command.kill('SIGTERM')
  await once(command, 'exit')
  await store.close()
  return took
}
