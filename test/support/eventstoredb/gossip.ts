import { randomUUID } from 'node:crypto'
import type { sendUnaryData, ServerUnaryCall } from '@grpc/grpc-js'
import type { Endpoint } from './errors.ts'
import { features, gossip, shared } from './protocol.ts'

type Empty = InstanceType<typeof shared.Empty>
type Answer<Response> = (call: ServerUnaryCall<Empty, Response>, callback: sendUnaryData<Response>) => void

/** A node of the cluster, as gossip tells of it. */
export interface Member extends Endpoint {
  /** `LEADER`, if nothing is said. */
  readonly state?: keyof typeof gossip.MemberInfo.VNodeState
  readonly isAlive?: boolean
}

export const gossipOf =
  (members: () => readonly Member[]): Answer<InstanceType<typeof gossip.ClusterInfo>> =>
  (_, callback) => {
    const info = new gossip.ClusterInfo()
    for (const { host, port, state = 'LEADER', isAlive = true } of members())
      info.addMembers(
        new gossip.MemberInfo()
          .setInstanceId(new shared.UUID().setString(randomUUID()))
          .setTimeStamp(`${Date.now()}0000`)
          .setState(gossip.MemberInfo.VNodeState[state])
          .setIsAlive(isAlive)
          .setHttpEndPoint(new gossip.EndPoint().setAddress(host).setPort(port)),
      )
    callback(null, info)
  }

const streamsService = 'event_store.client.streams.streams'
const methods: Readonly<Record<string, readonly string[]>> = {
  read: ['position', 'events'],
  append: [],
  delete: [],
  tombstone: [],
  batchappend: ['deadline_duration'],
}

/** What the client asks before its first append: the server's methods and version. */
export const featuresOf =
  (version: string, hasBatchAppend: boolean): Answer<InstanceType<typeof features.SupportedMethods>> =>
  (_, callback) => {
    const supported = new features.SupportedMethods().setEventStoreServerVersion(version)
    for (const [name, list] of Object.entries(methods))
      if (hasBatchAppend || name !== 'batchappend')
        supported.addMethods(
          new features.SupportedMethod()
            .setServiceName(streamsService)
            .setMethodName(name)
            .setFeaturesList([...list]),
        )
    callback(null, supported)
  }
