import type { RecordedTurnFact } from '../../../events/turn-events.ts'

/** The call was already approved or denied. The first decision counts. */
export interface AlreadyDecided {
  readonly _tag: 'AlreadyDecided'
  readonly message: string
  readonly conversation: string
  readonly call: string
  readonly decision: 'approved' | 'denied'
  readonly by: string
  /** Time of the decision: ISO 8601, UTC. */
  readonly time: string
}

/** The call cannot be approved or denied: it is not waiting for approval, or is no longer waiting. */
export interface NotWaiting {
  readonly _tag: 'NotWaiting'
  readonly message: string
  readonly conversation: string
  readonly call: string
  /** Ids of the calls that are waiting. */
  readonly waiting: readonly string[]
}

/** The approval was not withdrawn: the tool has started, or there is no approval to withdraw. */
export interface NotWithdrawn {
  readonly _tag: 'NotWithdrawn'
  readonly message: string
  readonly conversation: string
  readonly call: string
  /** Time at which the tool started, if that is the reason: ISO 8601, UTC. */
  readonly started?: string
}

export const notWithdrawn = (
  conversation: string,
  call: string,
  problem: string,
  started?: string,
): NotWithdrawn => ({
  _tag: 'NotWithdrawn',
  message: `no approval of call ${call} of ${conversation} was withdrawn: ${problem}`,
  conversation,
  call,
  ...(started !== undefined && { started }),
})

export const alreadyDecided = (
  conversation: string,
  { data: { call, decision, by }, metadata: { time } }: RecordedTurnFact<'CallDecided'>,
): AlreadyDecided => ({
  _tag: 'AlreadyDecided',
  message: `call ${call} of ${conversation} was ${decision} by ${by} at ${time}: the first decision counts`,
  conversation,
  call,
  decision,
  by,
  time,
})

export const notWaiting = (
  conversation: string,
  call: string,
  problem: string | undefined,
  waiting: readonly string[],
): NotWaiting => ({
  _tag: 'NotWaiting',
  message: `call ${call} of ${conversation} does not wait for an approval${problem ? ` (${problem})` : ''}; ${waiting.length > 0 ? `these calls wait: ${waiting.join(', ')}` : 'no call waits'}`,
  conversation,
  call,
  waiting,
})
