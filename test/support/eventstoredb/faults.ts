import type { Endpoint } from './errors.ts'

/** A call that came: each append of a batch append call is one. */
export interface Call {
  readonly method: 'Read' | 'Append' | 'BatchAppend' | 'Delete' | 'Tombstone'
  readonly stream?: string
  readonly all?: boolean
  readonly subscription?: boolean
}

export interface Fault {
  /**
   * - `drop`: the connection breaks;
   * - `silence`: no answer ever comes;
   * - `unavailable`: gRPC's status of that name;
   * - `busy`: "Server Is Busy", which the client knows as such only from unary calls;
   * - `deadline`: the server's own time is up;
   * - `notLeader`: another node is the leader;
   * - `denied`: the user may not;
   * - `delay`: the answer comes late.
   */
  readonly kind: 'drop' | 'silence' | 'unavailable' | 'busy' | 'deadline' | 'notLeader' | 'denied' | 'delay'
  /** What it strikes: appends, if nothing is said. `any` is also deletes and tombstones. */
  readonly on?: 'append' | 'read' | 'subscription' | 'any'
  /** Whether a write is done all the same (before a delay, not after it). */
  readonly written?: boolean
  /** How many calls it strikes: 1, if nothing is said. */
  readonly times?: number
  /** How many calls that it fits pass first. */
  readonly after?: number
  /** How many events a read sends before it is struck. */
  readonly events?: number
  /** Milliseconds of a delay. */
  readonly ms?: number
  /** What a delay lasts to, instead. */
  readonly until?: Promise<void>
  /** Who the leader is; this server, if nothing is said. */
  readonly leader?: Endpoint
}

export type FaultSource = (call: Call) => Fault | undefined

export interface Faults {
  readonly add: (fault: Fault | FaultSource) => void
  /** What strikes a call, and is used up by it. */
  readonly strike: FaultSource
}

const kindOf = ({ method, subscription }: Call): Fault['on'] => {
  if (method === 'Read') return subscription ? 'subscription' : 'read'
  return method === 'Append' || method === 'BatchAppend' ? 'append' : 'any'
}

export const faults = (): Faults => {
  const waiting: { readonly fault: Fault; after: number; times: number }[] = []
  let source: FaultSource = () => undefined
  return {
    add: (fault) => {
      if (typeof fault === 'function') source = fault
      else waiting.push({ fault, after: fault.after ?? 0, times: fault.times ?? 1 })
    },
    strike: (call) => {
      const fits = ({ on = 'append' }: Fault): boolean => on === 'any' || on === kindOf(call)
      const next = waiting.find(({ fault, times }) => times > 0 && fits(fault))
      if (!next) return source(call)
      if (next.after-- > 0) return undefined
      next.times--
      return next.fault
    },
  }
}
