import { parentPort, workerData } from 'node:worker_threads'
import type { SpoolTask, ToRecorder } from './messages.ts'
import { openSpool } from './spool.ts'

// The thread that calls pass on their way to the recorder, which may be busy: it puts each of them into a file first.

const { folder, recorder } = workerData as SpoolTask
const spool = openSpool(folder)

const send = (message: ToRecorder, own: ArrayBuffer[] = []): void => recorder.postMessage(message, own)

parentPort?.on('message', (message: ToRecorder) => {
  if (message.type !== 'call') return send(message)
  const { body, reply } = message.exchange
  const file = spool.keep(message.exchange)
  send({ ...message, ...(file !== undefined && { file }) }, [
    body.buffer as ArrayBuffer,
    reply.body.buffer as ArrayBuffer,
  ])
})
// Calls that come before are not lost, but would not be in a file while this module is loaded.
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
parentPort?.postMessage('ready')
