// The renderer's face: everything that the rest of the library reads of it. The folder is copied for a new version (ADR 11), so
// nothing outside imports another file of it.

export { type RenderResult, render, renderInSlices as rendering, type RenderOptions } from './render.ts'
export type { Repair } from './repairs.ts'
export type {
  DocumentSource,
  ImageSource,
  RequestBlock,
  RequestDocument,
  RequestImage,
  RequestMessage,
  RequestRedactedThinking,
  RequestText,
  RequestThinking,
  RequestTool,
  RequestToolResult,
  RequestToolUse,
} from './request-types.ts'
export { type RenderedMessage, type Utterance, utterancesIn } from './utterances.ts'
export { prefixUnchanged } from './thinking.ts'
export { toolsOf } from './tools.ts'
export { callersIn, pairServerTools } from './server-tools.ts'
export {
  clean,
  isCompaction,
  isResultType,
  isServerResult,
  isServerUse,
  isThinking,
  wellFormed,
} from './clean.ts'
