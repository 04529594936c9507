// The core that everything rests on: functions of events alone, without a store, a driver or an SDK; some remember what they have
// computed. It runs wherever zod, fp-ts and node:crypto do.

export { decide } from './commands/decide.ts'
export { stateOf } from './commands/state.ts'
export type { Command, ConversationCommand, NewMessage } from './commands/command.ts'
export type { CommandRejection } from './commands/rejections.ts'
export type { CommandState } from './commands/state.ts'

export { blocksOf, clippedEvent, clippedItem } from './projections/clip.ts'
export { diff } from './projections/diff.ts'
export { effective, messagesOf, sliceOf } from './projections/effective.ts'
export { foundIn } from './projections/found.ts'
export { configurationsAt, full } from './projections/full.ts'
export { path, resolve } from './projections/path.ts'
export { render } from './projections/render/renderer.ts'
export type {
  DocumentSource,
  ImageSource,
  RenderResult,
  RenderedMessage,
  RenderOptions,
  Repair,
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
} from './projections/render/renderer.ts'
export { timeline } from './projections/timeline.ts'
export type { ClippedField } from './projections/clip.ts'
export type { BucketColumns, EventKind, MarkerOutline, OutlineColumns } from './projections/columns.ts'
export type { DiffChange, Diff } from './projections/diff.ts'
export type { Effective, Item, MessageItem, SummaryItem, TruncationItem } from './projections/effective.ts'
export type { Excerpt } from './projections/found.ts'
export type { Entry, EntryState, FullOptions, EntryStatus } from './projections/full.ts'
export type {
  HiddenByMarker,
  MessageHit,
  MessageHits,
  TitleHit,
  EntryVisibility,
} from './projections/lookups.ts'
export type { Log } from './projections/path.ts'
export type { Link, LinkedEntry, Note, NotedEntry, NoteEntry } from './projections/notes.ts'
export type { TimelineEntry } from './projections/timeline.ts'

export { contentOf, START } from './events/events.ts'
export type {
  AnyBlock,
  Block,
  BlockInput,
  CompactionBlock,
  DocumentBlock,
  ImageBlock,
  KnownBlocks,
  RedactedThinkingBlock,
  TextBlock,
  ThinkingBlock,
  ToolResultBlock,
  ToolUseBlock,
  UncheckedBlock,
  UnknownBlock,
} from './events/block-types.ts'
export { unknownBlock } from './events/blocks.ts'
export type {
  CondensedData,
  Configuration,
  Container,
  Covers,
  EventData,
  ForkedData,
  ForkedFrom,
  MessageAppendedData,
  Metadata,
  Origin,
  Policy,
  Receipt,
  RestoredData,
  RewoundData,
  Role,
  TokenChange,
  TruncatedData,
  View,
} from './events/event-types.ts'
export type {
  Actor,
  ConversationEvent,
  ConversationEventOf,
  Event,
  EventOf,
  EventType,
  Message,
} from './events/events.ts'
