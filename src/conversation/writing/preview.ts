import type { ConversationCommand } from '../../commands/command.ts'
import type { Event } from '../../events/events.ts'
import { type Effective, effective } from '../../projections/effective.ts'
import { unwrap, type Fallible } from '../../result/fallible.ts'
import type { WriteError } from '../../store/errors.ts'
import type { EventStore } from '../../store/port.ts'
import { decideOn } from './command-decision.ts'
import { completeEnvelope, encodeChain } from './encode.ts'
import { chainEndOf, lastPosition, readConversationEnd } from '../reading/ends.ts'
import { headFrom } from '../reading/ends.ts'
import { loadEffective } from '../reading/load.ts'
import { loadLog } from '../reading/log.ts'
import { momentAfter, momentsOf } from '../reading/moments.ts'
import { placeEvents } from './place-events.ts'
import { reader } from '../reading/reader.ts'

/** The effect that a command would have if it ran now. */
export interface Preview {
  readonly conversation: string
  /** Last position of the conversation. Pass it as `after` to have the command refused if anything has happened since. */
  readonly position: number
  /** Events that the command would write, in order; empty if nothing needs to be written. */
  readonly events: readonly Event[]
  /** The context that the model sees now. */
  readonly before: Effective
  /** The context that the model would see after the command. */
  readonly after: Effective
}

const nobody = completeEnvelope({}, { kind: 'preview' })

/** Decides a command on the current end of the conversation, like the handler, but writes nothing. */
export async function* previewOf(
  store: EventStore,
  conversation: string,
  command: ConversationCommand,
): Fallible<WriteError, Preview> {
  const end = yield* unwrap(readConversationEnd(store, conversation))
  const known = headFrom(yield* chainEndOf(conversation, end), end.last?.type)
  const reading = reader(store, known.lineage)
  const moments = momentsOf()
  const { events } = yield* decideOn(conversation, { reading, known, moments }, command)
  const position = lastPosition(known)
  // A history that was loaded for the decision is not read again.
  const now = yield* loadEffective(reading, position, true, (at) => moments.at(conversation, at))
  const preview = { conversation, position, events, before: now.effective }
  const chain = yield* unwrap(encodeChain(conversation, known.hash, events, nobody))
  const written = yield* unwrap(placeEvents(conversation, known, chain))
  const last = written.at(-1)
  if (last?.type === 'Rewound') {
    // The history at the target of the rewind is already stored.
    const { effective: there } = yield* loadEffective(reading, last.data.to)
    return { ...preview, after: { ...there, at: last.position } }
  }
  const after = momentAfter(now, written)
  if (after) return { ...preview, after: after.effective }
  const log = yield* unwrap(loadLog(reading, position))
  return { ...preview, after: effective([...log, ...written]) }
}
