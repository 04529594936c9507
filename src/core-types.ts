// The types of `palimpsest/core`, which `types.ts` also exports.

export type { Command, ConversationCommand, NewMessage } from './commands/command.ts'
export type { CommandRejection } from './commands/rejections.ts'
export type { CommandState } from './commands/state.ts'
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
  Workspace,
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
export type { ClippedField } from './projections/clip.ts'
export type { ConversationFacts } from './catalogue/list/conversation-facts.ts'
export type { BucketColumns, EventKind, MarkerOutline, OutlineColumns } from './projections/columns.ts'
export type { Diff, DiffChange } from './projections/diff.ts'
export type { Effective, Item, MessageItem, SummaryItem, TruncationItem } from './projections/effective.ts'
export type { Excerpt } from './projections/excerpts.ts'
export type { Entry, EntryState, EntryStatus, FullOptions } from './projections/full.ts'
export type {
  EntryVisibility,
  HiddenByMarker,
  MessageHit,
  MessageHits,
  TitleHit,
} from './projections/lookups.ts'
export type { Link, LinkedEntry, Note, NoteEntry, NotedEntry } from './projections/notes.ts'
export type { Log } from './projections/path.ts'
export type {
  DocumentSource,
  ImageSource,
  RenderOptions,
  RenderResult,
  RenderedMessage,
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
export type { TimelineEntry } from './projections/timeline.ts'
