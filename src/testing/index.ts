// For tests: the contract of stores, and a strict stand-in for the Messages API. docs/testing.md.

export { type ContractCase, storeContract } from './contract.ts'
export { memoryStore } from '../store/memory/store.ts'
export type { EventStore } from '../store/port.ts'
export type { StoredEvent } from '../events/codec.ts'

export { messagesApi } from './messages-api/server.ts'
export type { MessagesApi, MessagesApiOptions, Received } from './messages-api/server.ts'
export { failures } from './messages-api/failures.ts'
export type { Failure as ApiFailure, Fault as ApiFault, Reply as ApiReply } from './messages-api/replies.ts'
export type { Body as ApiRequest, Model as ApiModel } from './messages-api/request.ts'
