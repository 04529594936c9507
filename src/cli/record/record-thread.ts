import { parentPort, workerData } from 'node:worker_threads'
import { openStore } from '../../index.ts'
import { createRecordQueue } from '../../recorder/record-queue.ts'
import { failureOf } from '../errors.ts'
import { loadPlugIns } from '../plug-ins.ts'
import type { FromRecorder, RecordInput, RecordTask, ToRecorder } from './messages.ts'
import { openSpool, removeCall } from './spool.ts'

// The thread that records what the proxy passes on, so that the proxy never waits for a store.

if (!parentPort) throw new Error('this module runs in a thread of its own')
const port = parentPort
const { url, index, modules, spool: folder, calls = port } = workerData as RecordTask & RecordInput
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
const send = (message: FromRecorder): void => port.postMessage(message)

const recordAll = async (): Promise<void> => {
  await loadPlugIns(modules)
  const store = await openStore(url, { index })
  const queue = createRecordQueue(store)
  const spool = folder === undefined ? undefined : openSpool(folder)
  const recordLeft = async (): Promise<void> => {
    for (const { exchange, remove } of spool?.left() ?? []) {
      const outcome = await queue.add(exchange)
      if (!outcome.mayPass) remove()
      send({ type: 'done', ...outcome })
    }
  }
  const begun = recordLeft().catch((error: unknown) => queue.miss(failureOf(error).message))
  send({ type: 'open' })
  const add = async ({ exchange, number, file }: Extract<ToRecorder, { type: 'call' }>): Promise<void> => {
    await begun
    const outcome = await queue.add(exchange)
    if (file !== undefined) removeCall(file)
    send({ type: 'done', number, ...outcome })
  }
  const adding = new Set<Promise<void>>()
  const end = async (): Promise<void> => {
    await Promise.all([begun, ...adding])
    spool?.close()
    await store.close()
    send({ type: 'ended' })
    calls.close()
    port.close()
  }
  calls.on('message', (message: ToRecorder) => {
    if (message.type === 'missed') queue.miss(message.reason)
    else if (message.type === 'end') void end()
    else {
      const added = add(message)
      adding.add(added)
      void added.then(() => adding.delete(added))
    }
  })
}

recordAll().catch((error: unknown) => send({ type: 'failed', message: failureOf(error).message }))
