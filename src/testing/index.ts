// For tests: the contracts of stores and models, and strict stand-ins for the Messages API, Chat Completions and the Responses API.
// docs/testing.md.

export { type ContractCase, storeContract } from './contract.ts'
export { type ModelAnswer, type ModelCase, modelContract, type ModelScene } from './model-contract.ts'
export { memoryStore } from '../store/memory/store.ts'
export type { EventStore, StoreAdapter } from '../store/port.ts'
export type { StoredEvent } from '../events/codec.ts'

export { messagesApi } from './messages-api/server.ts'
export type { MessagesApi, MessagesApiOptions, ApiExchange } from './messages-api/server.ts'
export { failures } from './messages-api/failures.ts'
export type { ApiFailure, Fault as ApiFault, ApiReply } from './messages-api/replies.ts'
export type { ApiRequest, ApiModel } from './messages-api/request.ts'

export { chatCompletions } from './chat-completions/server.ts'
export type { ChatCompletions, ChatCompletionsOptions, ChatExchange } from './chat-completions/server.ts'
export { chatFailures } from './chat-completions/failures.ts'
export type { ChatFault, ChatReply } from './chat-completions/replies.ts'
export type { ChatRequest, ChatFailure, ChatModel } from './chat-completions/body.ts'

export { responsesApi } from './responses-api/server.ts'
export type {
  ResponseItem,
  ResponsesApi,
  ResponsesApiOptions,
  ResponsesExchange,
  ResponsesReply,
  ResponsesRequest,
} from './responses-api/server.ts'
