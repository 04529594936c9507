// The renderer's public interface: everything of it that the rest of the library uses. The folder is copied for a new version (ADR 11),
// so files outside it import no other file of it.

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
