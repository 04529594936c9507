import { createRequire } from 'node:module'
import gossip from '@eventstore/db-client/generated/gossip_pb.js'
import gossipServices from '@eventstore/db-client/generated/gossip_grpc_pb.js'
import features from '@eventstore/db-client/generated/serverfeatures_pb.js'
import featuresServices from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import status from '@eventstore/db-client/generated/status_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import streamsServices from '@eventstore/db-client/generated/streams_grpc_pb.js'

// The messages and services of the protocol, from the code that the client itself is made of.
export { features, gossip, shared, status, streams }
export const { StreamsService } = streamsServices
export const { GossipService } = gossipServices
export const { ServerFeaturesService } = featuresServices

type WrongExpectedVersion = InstanceType<typeof shared.WrongExpectedVersion>
type Status = InstanceType<typeof status.Status>
type GoogleEmpty = NonNullable<Parameters<WrongExpectedVersion['setExpectedAny']>[0]>
type Any = NonNullable<Parameters<Status['setDetails']>[0]>

// Google's own types are the client's dependency, not ours.
const ofClient = createRequire(createRequire(import.meta.url).resolve('@eventstore/db-client'))
const wellKnown = (name: string): unknown => ofClient(`google-protobuf/google/protobuf/${name}_pb.js`)
const { Any: AnyMessage } = wellKnown('any') as { readonly Any: new () => Any }
const { Empty: EmptyMessage } = wellKnown('empty') as { readonly Empty: new () => GoogleEmpty }

export const empty = (): InstanceType<typeof shared.Empty> => new shared.Empty()
export const googleEmpty = (): GoogleEmpty => new EmptyMessage()

/** A message inside an `Any`, by its full name. */
export const packed = (message: { serializeBinary: () => Uint8Array }, name: string): Any => {
  const any = new AnyMessage()
  any.pack(message.serializeBinary(), name)
  return any
}

export const identifier = (stream: string): InstanceType<typeof shared.StreamIdentifier> =>
  new shared.StreamIdentifier().setStreamName(Buffer.from(stream))

export const nameOf = (of: InstanceType<typeof shared.StreamIdentifier> | undefined): string =>
  Buffer.from(of?.getStreamName_asU8() ?? []).toString()
