// The library with TaskEithers instead of promises, and all of `palimpsest/core`.

import './needed-node.ts'

export type * from './types.ts'
export type { TaskStore as Store } from './api/store.ts'
export type { TaskConversation as Conversation } from './api/conversation.ts'
export type { TaskWorker as Worker } from './agent/workers/create-worker.ts'
export { openStore } from './api/open.ts'
export { registerStore } from './api/schemes.ts'
export { registerFormat } from './transfer/formats/registry.ts'
export { copyConversations } from './api/copy-conversations.ts'
export { isError } from './api/errors.ts'

export * from './core.ts'

export { resultReader } from './agent/turn/results/result-reader.ts'
export { mcpTools } from './agent/tools/mcp.ts'
export { tool } from './agent/tools/tool.ts'
export { countTokens } from './agent/context/tokens/tokens.ts'
export { manageContext } from './agent/context/policy/policy.ts'
export { condenseWith } from './agent/context/summary/condense.ts'
export { receiptOf } from './agent/receipts/receipt.ts'
export { currentRenderer, requestOf } from './agent/receipts/request.ts'
export { summarizer } from './agent/context/summary/summarizer.ts'
export { requestOfSummary } from './agent/receipts/summary-request.ts'
export { anthropicModel } from './agent/models/anthropic/model.ts'
export { openAiModel } from './agent/models/openai/model.ts'
export { prices, pricesAsOf } from './agent/models/prices.ts'
