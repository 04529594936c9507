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

/** Beginning of the data of an encrypted event. */
export const sealedStart = '{"sealed":"'

/** Reports whether the content of an event is encrypted. */
export const isSealedEvent = ({ data }: Pick<StoredEvent, 'data'>): boolean => data.startsWith(sealedStart)

const sealMark = 'sealed 1'
/** Beginning of an encrypted blob. Its name is not the hash of its bytes. */
export const sealMarkBytes: Uint8Array = /* @__PURE__ */ new TextEncoder().encode(sealMark)

/** Reports whether the first bytes of a blob say that it is encrypted. */
export const isSealedBlob = (bytes: Uint8Array): boolean =>
  sealMarkBytes.every((byte, index) => bytes[index] === byte)
