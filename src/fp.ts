// The library as values: TaskEithers instead of promises, and all of `palimpsest/core`.

import './needed-node.ts'

export { openStore } from './api/open.ts'
export { registerStore } from './api/schemes.ts'
export { registerFormat } from './formats/registry.ts'
export { copyConversations } from './api/copy-conversations.ts'
export type { StoreOptions } from './api/open.ts'
export type { FollowConversations, FollowedEvent, Store, StreamedEvent } from './api/store.ts'
export type { Conversation } from './conversation/conversation.ts'
export type { EventsOptions } from './conversation/following.ts'
export type {
  At,
  DiffOptions,
  End,
  Entries,
  FullWithNotes,
  FullWithoutNotes,
  VerifyOptions,
} from './conversation/reading.ts'
export type {
  AppendAfterRewind,
  AppendHere,
  AppendOnBranch,
  AppendOptions,
  CondenseByPositions,
  CondenseByShare,
  CondenseInput,
  ConfigureInput,
  MessageInput,
  RestoreInput,
  RewindBeforeMessage,
  RewindInput,
  RewindToPosition,
  RewindTurns,
  SaidInput,
  SliceByPositions,
  SliceByShare,
  SystemInput,
  TruncateByPositions,
  TruncateByShare,
  TruncateInput,
  UndoInput,
  WriteOptions,
} from './conversation/inputs.ts'
export type { OpenStepInfo, StepsOptions, StepState } from './workers/listing.ts'
export type { Roster, RosterOptions, WorkerInfo } from './workers/roster.ts'
export type { AnswerRequest, RequestError, TurnFactsOptions, UnparkOptions } from './workers/requests.ts'
export type { WorkerEnded } from './workers/draining.ts'
export type { ServedEvent } from './workers/give.ts'
export type { Worker } from './workers/serving.ts'
export type { Served, WorkerOptions } from './workers/worker-options.ts'
export { requesting } from './workers/requests.ts'
export type { StepTaken } from './workers/runs.ts'
export type { CopyConversations } from './api/copy-conversations.ts'
export type { Copied } from './jobs/copy.ts'
export type { CopyError } from './jobs/copy-stream.ts'
export type { LinkToConversation, LinkToRef, NewLink, NewNote } from './conversation/new-notes.ts'
export type { LinksOptions } from './conversation/noting.ts'
export type { NotesOptions } from './history/note-reader.ts'
export type {
  AppendError,
  ConfigureError,
  ForkError,
  HideError,
  NoteError,
  ReadError,
  RestoreError,
  RewindError,
  StoreError,
  UndoError,
  WriteError,
} from './store/errors.ts'
export type { ImportError } from './formats/errors.ts'
export type { SessionFile } from './formats/parse-session.ts'
export type { SessionStream } from './jobs/read-session.ts'
export type { Format, ImportReport, Step } from './formats/plan.ts'
export type { FormatTaken, SessionConversation, SessionFormat } from './formats/registry.ts'
export type { ImportOptions } from './jobs/import.ts'
export type { Imported } from './jobs/imported.ts'
export type { Collected, GcOptions } from './jobs/gc.ts'
export type { BackedUp, BackupOptions, BlobInfo } from './store/port.ts'
export type {
  AllPage,
  AllRange,
  Append,
  Appended,
  Blobs,
  Changed,
  EventStore,
  Followed,
  FollowOptions,
  Found,
  Range,
  RecordedEvent,
  KeptEnd,
} from './store/port.ts'
export type { StoredEvent } from './events/codec.ts'
export type { Finding } from './store/diagnosis.ts'
export type { OpenEventStore, SchemeTaken, UnknownScheme } from './store/schemes.ts'
export { isError } from './api/errors.ts'
export type { PalimpsestError, ErrorOf } from './api/errors.ts'
export type { OpenError } from './api/schemes.ts'
export type { BackupError } from './jobs/backup.ts'
export type {
  BranchesPage,
  BucketsPage,
  CallsOptions,
  Catalogue,
  EntryFate,
  FatesOptions,
  FindFilter,
  FindPage,
  OutlineOptions,
  OutlinePage,
  OverviewOptions,
  SearchOptions,
  SearchPage,
} from './catalogue/port.ts'
export type { CallsPage } from './catalogue/calls.ts'
export type { Abandoned, ForkedOff } from './catalogue/branches.ts'
export type { HiddenByMarker, Hit, TitleHit } from './projections/lookups.ts'
export type {
  Audit,
  AuditFinding,
  AuditOptions,
  RotateOptions,
  SealerOptions,
  SealOptions,
  StatusOptions,
} from './ledger/audit.ts'
export type { ExportRecord, RecordedExport } from './ledger/exports.ts'
export type { Anchored } from './ledger/anchoring.ts'
export type { Anchor, Anchoring } from './ledger/anchors.ts'
export type { BeginOptions, LedgerKey } from './ledger/begin.ts'
export type { BeginError, LedgerError, ProofError, SealError } from './ledger/errors.ts'
export type { Signer } from './ledger/keys.ts'
export type { LedgerProof, ProofKey } from './ledger/prove.ts'
export type { SealedNow, Unsealable } from './ledger/seal.ts'
export type { SealerEvent } from './ledger/sealer.ts'
export type { LedgerStanding, SealedHead } from './ledger/standing.ts'
export type { AnchorStatus, LedgerStatus } from './ledger/status.ts'
export type { AuditDone } from './ledger/auditing.ts'
export type { PatrolEvent, PatrolOptions, PatrolRound } from './ledger/patrol.ts'
export type { AuditProblem } from './ledger/verify.ts'
export type { ListOptions } from './jobs/listed.ts'
export type { Overview } from './jobs/glance.ts'
export type { PlacedEvent } from './history/stored.ts'
export type { Discrepancy, Verified } from './jobs/verify.ts'
export type { Written, WrittenEvent } from './history/encode.ts'
export type { Checkpoint } from './store/port.ts'

