import shared from '@eventstore/db-client/generated/shared_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import { type LogPosition, start } from './responses.ts'

// Requests to the server (streams.proto of EventStoreDB), built with the client's generated code. Texts are sent as bytes, because the
// client's own methods would parse and rewrite them, and not always to the same text.

type ReadReq = InstanceType<typeof streams.ReadReq>
type Options = InstanceType<typeof streams.ReadReq.Options>
export type BatchAppendReq = InstanceType<typeof streams.BatchAppendReq>
type GoogleEmpty = NonNullable<
  Parameters<InstanceType<typeof streams.BatchAppendReq.Options>['setNoStream']>[0]
>

const identifier = (stream: string): InstanceType<typeof shared.StreamIdentifier> =>
  new shared.StreamIdentifier().setStreamName(Buffer.from(stream))
const empty = (): InstanceType<typeof shared.Empty> => new shared.Empty()

const readOptions = (isBackwards: boolean): Options =>
  new streams.ReadReq.Options()
    .setReadDirection(isBackwards ? 1 : 0)
    .setUuidOption(new streams.ReadReq.Options.UUIDOption().setString(empty()))

/** Builds a request to read a stream; it starts at the end if `from` is undefined. */
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

/** Filter that selects the events of `$all` whose stream name, or type, begins with one of the prefixes. */
export interface PrefixFilter {
  readonly on: 'stream' | 'type'
  readonly prefixes: readonly string[]
}

/** Pattern for the names of user streams, which excludes streams of the server, of blobs, and of the store itself. */
const ofUsers = String.raw`^(?!\$|blob-|palimpsest-)`

/**
 * Builds the options for reading `$all`, from the start if `after` is undefined. A read includes the event at `after`; a subscription
 * begins after that event.
 */
const allOptions = (
  { on, prefixes }: PrefixFilter,
  after: LogPosition | undefined,
  window: number,
): Options => {
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

/** Number of non-matching events after which a subscription sends a checkpoint. */
const checkpointWindow = 32
/** Number of events that the server searches before it serves other requests. */
const searchWindow = 2_048

/** Builds a request for the last event in the database, from any writer. */
export const readLastRequest = (): ReadReq => {
  const all = new streams.ReadReq.Options.AllOptions().setEnd(empty())
  return new streams.ReadReq().setOptions(readOptions(true).setAll(all).setCount('1').setNoFilter(empty()))
}

export const readAllRequest = (filter: PrefixFilter, from: LogPosition | undefined, count: number): ReadReq =>
  new streams.ReadReq().setOptions(allOptions(filter, from, searchWindow).setCount(String(count)))

/**
 * Builds a subscription request. A subscription from the start is sent as a subscription from 0, where no event exists, because the
 * server represents the start as -1 and may report -1 as a checkpoint. It would then report no other checkpoint, because -1 as an
 * unsigned number is the largest.
 */
export const subscribeRequest = (filter: PrefixFilter, after: LogPosition = start): ReadReq =>
  new streams.ReadReq().setOptions(
    allOptions(filter, after, checkpointWindow).setSubscription(
      new streams.ReadReq.Options.SubscriptionOptions(),
    ),
  )

/** Builds a request to soft-delete a stream, provided that its last revision is `revision`. */
export const deleteRequest = (stream: string, revision: number): InstanceType<typeof streams.DeleteReq> =>
  new streams.DeleteReq().setOptions(
    new streams.DeleteReq.Options().setStreamIdentifier(identifier(stream)).setRevision(String(revision)),
  )

/** An event to append. A string as data is sent as JSON, bytes as binary content. */
export interface ProposedEvent {
  readonly id: string
  readonly type: string
  readonly data: string | Uint8Array
  readonly metadata: string
}

/**
 * Builds an append request. If `expected` is -1, the stream must not exist. The request has no deadline, because the clocks of client
 * and server may differ.
 */
export const appendRequest = (
  correlationId: string,
  stream: string,
  expected: number | 'any',
  events: readonly ProposedEvent[],
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
}: ProposedEvent): InstanceType<typeof streams.BatchAppendReq.ProposedMessage> => {
  const isText = typeof data === 'string'
  const message = new streams.BatchAppendReq.ProposedMessage()
    .setId(new shared.UUID().setString(id))
    .setData(isText ? Buffer.from(data) : data)
    .setCustomMetadata(Buffer.from(metadata))
  const contentType = isText ? 'application/json' : 'application/octet-stream'
  message.getMetadataMap().set('type', type).set('content-type', contentType)
  return message
}
