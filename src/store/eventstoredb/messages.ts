import shared from '@eventstore/db-client/generated/shared_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import type { RecordedEvent } from '../port.ts'
import { unstamped } from './stamp.ts'

// The messages of the protocol (streams.proto of EventStoreDB), written and read by the client's generated code. Texts are sent as bytes:
// the client's own methods would parse and rewrite them, and not always to the same text.

type ReadReq = InstanceType<typeof streams.ReadReq>
type Options = InstanceType<typeof streams.ReadReq.Options>
export type ReadResp = InstanceType<typeof streams.ReadResp>
export type BatchAppendReq = InstanceType<typeof streams.BatchAppendReq>
export type BatchAppendResp = InstanceType<typeof streams.BatchAppendResp>
export type BatchAppendError = NonNullable<ReturnType<BatchAppendResp['getError']>>
type GoogleEmpty = NonNullable<
  Parameters<InstanceType<typeof streams.BatchAppendReq.Options>['setNoStream']>[0]
>

/** A place in `$all`. Commit and prepare position differ only in explicit transactions, which nobody uses. */
export interface Place {
  readonly commit: string
  readonly prepare: string
}

const identifier = (stream: string): InstanceType<typeof shared.StreamIdentifier> =>
  new shared.StreamIdentifier().setStreamName(Buffer.from(stream))
const empty = (): InstanceType<typeof shared.Empty> => new shared.Empty()

const readOptions = (isBackwards: boolean): Options =>
  new streams.ReadReq.Options()
    .setReadDirection(isBackwards ? 1 : 0)
    .setUuidOption(new streams.ReadReq.Options.UUIDOption().setString(empty()))

/** `from` undefined: the end. */
export const readStreamRequest = (
  stream: string,
  from: number | undefined,
  isBackwards: boolean,
  count: number,
): ReadReq => {
  const place = new streams.ReadReq.Options.StreamOptions().setStreamIdentifier(identifier(stream))
  if (from === undefined) place.setEnd(empty())
  else place.setRevision(String(from))
  const options = readOptions(isBackwards).setStream(place).setCount(String(count)).setNoFilter(empty())
  return new streams.ReadReq().setOptions(options)
}

/** The events of `$all` whose stream's name, or type, begins with one of these. */
export interface Filter {
  readonly on: 'stream' | 'type'
  readonly prefixes: readonly string[]
}

/** "All" streams are all but those of the server, of blobs, and of the store itself. */
const ofUsers = String.raw`^(?!\$|blob-|palimpsest-)`

/** `after` undefined: the start. A read begins at the place, a subscription after it. */
const allOptions = ({ on, prefixes }: Filter, after: Place | undefined, window: number): Options => {
  const all = new streams.ReadReq.Options.AllOptions()
  if (after === undefined) all.setStart(empty())
  else
    all.setPosition(
      new streams.ReadReq.Options.Position()
        .setCommitPosition(after.commit)
        .setPreparePosition(after.prepare),
    )
  const expression = new streams.ReadReq.Options.FilterOptions.Expression()
  if (prefixes.includes('')) expression.setRegex(ofUsers)
  else expression.setPrefixList([...prefixes])
  const filter = new streams.ReadReq.Options.FilterOptions().setMax(window).setCheckpointintervalmultiplier(1)
  if (on === 'stream') filter.setStreamIdentifier(expression)
  else filter.setEventType(expression)
  return readOptions(false).setAll(all).setFilter(filter)
}

/** After how many events that do not pass its filter a subscription sends a checkpoint. */
const checkpointWindow = 32
/** Events that the server searches at a time; then it serves others. */
const searchWindow = 2_048

/** The last event of the database, whoever wrote it. */
export const readLastRequest = (): ReadReq => {
  const all = new streams.ReadReq.Options.AllOptions().setEnd(empty())
  return new streams.ReadReq().setOptions(readOptions(true).setAll(all).setCount('1').setNoFilter(empty()))
}

export const readAllRequest = (filter: Filter, from: Place | undefined, count: number): ReadReq =>
  new streams.ReadReq().setOptions(allOptions(filter, from, searchWindow).setCount(String(count)))

/**
 * A subscription from the start is sent as one from 0, where there is no event: the server takes "the start" as -1, may report that as
 * a checkpoint, and then reports no other, because as an unsigned number none is larger.
 */
export const subscribeRequest = (filter: Filter, after: Place = start): ReadReq =>
  new streams.ReadReq().setOptions(
    allOptions(filter, after, checkpointWindow).setSubscription(
      new streams.ReadReq.Options.SubscriptionOptions(),
    ),
  )
const start: Place = { commit: '0', prepare: '0' }
/** -1 as an unsigned number. Resumed from it, the server begins at the end: events written since would never come. */
const minusOne = String(2n ** 64n - 1n)

