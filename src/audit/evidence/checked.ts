import { decode, type StoredEvent } from '../../events/codec.ts'
import { invalidInput } from '../../events/errors.ts'
import { type ConversationEvent } from '../../events/events.ts'
import { streamOf } from '../../events/ids.ts'
import { numberedCalls } from '../../agent/receipts/calls.ts'
import { callOutOfRange } from '../../agent/receipts/errors.ts'
import { orThrow } from '../../result/steps.ts'
import { toError } from '../../result/typed.ts'
import type { EvidenceSource } from './source.ts'

/** What an export wants of a conversation, as far as only its events can tell whether it can have it. */
export interface ExportRequirements {
  readonly withheld: ReadonlySet<number>
  /** The number of the last call that must be there; 0: of none. */
  readonly lastCall: number
  readonly last: number
}

/** What is withheld, in order. */
export interface WithheldEvents {
  /** What stands in place of each, by position. */
  readonly instead: ReadonlyMap<number, string>
  readonly hidden: readonly ConversationEvent[]
}

/**
 * Checks all that an export may be refused for, in one read, which ends where nothing is left to check. Throws a `ReadError`:
 * `InvalidInput` if an event cannot be withheld, `CallOutOfRange` if there is no such call.
 *
 * @param standIn what stands in place of an event; undefined if nothing can
 */
export const checked = async (
  chat: EvidenceSource,
  { withheld, lastCall, last }: ExportRequirements,
  standIn: (event: StoredEvent) => string | undefined,
): Promise<WithheldEvents> => {
  const instead = new Map<number, string>()
  const hidden: ConversationEvent[] = []
  if (withheld.size === 0 && lastCall === 0) return { instead, hidden }
  const callsOf = numberedCalls()
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
  const refused = (problem: string): Error =>
    toError(invalidInput('withhold', `event ${position} ${problem}`))
  if (event.type === 'Forked')
    throw refused('says what the conversation was forked from: it cannot be withheld')
  const text = standIn(event)
  if (text === undefined)
    throw refused('was written by another program: its hash cannot be given without its text')
  return text
}
