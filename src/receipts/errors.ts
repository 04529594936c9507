/** The request was made by a renderer (of replies, or of summaries) of a newer version of palimpsest. */
export interface UnknownRenderer {
  readonly _tag: 'UnknownRenderer'
  readonly message: string
  readonly renderer: number
  /** The ones of this version. */
  readonly known: readonly number[]
}

/** The conversation has no such call of a model. */
export interface CallOutOfRange {
  readonly _tag: 'CallOutOfRange'
  readonly message: string
  readonly conversation: string
  /** The call asked for; undefined if the last one was asked for and there are none. */
  readonly call: number | undefined
  /** How many there are. */
  readonly calls: number
}

export const unknownRenderer = (
  renderer: number,
  known: readonly number[],
  what: 'renderer' | 'summarizer' | 'form' = 'renderer',
): UnknownRenderer => ({
  _tag: 'UnknownRenderer',
  message: `this version has no ${what} ${renderer}, only ${known.join(', ')}: a newer palimpsest made the request, upgrade`,
  renderer,
  known,
})

export const callOutOfRange = (
  conversation: string,
  call: number | undefined,
  calls: number,
): CallOutOfRange => ({
  _tag: 'CallOutOfRange',
  message: `conversation ${conversation} has ${calls === 0 ? 'no call' : `${calls} ${calls === 1 ? 'call' : 'calls'}`} of a model with a receipt${calls === 0 ? ': only what a turn recorded has one' : `: name one from 1 to ${calls}`}`,
  conversation,
  call,
  calls,
})
