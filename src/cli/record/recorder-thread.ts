import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { createBacklog, noRoom } from '../../recorder/backlog.ts'
import type { ModelExchange } from '../../recorder/exchange.ts'
import type { RecordGap } from '../../recorder/record-queue.ts'
import type { RecordedCall } from '../../recorder/recorder.ts'
import { toError } from '../../result/typed-error.ts'
import type { CliError } from '../errors.ts'

/** Data of the thread: the store, the folder of its index, and the modules to load first. */
export interface RecordTask {
  readonly url: string
  readonly index: string | undefined
  readonly modules: readonly string[]
}

/** Messages to the thread. */
export type ToRecorder =
  | { readonly type: 'call'; readonly exchange: ModelExchange; readonly bytes: number }
  | { readonly type: 'missed'; readonly reason: string }
  | { readonly type: 'end' }

/** Messages from the thread. */
export type FromRecorder =
  | { readonly type: 'open' }
  | { readonly type: 'ended' }
  | { readonly type: 'failed'; readonly message: string }
  | { readonly type: 'gap'; readonly gap: RecordGap }
  | { readonly type: 'recorded'; readonly call: RecordedCall }
  | { readonly type: 'done'; readonly bytes: number }

/** Numbers of recorded and missed calls. */
export interface RecordTotals {
  readonly calls: number
  readonly conversations: number
  readonly missed: number
  /** Reason of the last call that was not recorded; absent if there is none. */
  readonly reason?: string
}

/** A recorder in another thread. */
export interface ThreadRecorder {
  readonly add: (exchange: ModelExchange) => void
  readonly miss: (reason: string) => void
  /** Records the calls that are waiting, closes the store, and returns the numbers. */
  readonly end: () => Promise<RecordTotals>
}

/** Time to record what is waiting at the end, in milliseconds. */
const patience = 30_000

/** Starts the thread and waits until it has opened the store. Throws `RecorderFailed`. */
export const startRecorder = async (task: RecordTask): Promise<ThreadRecorder> => {
  const url = new URL(`./record-thread${extname(import.meta.url)}`, import.meta.url)
  const thread = new Worker(url, { workerData: task })
  const opened = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  const conversations = new Set<string>()
  const backlog = createBacklog()
  let [calls, missed] = [0, 0]
  let reason: string | undefined
  let isDown = false

  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  const send = (message: ToRecorder, own: ArrayBuffer[] = []): void => thread.postMessage(message, own)
  const missOne = (why: string): void => {
    missed++
    reason = why
  }
  const down = (why: string): void => {
    isDown = true
    for (; backlog.calls() > 0; backlog.remove(0)) missOne(why)
    opened.reject(toError(recorderFailed(why)))
    ended.resolve()
  }
  thread.on('message', (message: FromRecorder) => {
    if (message.type === 'open') opened.resolve()
    else if (message.type === 'ended') ended.resolve()
    else if (message.type === 'failed') down(message.message)
    else if (message.type === 'gap') missOne(message.gap.reason)
    else if (message.type === 'recorded') {
      calls++
      conversations.add(message.call.conversation)
    } else if (message.type === 'done') backlog.remove(message.bytes)
  })
  thread.on('error', (error) => down(error.message))
  thread.on('exit', () => down('its thread has ended'))
  try {
    await opened.promise
  } catch (error) {
    await thread.terminate()
    throw error
  }
  return {
    add: (exchange) => {
      const { body, reply } = exchange
      const size = body.length + reply.body.length
      if (isDown) return missOne('its thread has ended')
      if (!backlog.add(size)) return send({ type: 'missed', reason: noRoom })
      send({ type: 'call', exchange, bytes: size }, [
        body.buffer as ArrayBuffer,
        reply.body.buffer as ArrayBuffer,
      ])
    },
    miss: (why) => (isDown ? missOne(why) : send({ type: 'missed', reason: why })),
    end: async () => {
      if (!isDown) send({ type: 'end' })
      const late = setTimeout(() => down('the store took too long'), patience)
      await ended.promise
      clearTimeout(late)
      await thread.terminate()
      return { calls, conversations: conversations.size, missed, ...(reason !== undefined && { reason }) }
    },
  }
}

const recorderFailed = (why: string): CliError => ({
  _tag: 'RecorderFailed',
  message: `nothing can be recorded: ${why}`,
})
