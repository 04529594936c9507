// The types that `palimpsest` and `palimpsest/fp` share; each adds its own `Store`, `Conversation` and `Worker`.

export type * from './core-types.ts'
export type { ContextSettings } from './agent/context/policy/settings.ts'
export type {
  Summarizer,
  SummarizerSettings,
  SummaryInput,
  SummaryResult,
} from './agent/context/summary/summarizer.ts'
export type { CountOptions, TokenReport } from './agent/context/tokens/count.ts'
export type { TokenCount } from './agent/context/tokens/tokens.ts'
export type { AnthropicClient, AnthropicOptions } from './agent/models/anthropic/model.ts'
export type { ChatForm } from './agent/models/form.ts'
export type { FailedCall, Model, ModelError, ModelRequest, Reply, ReplyEvent } from './agent/models/model.ts'
export type { OpenAiClient } from './agent/models/openai/client.ts'
export type { OpenAiOptions } from './agent/models/openai/model.ts'
export type { ReceiptVerification } from './agent/receipts/audit.ts'
export type { ModelCall, UnprovenCall } from './agent/receipts/calls.ts'
export type { ReceiptFinding } from './agent/receipts/finding.ts'
export type { RenderedRequest, RequestOptions } from './agent/receipts/request.ts'
export type { SentCall } from './agent/receipts/sent-call.ts'
export type { HistorySource, HistoryToolsOptions } from './agent/turn/results/history-tools.ts'
export type { McpClient, McpTool } from './agent/tools/mcp-client.ts'
export type { ToolNameTaken } from './agent/tools/mcp-names.ts'
export type { McpError, McpFailed, McpOptions } from './agent/tools/mcp.ts'
export type {
  ToolCall,
  ToolContext,
  ToolEffect,
  ToolFunction,
  ToolSettings,
  Tools,
} from './agent/tools/settings.ts'
export type { OutputOf, StandardSchema } from './agent/tools/standard-schema.ts'
export type { Tool, ToolDefinition, ToolOptions } from './agent/tools/tool.ts'
export type {
  Approval,
  AwaitedCall,
  CallDecision,
  CallWithdrawal,
  DecisionError,
  Denial,
  WithdrawalError,
} from './agent/turn/calls/decisions.ts'
export type { SomeOf, StepSettings, TurnOptions, WaitOptions } from './agent/turn/options.ts'
export type { ResultReader } from './agent/turn/results/result-reader.ts'
export type {
  CannotRelease,
  CoveringLegalHold,
  ErasureReport,
  HoldOptions,
  ReleaseError,
} from './api/erase.ts'
export type {
  RetentionRunError,
  RetentionRunOptions,
  CannotApplyRetention,
  NewRetentionRule,
  RetentionMethods,
  RetentionError,
  RetentionReport,
  RetainedConversation,
} from './api/retention.ts'
export type { RetentionRule } from './conversation/beside/retention-log.ts'
export type { RetentionPeriod } from './events/retention-events.ts'
export type { LegalHold, OldestLegalHold } from './conversation/beside/hold.ts'
export type { CannotErase, EraseError, EraseOptions, ErasedContent } from './conversation/writing/erase.ts'
export type { CancelError, CancelOptions } from './agent/turn/say/cancel.ts'
export type { QueuedMessages, SayError, SayOptions, SayResult } from './agent/turn/say/say.ts'
export type { ModelUsage, TurnUsage } from './agent/turn/spending/account.ts'
export type { Budget } from './agent/turn/spending/budget.ts'
export type { Price, Prices, TokenRates } from './agent/models/prices.ts'
export type { Usage } from './agent/models/usage.ts'
export type {
  CondensedEvent,
  HeldEvent,
  ReplyRecordedEvent,
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
} from './agent/turn/stream/turn-event.ts'
export type { DoneEvent, TurnEvent } from './agent/turn/stream-turn.ts'
export type { NextStep, StopWhen, TurnStep } from './agent/turn/turn-step.ts'
export type { TurnError, TurnResult } from './agent/turn/turn-result.ts'
export type { WorkerExit } from './agent/workers/serving/worker.ts'
export type { ServedEvent } from './agent/workers/serving/give.ts'
export type { HoldReason } from './agent/workers/choosing/tenant-status.ts'
export type { OpenStepInfo, StepState, StepsOptions } from './agent/workers/peers/roster.ts'
export type { WorkerError, WorkerNotFound } from './agent/workers/requests.ts'
export type { BudgetPeriod, TenantBudget, TenantPolicy, WorkPolicy } from './agent/workers/choosing/policy.ts'
export type {
  AnswerRequest,
  PauseOptions,
  RequestError,
  ResumeOptions,
  TurnFactsOptions,
  RetryOptions,
} from './agent/workers/requests.ts'
export type { Roster, RosterOptions, WorkerInfo } from './agent/workers/peers/roster.ts'
export type { AttemptReport } from './agent/workers/serving/shift.ts'
export type { ServedConversation, WorkerOptions } from './agent/workers/create-worker.ts'
export type { CopyConversations } from './api/copy-conversations.ts'
export type { ErrorOf, PalimpsestError } from './api/errors.ts'
export type { RewindHooks, RewindStep } from './conversation/writing/handle.ts'
export type { StoreOptions } from './api/open.ts'
export type { OpenError } from './api/schemes.ts'
export type { FollowConversations, FollowedEvent, StreamedEvent } from './api/store.ts'
export type { DocumentOptions, WrittenDocument } from './audit/evidence/document.ts'
export type { ClientSessionOptions } from './transfer/client-session.ts'
export type { OriginalFile, OriginalNotKept } from './conversation/reading/original.ts'
export type { SessionExport } from './transfer/formats/sessions/write-session.ts'
export type { SessionLoss } from './transfer/formats/sessions/session-loss.ts'
export type { Evidence } from './audit/evidence/export.ts'
export type { EvidenceOptions } from './audit/evidence/options.ts'
export type { EvidenceError } from './audit/evidence/source.ts'
export type { AnchorResult } from './audit/ledger/check-anchors.ts'
export type { Anchor, AnchorRequest } from './audit/ledger/anchors.ts'
export type {
  Audit,
  AuditFinding,
  AuditOptions,
  RotateOptions,
  SealOptions,
  SealerOptions,
  StatusOptions,
} from './audit/ledger/audit.ts'
export type { AuditSummary } from './audit/ledger/run-audit.ts'
export type { BeginOptions, LedgerKey } from './audit/ledger/begin.ts'
export type { BeginError, LedgerError, ProofError, SealError } from './audit/ledger/errors.ts'
export type { ExportRecord, RecordedExport } from './audit/ledger/exports.ts'
export type { Signer } from './audit/ledger/keys.ts'
export type { PatrolEvent, PatrolOptions, PatrolRound } from './audit/ledger/patrol.ts'
export type { LedgerProof, ProofKey } from './audit/ledger/prove.ts'
export type { SealFailure, SealedNow } from './audit/ledger/seal.ts'
export type { SealerEvent } from './audit/ledger/sealer.ts'
export type { SealStatus, SealedHead } from './audit/ledger/seal-status.ts'
export type { RecordedAlarm } from './audit/ledger/patrol.ts'
export type { AnchorStatus, LedgerStatus } from './audit/ledger/status.ts'
export type { AuditProblem } from './audit/ledger/verify.ts'
export type { AbandonedRange, ForkedOff } from './catalogue/branches.ts'
export type { CallsPage } from './catalogue/calls.ts'
export type { ConversationInfo } from './catalogue/list/conversation-info.ts'
export type { ListOptions } from './catalogue/list/list-pages.ts'
export type {
  AboutPage,
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
export type { LinkToConversation, LinkToRef, NewLink, NewNote } from './conversation/beside/new-notes.ts'
export type { NotesOptions } from './conversation/beside/note-reader.ts'
export type { LinksOptions } from './conversation/beside/note-keeper.ts'
export type { EventsOptions } from './conversation/reading/event-follower.ts'
export type {
  DiffOptions,
  EndPosition,
  FullEntries,
  FullWithNotes,
  FullWithoutNotes,
  PositionOption,
  VerifyOptions,
} from './conversation/reading/conversation-reader.ts'
export type { PlacedEvent } from './conversation/reading/stored-events.ts'
export type { LogDiscrepancy } from './conversation/discrepancy.ts'
export type { VerificationReport } from './conversation/verify.ts'
export type { WriteResult, WrittenEvent } from './conversation/writing/encode.ts'
export type {
  AppendAfterRewind,
  AppendHere,
  AppendOnBranch,
  AppendOptions,
  CommandInput,
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
} from './conversation/writing/inputs.ts'
export type { Preview } from './conversation/writing/preview.ts'
export type { StoredEvent } from './events/codec.ts'
export type { RecordedTurnFact } from './events/turn-events.ts'
export type { BackupError } from './store/backup.ts'
export type { BlobGcReport, GcOptions } from './store/blobs/gc.ts'
export type { DiagnosisFinding } from './store/diagnosis.ts'
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
export type {
  AllPage,
  AllRange,
  AppendOutcome,
  AppendRequest,
  BackedUp,
  BackupOptions,
  BlobInfo,
  BlobStore,
  Checkpoint,
  EventLog,
  EventStore,
  FindResult,
  FollowItem,
  FollowOptions,
  KeptEnd,
  RecordedEvent,
  StoreAbilities,
  StoreAdapter,
  StreamChanges,
  StreamIndex,
  StreamRange,
} from './store/port.ts'
export type { OpenEventStore, SchemeTaken, UnknownScheme } from './store/schemes.ts'
export type { KeyStore } from './store/seal/key-store.ts'
export type { CopyError } from './transfer/copy-stream.ts'
export type { CopyResult } from './transfer/copy.ts'
export type { ImportError } from './transfer/formats/errors.ts'
export type { SessionFile } from './transfer/formats/parse-session.ts'
export type { Format, ImportAction, ImportReport } from './transfer/formats/plan.ts'
export type { FormatTaken, SessionConversation, SessionFormat } from './transfer/formats/registry.ts'
export type { FollowSessionOptions, GrowingSession } from './transfer/follow-session.ts'
export type { ExchangeReply, ModelExchange } from './recorder/exchange.ts'
export type { RecordedCall, RecordError } from './recorder/recorder.ts'
export type { ImportOptions } from './transfer/import.ts'
export type { ImportResult } from './transfer/import-result.ts'
export type { SessionStream } from './transfer/read-session.ts'
export type {
  OriginalChange,
  OriginalError,
  OriginalInfo,
  OriginalsOptions,
  OriginalVersion,
} from './transfer/write-original.ts'
