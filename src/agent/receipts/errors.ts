import type { CallName } from '../../events/call-name.ts'

/** The request was made by a renderer (of replies or of summaries) of a newer version of palimpsest. */
export interface UnknownRenderer {
  readonly _tag: 'UnknownRenderer'
  readonly message: string
  readonly renderer: number
  /** Renderers of this version. */
  readonly known: readonly number[]
}

/** The conversation has no model call of this number. */
export interface CallOutOfRange {
  readonly _tag: 'CallOutOfRange'
  readonly message: string
  readonly conversation: string
  /** The requested call; undefined if the last one was requested but there are none. */
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

/** @param others what else there is to ask for, as the end of a sentence */
export const callOutOfRange = (
  conversation: string,
  call: CallName | undefined,
  calls: number,
  others = '',
): CallOutOfRange => ({
  _tag: 'CallOutOfRange',
  message: `conversation ${conversation} has ${calls === 0 ? 'no call' : `${calls} ${calls === 1 ? 'call' : 'calls'}`} of a model with a receipt${calls > 0 ? `: name one from 1 to ${calls}` : others === '' ? ': only what a turn recorded has one' : ''}${others}`,
  conversation,
  call,
  calls,
})
