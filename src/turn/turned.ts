import type { NewMessage } from '../commands/command.ts'
import type { ContextTooLarge } from '../context/policy/errors.ts'
import type { CondenseError } from '../context/summary/condense.ts'
import type { Block } from '../events/blocks.ts'
import type { Receipt } from '../events/events.ts'
import type { Written } from '../history/encode.ts'
import type { FailedCall, ModelError, Reply } from '../models/model.ts'
import { isCompaction } from '../projections/render/renderer.ts'
import type { UnknownRenderer } from '../receipts/errors.ts'
import type { ReadError, WriteError } from '../store/errors.ts'
import type { NothingToAnswer, SecretMissing, TooManyCalls } from './errors.ts'
import { isCall } from './open-calls.ts'

/** The result of a turn. */
export interface Turned {
  readonly conversation: string
  /** The position of the last reply. */
  readonly position: number
  /** The last reply, and why the model stopped. */
  readonly content: readonly Block[]
  readonly stopReason: string | null | undefined
  /** How often the model was called; calls for summaries not counted. */
  readonly calls: number
  /** Why the context was truncated and not condensed, if it was. */
  readonly condenseFailed?: CondenseError
}

/** Why a turn ended early. */
export type TurnError = (
  | WriteError
  | ReadError
  | ModelError
  | ContextTooLarge
  | UnknownRenderer
  | NothingToAnswer
  | TooManyCalls
  | SecretMissing
) & {
  /** The calls that failed and are not recorded in the origin of a later reply. */
  readonly failed?: readonly FailedCall[]
}

/** Whether the model has more to say after its last reply in this turn, if there was one. */
export const goesOn = (ended: Turned | undefined): boolean =>
  !ended ||
  ended.stopReason === 'pause_turn' ||
  (ended.stopReason === 'tool_use' && ended.content.some(isCall))

/** Whether nothing is left to do after the last reply: it has no call, and no compaction to record. */
export const isOver = (ended: Turned | undefined): boolean =>
  ended !== undefined && !goesOn(ended) && !ended.content.some(isCompaction)

export const messageOf = ({ content, origin }: Reply, context: Receipt): NewMessage => ({
  role: 'assistant',
  content,
  origin: { ...origin, context },
})

export const turnedOf = (written: Written, { content, origin }: Reply, calls: number): Turned => ({
  conversation: written.conversation,
  position: replyIn(written),
  content,
  stopReason: origin.stopReason,
  calls,
})

/** The position of a reply: a rewind may come before it in the same write, and what was held back after it. */
export const replyIn = ({ events, position }: Written): number =>
  events.find(({ type }) => type === 'MessageAppended')?.position ?? position
