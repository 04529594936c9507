import { blobsInStreams, withoutBlobStreams } from './blobs-in-streams.ts'
import { indexFromEvents } from './index-from-events.ts'
import type { EventStore, StoreAdapter } from './port.ts'

/** Completes an adapter: adds an index made from its events, and a blob store in its streams, if the adapter has none. */
export const completeStore = (adapter: StoreAdapter): EventStore => {
  const { blobs, maxAppendBytes = Infinity } = adapter
  const store = { ...indexFromEvents(adapter), ...adapter, maxAppendBytes }
  return blobs ? { ...store, blobs } : withoutBlobStreams({ ...store, blobs: blobsInStreams(adapter, store) })
}
