// The renderer's face: everything that the rest of the library reads of it. The folder is copied for a new version (ADR 11), so
// nothing outside imports another file of it.

export { type Rendered, render, rendering, type RenderOptions } from './render.ts'
export type { Repair } from './repairs.ts'
export { type RenderedMessage, utterancesIn } from './utterances.ts'
export { prefixUnchanged } from './thinking.ts'
export { toolCalls } from './calls.ts'
export { toolsOf } from './tools.ts'
export type { ToolCall } from './waiting.ts'
export { isCompaction, isResultType, isServerResult, isServerUse, isThinking, wellFormed } from './clean.ts'
