import { parentPort, workerData } from 'node:worker_threads'
import { openStore } from '../../index.ts'
import { createRecordQueue } from '../../recorder/record-queue.ts'
import { failureOf } from '../errors.ts'
import { loadPlugIns } from '../plug-ins.ts'
import type { RecordTask, ToRecorder, FromRecorder } from './recorder-thread.ts'

// The thread that records what the proxy passes on, so that the proxy never waits for a store.

if (!parentPort) throw new Error('this module runs in a thread of its own')
const port = parentPort
const { url, index, modules } = workerData as RecordTask
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
const send = (message: FromRecorder): void => port.postMessage(message)

const recordAll = async (): Promise<void> => {
  await loadPlugIns(modules)
  const store = await openStore(url, { index })
  const queue = createRecordQueue(store, {
    onGap: (gap) => send({ type: 'gap', gap }),
    onRecorded: (call) => send({ type: 'recorded', call }),
  })
  send({ type: 'open' })
  const add = async ({ exchange, bytes }: Extract<ToRecorder, { type: 'call' }>): Promise<void> => {
    queue.add(exchange)
    await queue.settled()
    send({ type: 'done', bytes })
  }
  const end = async (): Promise<void> => {
    await queue.settled()
    await store.close()
    send({ type: 'ended' })
    port.close()
  }
  port.on('message', (message: ToRecorder) => {
    if (message.type === 'call') void add(message)
    else if (message.type === 'missed') queue.miss(message.reason)
    else void end()
  })
}

recordAll().catch((error: unknown) => send({ type: 'failed', message: failureOf(error).message }))
