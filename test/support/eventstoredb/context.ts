import { setTimeout as sleep } from 'node:timers/promises'
import type { ServerSurfaceCall } from '@grpc/grpc-js/build/src/server-call.js'
import { type Endpoint, type RpcError, rpcErrors } from './errors.ts'
import type { Call, Fault } from './faults.ts'
import type { Log } from './log.ts'

/** What the services share. */
export interface Context {
  readonly log: Log
  readonly maxAppendSize: number
  /** Events a second that a filtered read of $all looks through. */
  readonly scanSpeed: number
  /** Notes a call, and says what strikes it. */
  readonly strike: (call: Call) => Fault | undefined
  /** Breaks the connection that a call came on. */
  readonly drop: (call: ServerSurfaceCall) => void
  /** Why a call may not be answered. */
  readonly denial: (call: ServerSurfaceCall) => RpcError | undefined
  /** This server. */
  readonly self: () => Endpoint
}

/** The error of a fault that is one. */
export const errorOf = ({ kind, leader }: Fault, context: Context): RpcError => {
  if (kind === 'notLeader') return rpcErrors.notLeader(leader ?? context.self())
  if (kind === 'denied') return rpcErrors.accessDenied()
  return kind === 'busy' || kind === 'deadline' ? rpcErrors[kind]() : rpcErrors.unavailable()
}

export interface Write<A> {
  readonly call: ServerSurfaceCall
  readonly fault: Fault | undefined
  readonly run: () => A
  readonly answer: (result: A) => void
  /** Called with the fault, if it is an error that is answered. */
  readonly fail: (fault: Fault) => void
}

/** Does a write, or what a fault has made of it. */
export const perform = async <A>(
  { drop }: Context,
  { call, fault, run, answer, fail }: Write<A>,
): Promise<void> => {
  if (!fault) return answer(run())
  const early = fault.written ? { result: run() } : undefined
  if (fault.kind === 'delay') {
    await (fault.until ?? sleep(fault.ms))
    return answer(early ? early.result : run())
  }
  if (fault.kind === 'drop') return drop(call)
  if (fault.kind !== 'silence') fail(fault)
}
