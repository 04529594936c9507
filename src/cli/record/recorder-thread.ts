import { once } from 'node:events'
import { extname } from 'node:path'
import { MessageChannel, Worker } from 'node:worker_threads'
import { type BacklogLimits, createBacklog, noRoom } from '../../recorder/backlog.ts'
import type { ModelExchange } from '../../recorder/exchange.ts'
import type { RecordOutcome } from '../../recorder/record-queue.ts'
import { toError } from '../../result/typed-error.ts'
import type { CliError } from '../errors.ts'
import type { FromRecorder, FromSpool, RecordInput, RecordTask, SpoolTask, ToRecorder } from './messages.ts'

/** Numbers of recorded and missed calls. */
export interface RecordTotals {
  readonly calls: number
  readonly conversations: number
  readonly missed: number
  /** Reason of the last call that was not recorded; absent if there is none. */
  readonly reason?: string
  /** Known programs that change their histories in ways that the recorder does not know. */
  readonly unlike: readonly string[]
}

/** A recorder in another thread. */
export interface ThreadRecorder {
  /** Adds a call. The caller need not wait for what becomes of it. */
  readonly add: (exchange: ModelExchange) => Promise<RecordOutcome>
  readonly miss: (reason: string) => void
  /** Records the calls that are waiting, closes the store, and returns the numbers. */
  readonly end: () => Promise<RecordTotals>
}

interface WaitingCall {
  /** Number of bytes of its bodies. */
  readonly size: number
  readonly isOpen: boolean
  isInFile: boolean
  readonly done: (outcome: RecordOutcome) => void
}

/** Number, and share of a program's calls, from which calls that started over say that the program has changed: scripted, none does. */
const enough = 3
const mostStartedOver = 0.02

/** Limits of what waits, most of it in files. */
const spoolLimits: BacklogLimits = { calls: 16_384, bytes: 1024 ** 3 }

/** Time to record what is waiting at the end, in milliseconds. */
const patience = 30_000

/** Starts the thread and waits until it has opened the store. Throws `RecorderFailed`. */
export const startRecorder = async (task: RecordTask): Promise<ThreadRecorder> => {
  const { port1, port2 } = new MessageChannel()
  const input: RecordInput = task.spool === undefined ? {} : { calls: port2 }
  const transferList = task.spool === undefined ? [] : [port2]
  const thread = new Worker(moduleAt('record-thread'), { workerData: { ...task, ...input }, transferList })
  const spool = task.spool === undefined ? undefined : startSpool({ folder: task.spool, recorder: port1 })
  const opened = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  const conversations = new Set<string>()
  const clients = new Map<string, { readonly all: number; readonly startedOver: number }>()
  /** The calls that wait, and those among them that are in memory. */
  const backlog = createBacklog(spoolLimits)
  const memory = createBacklog()
  /** The calls in the thread, by number. */
  const waiting = new Map<number, WaitingCall>()
  let [count, calls, missed] = [0, 0, 0]
  let reason: string | undefined
  let isDown = false

  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  const send = (message: ToRecorder, own: ArrayBuffer[] = []): void =>
    (spool ?? thread).postMessage(message, own)
  const missOne = (problem: string): RecordOutcome => {
    missed++
    reason = problem
    return { problem }
  }
  const hasRoom = (size: number): boolean => {
    if (!memory.add(size)) return false
    if (backlog.add(size)) return true
    memory.remove(size)
    return false
  }
  const tally = (client: string, isStartedOver: boolean): void => {
    const { all, startedOver } = clients.get(client) ?? { all: 0, startedOver: 0 }
    clients.set(client, { all: all + 1, startedOver: startedOver + Number(isStartedOver) })
  }
  const settle = (number: number, outcome: RecordOutcome): void => {
    const call = waiting.get(number)
    if (!call) return
    waiting.delete(number)
    backlog.remove(call.size)
    if (!call.isInFile) memory.remove(call.size)
    call.done(outcome)
  }
  const down = (why: string): void => {
    isDown = true
    const kept = task.spool === undefined ? '' : ` (the next start records it from ${task.spool})`
    for (const number of waiting.keys()) settle(number, missOne(`${why}${kept}`))
    opened.reject(toError(recorderFailed(why)))
    ended.resolve()
  }
  thread.on('message', (message: FromRecorder) => {
    if (message.type === 'open') opened.resolve()
    else if (message.type === 'ended') ended.resolve()
    else if (message.type === 'failed') down(message.message)
    else {
      const { number, call, problem } = message
      if (problem !== undefined) missOne(problem)
      if (call) conversations.add(call.conversation)
      if (call?.client !== undefined) tally(call.client, call.isStartedOver === true)
      if (call && !(number !== undefined && waiting.get(number)?.isOpen)) calls++
      if (number !== undefined) settle(number, message)
    }
  })
  thread.on('error', (error) => down(error.message))
  thread.on('exit', () => down('its thread has ended'))
  spool?.on('message', (message: FromSpool) => {
    const call = message === 'ready' ? undefined : waiting.get(message)
    if (!call) return
    call.isInFile = true
    memory.remove(call.size)
  })
  spool?.on('error', (error) => down(error.message))
  try {
    await Promise.all([opened.promise, spool && once(spool, 'message')])
  } catch (error) {
    await Promise.all([thread.terminate(), spool?.terminate()])
    throw error
  }
  return {
    add: (exchange) => {
      const { body, reply } = exchange
      const size = body.length + reply.body.length
      if (isDown) return Promise.resolve(missOne('its thread has ended'))
      if (!hasRoom(size)) {
        send({ type: 'missed', reason: noRoom })
        return Promise.resolve(missOne(noRoom))
      }
      const number = count++
      const outcome = new Promise<RecordOutcome>((done) =>
        waiting.set(number, { size, isOpen: exchange.isOpen === true, isInFile: false, done }),
      )
      send({ type: 'call', exchange, number }, [body.buffer as ArrayBuffer, reply.body.buffer as ArrayBuffer])
      return outcome
    },
    miss: (why) => {
      missOne(why)
      if (!isDown) send({ type: 'missed', reason: why })
    },
    end: async () => {
      if (!isDown) send({ type: 'end' })
      const late = setTimeout(() => down('the store took too long'), patience)
      await ended.promise
      clearTimeout(late)
      await Promise.all([thread.terminate(), spool?.terminate()])
      const unlike = [...clients].flatMap(([name, { all, startedOver }]) =>
        startedOver >= enough && startedOver > all * mostStartedOver ? [name] : [],
      )
      return {
        calls,
        conversations: conversations.size,
        missed,
        ...(reason !== undefined && { reason }),
        unlike,
      }
    },
  }
}

const moduleAt = (name: string): URL => new URL(`./${name}${extname(import.meta.url)}`, import.meta.url)

const startSpool = (task: SpoolTask): Worker =>
  new Worker(moduleAt('spool-thread'), { workerData: task, transferList: [task.recorder] })

const recorderFailed = (why: string): CliError => ({
  _tag: 'RecorderFailed',
  message: `nothing can be recorded: ${why}`,
})
