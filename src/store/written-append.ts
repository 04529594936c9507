import { checkpointAt, markOf } from './checkpoints.ts'
import type { AppendRequest, RecordedEvent } from './port.ts'

/** A completed append, with the global position of its last event. */
export interface WrittenAppend {
  readonly request: AppendRequest
  readonly position: number
}

/** Returns the events of a completed append as a reader gets them, in a store that numbers its events without gaps. */
export const toRecordedEvents = ({ request, position }: WrittenAppend): readonly RecordedEvent[] => {
  const { stream, events, expected } = request
  const first = position - events.length + 1
  return events.map((event, index) => ({
    ...event,
    stream,
    revision: expected + 1 + index,
    checkpoint: checkpointAt(first + index, markOf(event.id)),
  }))
}
