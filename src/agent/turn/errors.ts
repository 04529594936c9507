/** It is not the model's turn: there are no messages since its last reply, or none at all. */
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
  /** Path of each in `parameters`. */
  readonly paths: readonly string[]
}

/** The turn was cancelled. All complete content is recorded. */
export interface TurnCancelled {
  readonly _tag: 'TurnCancelled'
  readonly message: string
  readonly conversation: string
  /** Name of the person who cancelled it, and the reason, if given. */
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
  message: `it is not the model's turn in ${conversation}, or it has no messages: append a user message first`,
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
