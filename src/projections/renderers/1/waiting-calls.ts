import { START } from '../../../events/events.ts'

// The calls of a turn that have no result. There may be hundreds of thousands, so no function here scans all of them to find one.

/** A tool call that has no result yet. */
export interface WaitingCall {
  readonly storedId: string
  readonly position: number
  /** Sequence number of the call; ascends in the order in which calls are made. */
  readonly nth: number
}

interface Reply {
  readonly answers: number | undefined
}
/** Function that reports whether a reply answers a request that contained error results for some of these calls. */
type WereSent = (reply: Reply) => boolean

/** Calls of the current tool round that have no result yet. All of them are in one message. */
export interface OpenCalls<C extends WaitingCall> {
  readonly size: () => number
  /** Returns the calls in the order in which they were made. */
  readonly list: () => readonly C[]
  readonly add: (call: C) => void
  /** Adds calls that were made before all others. */
  readonly reopen: (calls: readonly C[]) => void
  readonly has: (storedId: string) => boolean
  /** Removes and returns the first call with this stored id. */
  readonly take: (storedId: string) => C | undefined
  readonly clear: () => void
  readonly wereSent: WereSent
}

/**
 * Calls with the same stored id. The calls in `again` come first, from last to first; then come the calls in `calls`, except the first
 * `taken`.
 */
interface Queue<C> {
  readonly again: C[]
  readonly calls: C[]
  taken: number
}

export const openCalls = <C extends WaitingCall>(): OpenCalls<C> => {
  const open = new Set<C>()
  const queues = new Map<string, Queue<C>>()
  /** Lower bound of the positions of all open calls. */
  let lowest = Infinity

  const queueFor = (call: C): Queue<C> => {
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

/** A call whose result the assistant did not wait for. */
interface Late extends WaitingCall {
  /** Number (`nth`) of the message that contained the call when the assistant continued. */
  readonly message: number
}

/** Calls whose results the assistant did not wait for. The results may still come. */
export interface LateCalls<L extends Late> {
  readonly list: () => readonly L[]
  readonly add: (call: L) => void
  /** Returns the first call with this stored id. */
  readonly find: (storedId: string) => L | undefined
  /** Removes and returns the calls of this message and of later messages. */
  readonly takeFrom: (message: number) => readonly L[]
  readonly clear: () => void
  readonly wereSent: WereSent
}

export const lateCalls = <L extends Late>(): LateCalls<L> => {
  const late: L[] = []
  const byId = new Map<string, L[]>()
  /** Lowest position among the calls up to each index. */
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
      const taken: L[] = []
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
