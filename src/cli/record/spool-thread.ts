import { parentPort, workerData } from 'node:worker_threads'
import type { FromSpool, SpoolTask, ToRecorder } from './messages.ts'
import { openSpool } from './spool.ts'

// The thread that calls pass on their way to the recorder, which may be busy: it puts each of them into a file first.

const { folder, recorder } = workerData as SpoolTask
const spool = openSpool(folder)

const send = (message: ToRecorder, own: ArrayBuffer[] = []): void => recorder.postMessage(message, own)
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
const tell = (message: FromSpool): void => parentPort?.postMessage(message)

parentPort?.on('message', (message: ToRecorder) => {
  if (message.type !== 'call') return send(message)
  const { exchange, number } = message
  const file = spool.keep(exchange)
  if (file === undefined)
    return send(message, [exchange.body.buffer as ArrayBuffer, exchange.reply.body.buffer as ArrayBuffer])
  send({ type: 'file', file, number })
  tell(number)
})
// Calls that come before are not lost, but would not be in a file while this module is loaded.
tell('ready')
