import type { Block } from '../../events/blocks.ts'
import { START } from '../../events/events.ts'
import type { Report } from './repairs.ts'

// What waits for a result in a request while it is written. There may be hundreds of thousands of calls, so nothing here searches all of
// them for one.

/**
 * A tool call, by the positions of the events that make and answer it; without `result` it has no answer yet. Calls of a server tool are
 * included only if use and result are not in one message.
 */
export interface ToolCall {
  readonly id: string
  readonly use: number
  readonly result?: number
}

/** A call in the request that has no result yet. */
export interface Call {
  readonly storedId: string
  readonly id: string
  readonly position: number
  /** Ascends in the order in which calls are made. */
  readonly nth: number
}
/** A call with an error result, since the model continued without one: a real result before anybody else speaks takes its place. */
export interface Late extends Call {
  readonly answer: Block
  /** `nth` of the message that the call was in then. */
  readonly message: number
}
/** A server tool use without a result so far. */
export interface Waiting {
  readonly id: string
  readonly block: Block
  readonly position: number
  /** `nth` of the message that it was put into. */
  readonly message: number
}

export const blocksOf = (uses: readonly Waiting[]): ReadonlySet<Block> =>
  new Set(uses.map(({ block }) => block))

interface Reply {
  readonly answers: number | undefined
}
/** Whether a reply answers a request that held error results for some of these calls. */
type WereSent = (reply: Reply) => boolean

/** The calls of the current tool round without a result. All are in one message. */
export interface OpenCalls {
  readonly size: () => number
  /** In the order of the calls. */
  readonly list: () => readonly Call[]
  readonly add: (call: Call) => void
  /** Adds calls that were made before all others. */
  readonly reopen: (calls: readonly Call[]) => void
  readonly has: (storedId: string) => boolean
  /** Removes the first call that is stored under this id. */
  readonly take: (storedId: string) => Call | undefined
  readonly clear: () => void
  readonly wereSent: WereSent
}

/** The calls of one stored id: first those of `again`, from its end; then the others, without those already taken. */
interface Queue {
  readonly again: Call[]
  readonly calls: Call[]
  taken: number
}

export const openCalls = (): OpenCalls => {
  const open = new Set<Call>()
  const queues = new Map<string, Queue>()
  /** No open call has an earlier position. */
  let lowest = Infinity

  const queueFor = (call: Call): Queue => {
    open.add(call)
    lowest = Math.min(lowest, call.position)
    const queue = queues.get(call.storedId) ?? { again: [], calls: [], taken: 0 }
    queues.set(call.storedId, queue)
    return queue
  }
  const clear = (): void => {
    open.clear()
    queues.clear()
    lowest = Infinity
  }
  return {
    size: () => open.size,
    list: () => [...open].toSorted((one, other) => one.nth - other.nth),
    add: (call) => void queueFor(call).calls.push(call),
    reopen: (calls) => {
      for (const call of calls.toReversed()) queueFor(call).again.push(call)
    },
    has: (storedId) => queues.has(storedId),
    take: (storedId) => {
      const queue = queues.get(storedId)
      const call = queue?.again.pop() ?? queue?.calls[queue.taken++]
      if (!queue || !call) return undefined
      open.delete(call)
      if (queue.again.length === 0 && queue.taken === queue.calls.length) queues.delete(storedId)
      if (open.size === 0) clear()
      return call
    },
    clear,
    wereSent: ({ answers = START }) =>
      lowest <= answers && open.values().some(({ position }) => position <= answers),
  }
}

/** The calls with error results whose real results may still come. */
export interface LateCalls {
  readonly list: () => readonly Late[]
  readonly add: (call: Late) => void
  /** The first one that is stored under this id. */
  readonly find: (storedId: string) => Late | undefined
  /** Removes the calls of this message and of those after it. */
  readonly takeFrom: (message: number) => readonly Late[]
  readonly clear: () => void
  readonly wereSent: WereSent
}

export const lateCalls = (): LateCalls => {
  const late: Late[] = []
  const byId = new Map<string, Late[]>()
  /** The earliest position of those up to each. */
  const lowest: number[] = []
  return {
    list: () => late,
    add: (call) => {
      late.push(call)
      lowest.push(Math.min(lowest.at(-1) ?? Infinity, call.position))
      const same = byId.get(call.storedId)
      if (same) same.push(call)
      else byId.set(call.storedId, [call])
    },
    find: (storedId) => byId.get(storedId)?.[0],
    takeFrom: (message) => {
      const taken: Late[] = []
      for (let last = late.at(-1); last && last.message >= message; last = late.at(-1)) {
        late.pop()
        lowest.pop()
        byId.get(last.storedId)?.pop()
        taken.push(last)
      }
      return taken.toReversed()
    },
    clear: () => {
      late.length = 0
      lowest.length = 0
      byId.clear()
    },
    wereSent: ({ answers = START }) => (lowest.at(-1) ?? Infinity) <= answers,
  }
}

export const reportAnswer = ({ id, position }: Call, report: Report): void =>
  report('call-answered', position, `tool_use ${id} has no result; an error result stands for it`)

export const reportUse = ({ id, block, position }: Waiting, report: Report): void =>
  report('server-tool-dropped', position, `${block.type} ${id} stands alone`)
