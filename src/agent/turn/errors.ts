/** The model has nothing to answer: no message has been appended since its last reply, or the conversation has no messages. */
export interface NothingToAnswer {
  readonly _tag: 'NothingToAnswer'
  readonly message: string
  readonly conversation: string
}

/** The model was called `maxCalls` times in one turn and still calls tools. Everything up to then is recorded. */
export interface TooManyCalls {
  readonly _tag: 'TooManyCalls'
  readonly message: string
  readonly conversation: string
  readonly calls: number
}

/** The parameters contain recorded references to secrets instead of the secrets themselves. Nothing was sent. */
export interface SecretMissing {
  readonly _tag: 'SecretMissing'
  readonly message: string
  /** Paths of the missing secrets in `parameters`. */
  readonly paths: readonly string[]
}

/** The turn was cancelled. All complete content is recorded. */
export interface TurnCancelled {
  readonly _tag: 'TurnCancelled'
  readonly message: string
  readonly conversation: string
  /** Name of the person who cancelled the turn, if given. */
  readonly by?: string | undefined
  readonly reason?: string | undefined
}

export const turnCancelled = (
  conversation: string,
  { by, reason }: Pick<TurnCancelled, 'by' | 'reason'>,
): TurnCancelled => ({
  _tag: 'TurnCancelled',
  message: `the turn of ${conversation} was cancelled${by === undefined ? '' : ` by ${by}`}${reason === undefined ? '' : ` (${reason})`}: all complete content is recorded, call turn again to continue from there`,
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
