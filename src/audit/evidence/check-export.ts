import { decode, type StoredEvent } from '../../events/codec.ts'
import { type ConversationEvent } from '../../events/events.ts'
import { streamOf } from '../../events/ids.ts'
import { createCallCounter } from '../../agent/receipts/calls.ts'
import { callOutOfRange } from '../../agent/receipts/errors.ts'
import { orThrow } from '../../result/fallible.ts'
import { toError } from '../../result/typed-error.ts'
import { cannotWithhold, forkOrigin } from '../../transfer/disclosure/withheld.ts'
import type { EvidenceSource } from './source.ts'

/** Export options that can only be checked against the conversation's events. */
export interface ExportRequirements {
  readonly withheld: ReadonlySet<number>
  /** Number of the last call that the export must include; 0 if the options name no calls. */
  readonly lastCall: number
  readonly last: number
}

/** Withheld events in order of position, with their replacement texts. */
export interface WithheldEvents {
  /** Replacement text of each withheld event, by position. */
  readonly instead: ReadonlyMap<number, string>
  readonly hidden: readonly ConversationEvent[]
}

/**
 * Checks the conversation for anything that prevents the export. Reads the conversation once and stops when nothing is left to check.
 * Throws a `ReadError`: `InvalidInput` if an event cannot be withheld, `CallOutOfRange` if the last required call does not exist.
 *
 * @param standIn returns the replacement of an event; undefined if it has none
 */
export const checkExport = async (
  chat: EvidenceSource,
  { withheld, lastCall, last }: ExportRequirements,
  standIn: (event: StoredEvent) => string | undefined,
): Promise<WithheldEvents> => {
  const instead = new Map<number, string>()
  const hidden: ConversationEvent[] = []
  if (withheld.size === 0 && lastCall === 0) return { instead, hidden }
  const callsOf = createCallCounter()
  let calls = 0
  let position = 0
  for await (const stored of chat.stored({ to: last })) {
    const { conversation, revision } = stored
    const decoded = () => decode(stored, { stream: streamOf(conversation), revision, position })
    if (calls < lastCall) calls += callsOf(await orThrow(decoded())).length
    if (withheld.has(position)) {
      instead.set(position, withholdable(stored, position, standIn))
      hidden.push(await orThrow(decoded()))
    }
    if (calls >= lastCall && hidden.length === withheld.size) return { instead, hidden }
    position++
  }
  throw toError(callOutOfRange(chat.id, lastCall, calls))
}

const withholdable = (
  event: StoredEvent,
  position: number,
  standIn: (event: StoredEvent) => string | undefined,
): string => {
  if (event.type === 'Forked') throw cannotWithhold(position, forkOrigin)
  const text = standIn(event)
  if (text === undefined)
    throw cannotWithhold(
      position,
      'was written by another program and cannot be withheld: its hash cannot be proven without its text',
    )
  return text
}
