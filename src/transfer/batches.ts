import type { StoredEvent } from '../events/codec.ts'

/**
 * Yields events in batches, one per append: at most `mostEvents` events each, and at most `mostBytes` bytes unless a single event is
 * larger.
 */
export function* batchesOf(
  events: Iterable<StoredEvent>,
  mostEvents: number,
  mostBytes: number,
): Generator<readonly StoredEvent[], void> {
  let batch: StoredEvent[] = []
  let bytes = 0
  for (const { id, type, data, metadata } of events) {
    const size = Buffer.byteLength(data) + Buffer.byteLength(metadata)
    if (batch.length === mostEvents || (batch.length > 0 && bytes + size > mostBytes)) {
      yield batch
      batch = []
      bytes = 0
    }
    batch.push({ id, type, data, metadata })
    bytes += size
  }
  if (batch.length > 0) yield batch
}
