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
