import type { CallName } from '../../events/call-name.ts'

/**
 * Error: the request was made by a newer version of palimpsest, with a renderer for replies or summaries that this version does not
 * have.
 */
export interface UnknownRenderer {
  readonly _tag: 'UnknownRenderer'
  readonly message: string
  readonly renderer: number
  /** Numbers of the renderers in this version. */
  readonly known: readonly number[]
}

/** Error: the conversation has no model call with this number. */
export interface CallOutOfRange {
  readonly _tag: 'CallOutOfRange'
  readonly message: string
  readonly conversation: string
  /** Requested call; undefined if the last call was requested but the conversation has no calls. */
  readonly call: CallName | undefined
  /** Number of calls with a receipt. */
  readonly calls: number
}

export const unknownRenderer = (
  renderer: number,
  known: readonly number[],
  what: 'renderer' | 'summarizer' | 'form' = 'renderer',
): UnknownRenderer => ({
  _tag: 'UnknownRenderer',
  message: `this version has no ${what} ${renderer}, only ${known.join(', ')}: the request was made by a newer palimpsest: upgrade`,
  renderer,
  known,
})

/**
 * Creates the error for a call that does not exist.
 *
 * @param others text about other calls that can be requested, as the end of the message
 */
export const callOutOfRange = (
  conversation: string,
  call: CallName | undefined,
  calls: number,
  others = '',
): CallOutOfRange => ({
  _tag: 'CallOutOfRange',
  message: `conversation ${conversation} has ${calls === 0 ? 'no call' : `${calls} ${calls === 1 ? 'call' : 'calls'}`} with a receipt${calls > 0 ? `: name one from 1 to ${calls}` : others === '' ? ': only calls recorded by a turn have receipts' : ''}${others}`,
  conversation,
  call,
  calls,
})
