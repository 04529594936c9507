import type { StoredEvent } from '../events/codec.ts'

// Beginnings of the metadata of stored events that the layers above the adapters have changed. The metadata of other events must not
// begin with any of them.

/** Common beginning of the marks. */
export const markStart = '{"$'
/** Beginning of the metadata of an event that is part of a write of several appends. */
export const partMark = `${markStart}part":`
/** Beginning of the metadata of an event with content stored outside it. */
export const blobsMark = `${markStart}blobs":`

/** Reports whether an event is marked as part of a write of several appends. Total: accepts any input. */
export const isMarked = (event: Partial<StoredEvent> | null | undefined): boolean =>
  typeof event?.metadata === 'string' && event.metadata.startsWith(partMark)

/** Reports whether content of an event is stored outside it. */
export const isCut = ({ metadata }: Pick<StoredEvent, 'metadata'>): boolean => metadata.startsWith(blobsMark)
