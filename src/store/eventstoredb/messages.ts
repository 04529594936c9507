import shared from '@eventstore/db-client/generated/shared_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import type { RecordedEvent } from '../port.ts'
import { unstamped } from './stamp.ts'

// The messages of the protocol (streams.proto of EventStoreDB), made and read by the client's generated code. Texts go as bytes: what
// the client's own methods parse and write anew need not come back as it was.

type ReadReq = InstanceType<typeof streams.ReadReq>
type Options = InstanceType<typeof streams.ReadReq.Options>
export type ReadResp = InstanceType<typeof streams.ReadResp>
export type BatchAppendReq = InstanceType<typeof streams.BatchAppendReq>
export type BatchAppendResp = InstanceType<typeof streams.BatchAppendResp>
export type BatchAppendError = NonNullable<ReturnType<BatchAppendResp['getError']>>
type GoogleEmpty = NonNullable<
  Parameters<InstanceType<typeof streams.BatchAppendReq.Options>['setNoStream']>[0]
>

/** A place in `$all`; commit and prepare position are the same without explicit transactions, which nobody makes. */
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

/** Which events of `$all`: those of streams, or of types, whose names begin with one of these. */
export interface Filter {
  readonly on: 'stream' | 'type'
  readonly prefixes: readonly string[]
}

/** Streams of the server itself, those of blobs, and of the store's own: never meant by "all". */
const ofUsers = String.raw`^(?!\$|blob-|palimpsest-)`

/** `after` undefined: the start. A read begins at the place, a subscription behind it. */
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

/** Events that a subscription looks through between two checkpoints, if none of them is asked for. */
const checkpointWindow = 32
/** Events that the server looks through in one go: each one has it wait its turn. */
const searchWindow = 2_048

/** The last event there is, whosever. */
export const readLastRequest = (): ReadReq => {
  const all = new streams.ReadReq.Options.AllOptions().setEnd(empty())
  return new streams.ReadReq().setOptions(readOptions(true).setAll(all).setCount('1').setNoFilter(empty()))
}

export const readAllRequest = (filter: Filter, from: Place | undefined, count: number): ReadReq =>
  new streams.ReadReq().setOptions(allOptions(filter, from, searchWindow).setCount(String(count)))

/**
 * From the start it is sent from 0, where no event is: from "the start" the server begins at -1, tells that as a checkpoint if it has
 * caught up before any other, and tells no other then, as none is larger.
 */
export const subscribeRequest = (filter: Filter, after: Place = start): ReadReq =>
  new streams.ReadReq().setOptions(
    allOptions(filter, after, checkpointWindow).setSubscription(
      new streams.ReadReq.Options.SubscriptionOptions(),
    ),
  )
const start: Place = { commit: '0', prepare: '0' }
/** -1 in unsigned numbers. Resumed from it, the server begins at the end, and what was written since never comes. */
const minusOne = String(2n ** 64n - 1n)

/** An event to append: a text is JSON, bytes are not. */
export interface Proposed {
  readonly id: string
  readonly type: string
  readonly data: string | Uint8Array
  readonly metadata: string
}

/** `expected` -1: the stream must not be there. Without a deadline: the clocks of two machines differ. */
export const appendRequest = (
  correlationId: string,
  stream: string,
  expected: number | 'any',
  events: readonly Proposed[],
): BatchAppendReq => {
  const options = new streams.BatchAppendReq.Options().setStreamIdentifier(identifier(stream))
  // On the wire all empty messages are the same.
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

/** Whether the server wrote it itself, as it does when a stream is deleted for ever. */
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
 * The place of a checkpoint; undefined if it is none of this kind of store. Earlier releases handed out -1 before any event: that is
 * the start.
 */
export const placeOf = (checkpoint: string): Place | undefined => {
  const [, commit, prepare] = /^(\d+)\/(\d+)$/.exec(checkpoint) ?? []
  if (commit === undefined || prepare === undefined) return undefined
  return commit === minusOne ? start : { commit, prepare }
}

/** How far a subscription has looked, where it says so. */
export const placeReached = (response: ReadResp): Place | undefined => {
  const reached = response.getCheckpoint()
  if (!reached || reached.getCommitPosition() === minusOne) return undefined
  return { commit: reached.getCommitPosition(), prepare: reached.getPreparePosition() }
}

/** A checkpoint may stand right before an event: it has its commit position then, and a lower prepare position. */
export const isSamePlace = (one: Place, other: Place | undefined): boolean =>
  one.commit === other?.commit && one.prepare === other.prepare

/** The revision of the last event that an append wrote. */
export const revisionWritten = (response: BatchAppendResp): number =>
  Number(response.getSuccess()?.getCurrentRevision() ?? -1)

/** The last revision of a stream as a refusal names it; undefined if the error is another. */
export const actualRevision = (error: BatchAppendError): number | undefined => {
  const details = error.getDetails()
  if (details?.getTypeName() !== 'event_store.client.WrongExpectedVersion') return undefined
  const wrong = details.unpack(
    (bytes) => shared.WrongExpectedVersion.deserializeBinary(bytes),
    details.getTypeName(),
  )
  return wrong?.hasCurrentStreamRevision() ? Number(wrong.getCurrentStreamRevision()) : -1
}

/** The most bytes of an append, as a refusal names them. */
export const appendLimit = (error: BatchAppendError): number | undefined => {
  const details = error.getDetails()
  if (details?.getTypeName() !== 'event_store.client.MaximumAppendSizeExceeded') return undefined
  return details
    .unpack((bytes) => shared.MaximumAppendSizeExceeded.deserializeBinary(bytes), details.getTypeName())
    ?.getMaxappendsize()
}

/** `AccessDenied`, `StreamDeleted`, `Timeout`, …; empty where an error says nothing of the kind. */
export const kindOf = (error: BatchAppendError): string =>
  error.getDetails()?.getTypeName().replace('event_store.client.', '') ?? ''