/** An event to append. Data that is a text is JSON; bytes are not. */
export interface Proposed {
  readonly id: string
  readonly type: string
  readonly data: string | Uint8Array
  readonly metadata: string
}

/** `expected` -1: the stream must not exist. Has no deadline: the clocks of two machines differ. */
export const appendRequest = (
  correlationId: string,
  stream: string,
  expected: number | 'any',
  events: readonly Proposed[],
): BatchAppendReq => {
  const options = new streams.BatchAppendReq.Options().setStreamIdentifier(identifier(stream))
  // All empty messages are the same on the wire.
  const nothing: GoogleEmpty = empty()
  if (expected === 'any') options.setAny(nothing)
  else if (expected < 0) options.setNoStream(nothing)
  else options.setStreamPosition(String(expected))
  return new streams.BatchAppendReq()
    .setCorrelationId(new shared.UUID().setString(correlationId))
    .setOptions(options)
    .setProposedMessagesList(events.map(messageOf))
    .setIsFinal(true)
}

const messageOf = ({
  id,
  type,
  data,
  metadata,
}: Proposed): InstanceType<typeof streams.BatchAppendReq.ProposedMessage> => {
  const isText = typeof data === 'string'
  const message = new streams.BatchAppendReq.ProposedMessage()
    .setId(new shared.UUID().setString(id))
    .setData(isText ? Buffer.from(data) : data)
    .setCustomMetadata(Buffer.from(metadata))
  const contentType = isText ? 'application/json' : 'application/octet-stream'
  message.getMetadataMap().set('type', type).set('content-type', contentType)
  return message
}

/** An event as the server has it. */
export interface ServerEvent {
  readonly stream: string
  readonly revision: number
  readonly place: Place
  readonly id: string
  readonly type: string
  /** When the server wrote it, in milliseconds since 1970. */
  readonly created: number
  readonly data: Uint8Array
  readonly metadata: Uint8Array
}

/** Whether the server wrote the event itself, such as the tombstone of a stream. */
export const isOfServer = ({ type }: ServerEvent): boolean => type.startsWith('$')

/** .NET ticks in a millisecond. */
const ticks = 10_000

/** The event in a response; undefined if it holds something else. */
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

export const recordedOf = ({
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
  metadata: unstamped(textOf(metadata)),
})

export const checkpointOf = ({ commit, prepare }: Place): string => `${commit}/${prepare}`

/**
 * The place of a checkpoint; undefined if it is not of an EventStoreDB. Earlier releases issued -1 for the place before the first event:
 * that is the start.
 */
export const placeOf = (checkpoint: string): Place | undefined => {
  const [, commit, prepare] = /^(\d+)\/(\d+)$/.exec(checkpoint) ?? []
  if (commit === undefined || prepare === undefined) return undefined
  return commit === minusOne ? start : { commit, prepare }
}

/** How far a subscription has come, if the response says so. */
export const placeReached = (response: ReadResp): Place | undefined => {
  const reached = response.getCheckpoint()
  if (!reached || reached.getCommitPosition() === minusOne) return undefined
  return { commit: reached.getCommitPosition(), prepare: reached.getPreparePosition() }
}

/** A checkpoint right before an event has the event's commit position and a lower prepare position. */
export const isSamePlace = (one: Place, other: Place | undefined): boolean =>
  one.commit === other?.commit && one.prepare === other.prepare

/** The revision of the last event that an append wrote. */
export const revisionWritten = (response: BatchAppendResp): number =>
  Number(response.getSuccess()?.getCurrentRevision() ?? -1)

/** The stream's last revision that a `WrongExpectedVersion` names; undefined for any other error. */
export const actualRevision = (error: BatchAppendError): number | undefined => {
  const details = error.getDetails()
  if (details?.getTypeName() !== 'event_store.client.WrongExpectedVersion') return undefined
  const wrong = details.unpack(
    (bytes) => shared.WrongExpectedVersion.deserializeBinary(bytes),
    details.getTypeName(),
  )
  return wrong?.hasCurrentStreamRevision() ? Number(wrong.getCurrentStreamRevision()) : -1
}

/** The most bytes of an append that a `MaximumAppendSizeExceeded` names; undefined for any other error. */
export const appendLimit = (error: BatchAppendError): number | undefined => {
  const details = error.getDetails()
  if (details?.getTypeName() !== 'event_store.client.MaximumAppendSizeExceeded') return undefined
  return details
    .unpack((bytes) => shared.MaximumAppendSizeExceeded.deserializeBinary(bytes), details.getTypeName())
    ?.getMaxappendsize()
}

/** `AccessDenied`, `StreamDeleted`, `Timeout`, …; empty if the error names no kind. */
export const kindOf = (error: BatchAppendError): string =>
  error.getDetails()?.getTypeName().replace('event_store.client.', '') ?? ''
