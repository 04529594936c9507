import type { RecordedTurnFact } from '../events/turn-events.ts'

/** It is not the model's turn: nothing was said since its last reply, or nothing at all. */
export interface NothingToAnswer {
  readonly _tag: 'NothingToAnswer'
  readonly message: string
  readonly conversation: string
}

/** The model was called `maxCalls` times in one turn and still calls tools. All of it is recorded. */
export interface TooManyCalls {
  readonly _tag: 'TooManyCalls'
  readonly message: string
  readonly conversation: string
  readonly calls: number
}

/** The parameters hold references to secrets, as recorded, instead of the secrets. Nothing was sent. */
export interface SecretMissing {
  readonly _tag: 'SecretMissing'
  readonly message: string
  /** The place of each in `parameters`. */
  readonly paths: readonly string[]
}

/** The conversation awaits the model, or results of its calls. Nothing was written. */
export interface Busy {
  readonly _tag: 'Busy'
  readonly message: string
  readonly conversation: string
}

export const busy = (conversation: string): Busy => ({
  _tag: 'Busy',
  message: `${conversation} awaits the model or results of its calls: say it later, or with whileBusy enqueue, interrupt or rollback`,
  conversation,
})

/** Somebody has decided about the call before. The first decision counts. */
export interface AlreadyDecided {
  readonly _tag: 'AlreadyDecided'
  readonly message: string
  readonly conversation: string
  readonly call: string
  readonly decision: 'approved' | 'denied'
  readonly by: string
  /** ISO 8601, UTC. */
  readonly time: string
}

/** Nothing can be decided about the call: it does not wait for an approval, or no longer. */
export interface NotWaiting {
  readonly _tag: 'NotWaiting'
  readonly message: string
  readonly conversation: string
  readonly call: string
  /** The calls that do wait. */
  readonly waiting: readonly string[]
}

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

/** Somebody cancelled the turn. What was complete is recorded. */
export interface TurnCancelled {
  readonly _tag: 'TurnCancelled'
  readonly message: string
  readonly conversation: string
  /** Who cancelled it, and why, if that was said. */
  readonly by?: string | undefined
  readonly reason?: string | undefined
}

export const turnCancelled = (
  conversation: string,
  { by, reason }: Pick<TurnCancelled, 'by' | 'reason'>,
): TurnCancelled => ({
  _tag: 'TurnCancelled',
  message: `the turn of ${conversation} was cancelled${by === undefined ? '' : ` by ${by}`}${reason === undefined ? '' : ` (${reason})`}: what was complete is recorded, call turn again to continue from there`,
  conversation,
  ...(by !== undefined && { by }),
  ...(reason !== undefined && { reason }),
})

export const nothingToAnswer = (conversation: string): NothingToAnswer => ({
  _tag: 'NothingToAnswer',
  message: `it is not the model's turn in ${conversation}, or nothing was said: append a user message first`,
  conversation,
})

export const tooManyCalls = (conversation: string, calls: number): TooManyCalls => ({
  _tag: 'TooManyCalls',
  message: `the model was called ${calls} times in this turn of ${conversation} and still calls tools: call turn again to continue, or raise maxCalls`,
  conversation,
  calls,
})

export const secretMissing = (paths: readonly string[]): SecretMissing => ({
  _tag: 'SecretMissing',
  message: `secrets are not recorded: pass the value of ${paths.map((path) => `parameters.${path}`).join(', ')}`,
  paths,
})
