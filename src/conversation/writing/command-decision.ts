import { decideAppend, isAppend } from '../../commands/append.ts'
import type { ConversationCommand } from '../../commands/command.ts'
import { decideMove, decideInSlices, isMove } from '../../commands/decide.ts'
import type { Event } from '../../events/events.ts'
import { unwrap, type Fallible } from '../../result/fallible.ts'
import { inBreaths } from '../../store/breath.ts'
import type { WriteError } from '../../store/errors.ts'
import { gatherAppendState, gatherMoveState, gatherShownState } from '../reading/gather.ts'
import { lastPosition, type StreamHead } from '../reading/ends.ts'
import type { HistoryState, Moments } from '../reading/moments.ts'
import type { Reader } from '../reading/reader.ts'

/** The decision on a command, with the state that was read to make it. */
export interface CommandDecision {
  readonly events: readonly Event[]
  /** The effective history before the events, if it was read. */
  readonly moment?: HistoryState
  /** Position of the head before the events, if it was read. */
  readonly from?: number
  /** Position of the head after the events, for a rewind. */
  readonly to?: number | undefined
}

/** Decides a command, using the remembered state and reading the rest from the store. */
export async function* decideOn(
  conversation: string,
  {
    reading,
    known,
    moments,
  }: { readonly reading: Reader; readonly known: StreamHead; readonly moments: Moments },
  command: ConversationCommand,
): Fallible<WriteError, CommandDecision> {
  const end = yield* gatherAppendState(reading, conversation, lastPosition(known), command)
  if (isAppend(command)) return { events: yield* unwrap(decideAppend(command, end)) }
  if (isMove(command)) {
    const state = yield* gatherMoveState(reading, end, command, known)
    return { from: state.head, to: state.named.head, events: yield* unwrap(decideMove(command, state)) }
  }
  const momentAt = (position: number): HistoryState | undefined => moments.at(conversation, position)
  const state = yield* gatherShownState(reading, end, command, known.head, momentAt)
  const { effective, sinceView, replaced } = state
  const { head: from } = effective
  const moment = { effective: { ...effective, at: from }, sinceView, replaced }
  await inBreaths(moments.keeping(conversation, moment))
  return { from, moment, events: yield* unwrap(await inBreaths(decideInSlices(command, state))) }
}
