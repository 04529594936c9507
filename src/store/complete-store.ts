import { blobsInStreams, withoutBlobStreams } from './blobs-in-streams.ts'
import { indexFromEvents } from './index-from-events.ts'
import type { EventStore, StoreAdapter } from './port.ts'

/** Adds what an adapter leaves out: an index made of its events, and blobs kept in its streams. */
export const completeStore = (adapter: StoreAdapter): EventStore => {
  const { blobs, maxAppendBytes = Infinity } = adapter
  const store = { ...indexFromEvents(adapter), ...adapter, maxAppendBytes }
  return blobs ? { ...store, blobs } : withoutBlobStreams({ ...store, blobs: blobsInStreams(adapter, store) })
}
