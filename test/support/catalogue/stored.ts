import type { ConversationEvent } from '../../../src/events/events.ts'
import type { Log } from '../../../src/projections/path.ts'
import { memoryStore } from '../../../src/store/memory/store.ts'
import type { EventStore } from '../../../src/store/port.ts'
import { writeForked } from '../forked.ts'

/** A log in a store of its own. */
export interface Stored {
  readonly store: EventStore
  readonly id: string
  readonly log: Log
}

/** A log in parts that are forks of one another; a stream that begins with a Forked would be a fork, too. */
export const storedForked = async (any: Log, places: readonly number[]): Promise<Stored> => {
  const store = memoryStore()
  const log = any.map((event, index): ConversationEvent =>
    index === 0 && event.type === 'Forked' ? { ...event, type: 'Configured', data: {} } : event,
  )
  const forked = await writeForked(store, log, places)
  return { store, id: forked.id, log: forked.log.map((event) => ({ ...event, metadata: atOnce(event) })) }
}

/** As `write` has it. */
const atOnce = ({ metadata }: ConversationEvent) => ({ ...metadata, time: new Date(0).toISOString() })