export { type DocumentOptions, exportDocument, type WrittenDocument } from './evidence/document.ts'
export { type Evidence, exportEvidence } from './evidence/export.ts'
export type { EvidenceError } from './evidence/source.ts'
export type { EvidenceOptions } from './evidence/options.ts'
export { modelCalls, type ReceiptsVerified, verifyReceipts } from './receipts/audit.ts'
export type { ReceiptFinding } from './receipts/finding.ts'
export { type SentCall, sentCall } from './receipts/sent.ts'
export type { ModelCall, UnprovenCall } from './receipts/calls.ts'

export * from './core.ts'

export { streams, turns } from './turn/turns.ts'
export { cancelling } from './turn/say/cancel.ts'
export { queuedIn, saying } from './turn/say/say.ts'
export type { CancelError, CancelOptions } from './turn/say/cancel.ts'
export type { QueuedMessages, Said, SayError, SayOptions } from './turn/say/say.ts'
export { resultReader } from './turn/results/result-reader.ts'
export type { ResultReader } from './turn/results/result-reader.ts'
export { mcpTools } from './tools/mcp.ts'
export type { McpClient, McpTool } from './tools/mcp-client.ts'
export type { McpError, McpFailed, McpOptions } from './tools/mcp.ts'
export type { ToolNameTaken } from './tools/mcp-names.ts'
export { tool } from './tools/tool.ts'
export { tokensOf } from './context/tokens/count.ts'
export { countTokens } from './context/tokens/tokens.ts'
export { manageContext } from './context/policy/policy.ts'
export { condenseWith } from './context/summary/condense.ts'
export { receiptOf } from './receipts/receipt.ts'
export { currentRenderer, requestOf, type Requested } from './receipts/request.ts'
export { summarizer } from './context/summary/summarizer.ts'
export { requestOfSummary } from './receipts/summary-request.ts'
export { anthropicModel } from './models/anthropic/model.ts'
export type { AnthropicClient, AnthropicOptions } from './models/anthropic/model.ts'
export { openAiModel } from './models/openai/model.ts'
export type { ChatForm } from './models/form.ts'
export type { OpenAiClient } from './models/openai/client.ts'
export type { OpenAiOptions } from './models/openai/model.ts'
export type { Counted, CountOptions } from './context/tokens/count.ts'
export type { FailedCall, Model, ModelError, ModelRequest, Reply, ReplyEvent } from './models/model.ts'
export type { ContextSettings } from './context/policy/settings.ts'
export type {
  Summarized,
  Summarizer,
  SummarizerSettings,
  SummaryInput,
} from './context/summary/summarizer.ts'
export type { Effect, ToolCall, ToolContext, ToolFunction, Tools, ToolSettings } from './tools/settings.ts'
export type { Tool, ToolDefinition, ToolOptions } from './tools/tool.ts'
export type { OutputOf, StandardSchema } from './tools/standard-schema.ts'
export type { TokenCount } from './context/tokens/tokens.ts'
export type { DoneEvent, TurnEvent } from './turn/streamed.ts'
export type {
  CondensedEvent,
  ReplyRecordedEvent,
  HeldEvent,
  RetryingEvent,
  TextEvent,
  ThinkingEvent,
  ToolEndedEvent,
  ToolFailedEvent,
  ToolInputEvent,
  ToolProgressEvent,
  ToolRun,
  ToolStartedEvent,
  TruncatedEvent,
  WaitingCall,
  WaitingEvent,
} from './turn/stream/turn-event.ts'
export type { ModelUsage, TurnUsage } from './turn/spending/account.ts'
export type { Budget } from './turn/spending/budget.ts'
export { prices, pricesAsOf } from './turn/spending/prices.ts'
export type { Price, Prices, Rates } from './turn/spending/prices.ts'
export type { Usage } from './turn/spending/usage.ts'
export type { NextStep, StepSettings, StopWhen, TurnStep } from './turn/turn-step.ts'
export type { Turned, TurnError } from './turn/turned.ts'
export type { WaitOptions } from './turn/calls/calls.ts'
export { deciding } from './turn/calls/decisions.ts'
export type {
  Approval,
  Awaited,
  Decided,
  DecisionError,
  Denial,
  Withdrawal,
  WithdrawalError,
} from './turn/calls/decisions.ts'
export type { SomeOf, TurnOptions } from './turn/options.ts'
export type { RequestOptions } from './receipts/request.ts'
