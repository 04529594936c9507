import * as E from 'fp-ts/lib/Either.js'
import { streamOf, turnsStreamOf } from '../../events/ids.ts'
import type { Checkpoint, EventStore, RecordedEvent } from '../../store/port.ts'

/**
 * A function that reports the events that any process writes to a conversation or to the log of its turns, from now until the signal
 * aborts. It resolves once every later event will be reported. Use a report only as a signal to read the conversation: large content is
 * left out, and the event may belong to an unfinished import. Nothing is reported if the store cannot be read. `others` names further
 * streams to report.
 */
export type Changes = (
  seen: (event: RecordedEvent) => void,
  signal: AbortSignal,
  others?: readonly string[],
) => Promise<void>

/**
 * Returns the function that reports changes of a conversation.
 *
 * @param store the adapter itself, because large content need not be loaded
 */
export const changesOf =
  (store: EventStore, conversation: string): Changes =>
  async (seen, signal, others = []) => {
    const own = streamOf(conversation)
    const prefixes = [own, turnsStreamOf(conversation), ...others]
    const after = await placeIn(store, own)
    const follow = async (): Promise<void> => {
      for await (const followed of store.follow({ prefixes, after, signal }))
        // The name of one stream may be the beginning of another stream's name.
        if (followed.type === 'event' && prefixes.includes(followed.event.stream)) seen(followed.event)
    }
    // Errors are ignored: a handle that receives no reports notices changes when it writes.
    if (after !== undefined && !signal.aborted) follow().catch(() => undefined)
  }

/** Returns a checkpoint at or before the current end of the store. */
const placeIn = async (store: EventStore, stream: string): Promise<Checkpoint | undefined> => {
  const changed = await store.changed(stream, undefined)()
  if (E.isRight(changed) && changed.right.checkpoint !== undefined) return changed.right.checkpoint
  const from = Number.MAX_SAFE_INTEGER
  const read = await store.read({ stream, from, direction: 'backwards', limit: 1 })()
  return E.isRight(read) ? read.right[0]?.checkpoint : undefined
}
