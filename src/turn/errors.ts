/** It is not the model's turn: nothing was said since its last reply, or at all. */
export interface NothingToAnswer {
  readonly _tag: 'NothingToAnswer'
  readonly message: string
  readonly conversation: string
}

/** The model has been asked as often as it may be in one turn, and goes on calling tools. All of it is recorded. */
export interface TooManyCalls {
  readonly _tag: 'TooManyCalls'
  readonly message: string
  readonly conversation: string
  readonly calls: number
}

/** The parameters hold references to secrets, as they are recorded, and not the secrets themselves. Nothing was sent. */
export interface SecretMissing {
  readonly _tag: 'SecretMissing'
  readonly message: string
  /** Where each of them stands in `parameters`. */
  readonly paths: readonly string[]
}

export const nothingToAnswer = (conversation: string): NothingToAnswer => ({
  _tag: 'NothingToAnswer',
  message: `the model has the last word in ${conversation}, or nothing was said: append what the user says first`,
  conversation,
})

export const tooManyCalls = (conversation: string, calls: number): TooManyCalls => ({
  _tag: 'TooManyCalls',
  message: `the model was asked ${calls} times in this turn of ${conversation} and goes on: call turn again to go on too, or raise maxCalls`,
  conversation,
  calls,
})

export const secretMissing = (paths: readonly string[]): SecretMissing => ({
  _tag: 'SecretMissing',
  message: `secrets are not recorded, only that they are there: name the value of ${paths.map((path) => `parameters.${path}`).join(', ')}`,
  paths,
})
