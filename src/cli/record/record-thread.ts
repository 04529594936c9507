import { parentPort, workerData } from 'node:worker_threads'
import { openStore } from '../../index.ts'
import { createRecordQueue, type RecordOutcome } from '../../recorder/record-queue.ts'
import type { ModelExchange } from '../../recorder/exchange.ts'
import { pause } from '../../result/timers.ts'
import { failureOf } from '../errors.ts'
import { loadPlugIns } from '../plug-ins.ts'
import type { FromRecorder, RecordInput, RecordTask, ToRecorder } from './messages.ts'
import { openSpool, readCall, removeCall } from './spool.ts'

// The thread that records what the proxy passes on, so that the proxy never waits for a store.

if (!parentPort) throw new Error('this module runs in a thread of its own')
const port = parentPort
const { url, index, modules, spool: folder, isStrict, calls = port } = workerData as RecordTask & RecordInput
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
const send = (message: FromRecorder): void => port.postMessage(message)

/** Shortest and longest pause before a call is tried again, in milliseconds. */
const [shortest, longest] = [250, 10_000]

const recordAll = async (): Promise<void> => {
  await loadPlugIns(modules)
  const store = await openStore(url, { index })
  const queue = createRecordQueue(store, {}, true)
  const ending = new AbortController()
  /** The first outcome after the end of a call that the store does not take: it takes no other one either. */
  let refused: RecordOutcome | undefined
  /** Records a call, again and again until the end if the store takes none. So calls stay in order. */
  const record = async (exchange: ModelExchange): Promise<RecordOutcome> => {
    for (let wait = shortest; ; wait = Math.min(2 * wait, longest)) {
      const outcome = refused ?? (await queue.add(exchange))
      if (outcome.mayPass !== 'soon' || isStrict) return outcome
      if (ending.signal.aborted) return (refused = outcome)
      await pause(wait, ending.signal)
    }
  }
  const spool = folder === undefined ? undefined : openSpool(folder)
  const recordLeft = async (): Promise<void> => {
    for (const { exchange, remove } of spool?.left() ?? []) {
      const outcome = await record(exchange)
      if (!outcome.mayPass) remove()
      send({ type: 'done', ...kept(outcome) })
    }
  }
  const kept = ({ problem, ...outcome }: RecordOutcome): RecordOutcome => ({
    ...outcome,
    ...(problem !== undefined && {
      problem: outcome.mayPass ? `${problem} (the next start records it from ${folder})` : problem,
    }),
  })
  const missed = (error: unknown): RecordOutcome => {
    const problem = failureOf(error).message
    queue.miss(problem)
    return { problem }
  }
  let last: Promise<unknown> = recordLeft().catch(missed)
  send({ type: 'open' })
  const recordFile = async (file: string): Promise<RecordOutcome> => {
    const exchange = readCall(file)
    if (!exchange) throw new Error(`${file} was damaged`)
    const outcome = await record(exchange)
    if (!outcome.mayPass) removeCall(file)
    return kept(outcome)
  }
  const recordNow = async (exchange: ModelExchange): Promise<RecordOutcome> => {
    const { mayPass, ...outcome } = await record(exchange)
    if (mayPass && outcome.problem !== undefined) queue.miss(outcome.problem)
    return outcome
  }
  const end = async (): Promise<void> => {
    ending.abort()
    await last
    spool?.close()
    await store.close()
    send({ type: 'ended' })
    calls.close()
    port.close()
  }
  calls.on('message', (message: ToRecorder) => {
    if (message.type === 'missed') queue.miss(message.reason)
    else if (message.type === 'end') void end()
    else
      // One after the other: only one of the calls that wait in files is in memory.
      last = last
        .then(() => (message.type === 'file' ? recordFile(message.file) : recordNow(message.exchange)))
        .catch(missed)
        .then((outcome) => send({ type: 'done', number: message.number, ...outcome }))
  })
}

recordAll().catch((error: unknown) => send({ type: 'failed', message: failureOf(error).message }))
