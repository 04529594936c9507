import shared from '@eventstore/db-client/generated/shared_pb.js'
import type streams from '@eventstore/db-client/generated/streams_pb.js'
import type { RecordedEvent } from '../port.ts'
import { removeStamp } from './stamp.ts'

// Responses of the server (streams.proto of EventStoreDB), read with the client's generated code.

export type ReadResp = InstanceType<typeof streams.ReadResp>
export type BatchAppendResp = InstanceType<typeof streams.BatchAppendResp>
export type BatchAppendError = NonNullable<ReturnType<BatchAppendResp['getError']>>

/** A position in `$all`. The commit and prepare positions differ only in explicit transactions, which are not used. */
export interface LogPosition {
  readonly commit: string
  readonly prepare: string
}

/** Position before the first event. */
export const start: LogPosition = { commit: '0', prepare: '0' }
/**
 * -1 as an unsigned number. A subscription that resumes at this position begins at the end, and would miss the events written in the
 * meantime.
 */
const minusOne = String(2n ** 64n - 1n)

/** An event as stored on the server. */
export interface ServerEvent {
  readonly stream: string
  readonly revision: number
  readonly place: LogPosition
  readonly id: string
  readonly type: string
  /** Time at which the server wrote the event, in milliseconds since 1970. */
  readonly created: number
  readonly data: Uint8Array
  readonly metadata: Uint8Array
}

/** Reports whether the server wrote the event itself, such as the tombstone of a stream. */
export const isOfServer = ({ type }: ServerEvent): boolean => type.startsWith('$')

/** Number of .NET ticks in a millisecond. */
const ticks = 10_000

/** Returns the event in a response; undefined if the response contains something else. */
export const eventIn = (response: ReadResp): ServerEvent | undefined => {
  const event = response.getEvent()?.getEvent()
  if (!event) return undefined
  const fields = event.getMetadataMap()
  return {
    stream: Buffer.from(event.getStreamIdentifier()?.getStreamName_asU8() ?? []).toString(),
    revision: Number(event.getStreamRevision()),
    place: { commit: event.getCommitPosition(), prepare: event.getPreparePosition() },
    id: event.getId()?.getString() ?? '',
    type: fields.get('type') ?? '',
    created: Number(fields.get('created') ?? 0) / ticks,
    data: event.getData_asU8(),
    metadata: event.getCustomMetadata_asU8(),
  }
}

const textOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()

export const recordedEventOf = ({
  stream,
  revision,
  place,
  id,
  type,
  data,
  metadata,
}: ServerEvent): RecordedEvent => ({
  stream,
  revision,
  checkpoint: checkpointOf(place),
  id,
  type,
  data: textOf(data),
  metadata: removeStamp(textOf(metadata)),
})

export const checkpointOf = ({ commit, prepare }: LogPosition): string => `${commit}/${prepare}`

/**
 * Returns the log position in a checkpoint; undefined if the checkpoint was not issued by an EventStoreDB. Accepts -1 as the start,
 * because earlier releases issued it for the position before the first event.
 */
export const placeOf = (checkpoint: string): LogPosition | undefined => {
  const [, commit, prepare] = /^(\d+)\/(\d+)$/.exec(checkpoint) ?? []
  if (commit === undefined || prepare === undefined) return undefined
  return commit === minusOne ? start : { commit, prepare }
}

/** Returns the log position that a subscription has reached, if the response contains one. */
export const placeReached = (response: ReadResp): LogPosition | undefined => {
  const reached = response.getCheckpoint()
  if (!reached || reached.getCommitPosition() === minusOne) return undefined
  return { commit: reached.getCommitPosition(), prepare: reached.getPreparePosition() }
}

/**
 * Reports whether two log positions are equal. A checkpoint right before an event has the event's commit position and a lower prepare
 * position.
 */
export const isSamePlace = (one: LogPosition, other: LogPosition | undefined): boolean =>
  one.commit === other?.commit && one.prepare === other.prepare

/** Returns the revision of the last event that an append wrote. */
export const revisionWritten = (response: BatchAppendResp): number =>
  Number(response.getSuccess()?.getCurrentRevision() ?? -1)

/**
 * Returns the stream's actual last revision from a `WrongExpectedVersion` error; -1 if the stream is empty, undefined for any other
 * error.
 */
export const actualRevision = (error: BatchAppendError): number | undefined => {
  const details = error.getDetails()
  if (details?.getTypeName() !== 'event_store.client.WrongExpectedVersion') return undefined
  const wrong = details.unpack(
    (bytes) => shared.WrongExpectedVersion.deserializeBinary(bytes),
    details.getTypeName(),
  )
  return wrong?.hasCurrentStreamRevision() ? Number(wrong.getCurrentStreamRevision()) : -1
}

/** Returns the maximum number of bytes in an append from a `MaximumAppendSizeExceeded` error; undefined for any other error. */
export const appendLimit = (error: BatchAppendError): number | undefined => {
  const details = error.getDetails()
  if (details?.getTypeName() !== 'event_store.client.MaximumAppendSizeExceeded') return undefined
  return details
    .unpack((bytes) => shared.MaximumAppendSizeExceeded.deserializeBinary(bytes), details.getTypeName())
    ?.getMaxappendsize()
}

/** Returns the type of an error: `AccessDenied`, `StreamDeleted`, `Timeout`, …; empty if the error has no details. */
export const kindOf = (error: BatchAppendError): string =>
  error.getDetails()?.getTypeName().replace('event_store.client.', '') ?? ''
