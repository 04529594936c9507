import './needed-node.ts'
import { isLeft } from 'fp-ts/lib/Either.js'
import { tryCatch } from 'fp-ts/lib/TaskEither.js'
import { type ResultReader, resultReader as reader } from './agent/turn/results/result-reader.ts'
import { type Conversation, promiseStore, type Store, toPromise } from './api/promises.ts'
import { registerStore as register } from './api/schemes.ts'
import { toError } from './result/typed.ts'
import type { ReadError } from './store/errors.ts'
import type { McpClient } from './agent/tools/mcp-client.ts'
import { type McpOptions, mcpTools as mcpToolsOf } from './agent/tools/mcp.ts'
import type { StandardSchema } from './agent/tools/standard-schema.ts'
import { type Tool, tool as toolOf, type ToolOptions } from './agent/tools/tool.ts'
import type { EventStore } from './store/port.ts'
import { registerFormat as registerOwnFormat, type SessionFormat } from './transfer/formats/registry.ts'
import type { OpenEventStore, Scheme } from './store/schemes.ts'
import { type CopyConversations, copyConversations as copy } from './api/copy-conversations.ts'
import type { CopyResult } from './transfer/copy.ts'
import { openStore as openTask, type StoreOptions } from './api/open.ts'

/**
 * Opens a store by its URL: `memory:`, `sqlite:path/to/file.db` (created if missing), `esdb://host:2113` (docs/eventstoredb.md),
 * or a URL of a registered scheme (`registerStore`). SQLite parameters: `?synchronous=full|normal|off` (default full: an append
 * that returned survives a power cut), `&timeout=5000` (how long to wait for another process's lock, in milliseconds).
 *
 * An `EventStore` that is already open may be given in place of a URL; closing this closes it.
 *
 * Rejects with `InvalidInput`, `UnknownScheme` or a `StoreError`; every error has a `_tag`, a message that says what to do, and its data.
 *
 * @example
 * const store = await openStore('sqlite:conversations.db')
 * await store.conversation('task-42').append({ role: 'user', content: 'Why does the parser fail?' })
 * await store.close()
 */
export const openStore = async (source: string | EventStore, options?: StoreOptions): Promise<Store> =>
  promiseStore(await toPromise(openTask(source, options)))

/**
 * Lets `openStore`, `copyConversations` and the command line (`--import`) open URLs of a scheme of your own, in the whole process,
 * however often the library is loaded in it. Registering the same functions again changes nothing. docs/a-store-of-your-own.md.
 *
 * Throws `SchemeTaken`, or `InvalidInput` for what is no name of a scheme (two or more of a–z 0–9 + . -, a letter first).
 *
 * @param diagnose what `palimpsest doctor` asks; without it, doctor opens the store and asks for its `integrity`
 *
 * @example
 * import * as TE from 'fp-ts/lib/TaskEither.js'
 * import { memoryStore } from 'palimpsest/testing'
 *
 * registerStore('ram', () => TE.right(memoryStore()))
 * const scratch = await openStore('ram:')
 */
export const registerStore = (scheme: string, open: OpenEventStore, diagnose?: Scheme['diagnose']): void => {
  const done = register(scheme, open, diagnose)
  if (isLeft(done)) throw toError(done.left)
}

/**
 * Copies conversations between two stores of any kind, to the byte and at the same positions, and verifies the copies. The parents of
 * forks come along. Copying again adds only what is new, so a copy may be interrupted at any moment. `ids` are all by default;
 * `progress` is told after each append how many of how many events are there.
 *
 * Resolves to what became of each conversation, failures too: look at `error` (a `CopyDiverged` says that the target's conversation
 * is another one). Rejects where a store cannot be opened or the source cannot be read.
 *
 * @example
 * const copied = await copyConversations({ from: 'sqlite:laptop.db', to: 'esdb://db.example.org:2113', ids: ['task-42'] })
 * for (const { id, events, added, error } of copied) console.log(id, events, added, error?.message ?? 'verified')
 */
export const copyConversations = (options: CopyConversations): Promise<readonly CopyResult[]> =>
  toPromise(copy(options))

/**
 * Lets imports and exports read and write a format of your own, in the whole process: `importSession`, and on the command line
 * `--import FILE` with `import` and `export --format NAME`. Registering the same object again changes nothing. docs/import.md.
 *
 * Throws `FormatTaken`, or `InvalidInput` whose path names what is missing.
 */
export const registerFormat = (format: SessionFormat): void => {
  const done = registerOwnFormat(format)
  if (isLeft(done)) throw toError(done.left)
}

export type { Conversation, Store, Worker } from './api/promises.ts'
export type { DocumentOptions, WrittenDocument } from './audit/evidence/document.ts'
export type { Evidence } from './audit/evidence/export.ts'
export type { EvidenceOptions } from './audit/evidence/options.ts'
export type { ReceiptVerification } from './agent/receipts/audit.ts'
export type { ReceiptFinding } from './agent/receipts/finding.ts'
export type { SentCall } from './agent/receipts/sent.ts'
export type { ModelCall, UnprovenCall } from './agent/receipts/calls.ts'
export type { CopyConversations } from './api/copy-conversations.ts'
export type { CopyResult } from './transfer/copy.ts'
export type { CopyError } from './transfer/copy-stream.ts'
export type { CommandInput } from './conversation/writing/previewing.ts'
export type { Preview } from './conversation/writing/preview.ts'
export type { EventsOptions } from './conversation/reading/following.ts'
export type {
  PositionOption,
  DiffOptions,
  EndPosition,
  FullEntries,
  FullWithNotes,
  FullWithoutNotes,
  VerifyOptions,
} from './conversation/reading/reading.ts'
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
} from './conversation/writing/inputs.ts'
export type { LinkToConversation, LinkToRef, NewLink, NewNote } from './conversation/beside/new-notes.ts'
export type { LinksOptions } from './conversation/beside/noting.ts'
export type { NotesOptions } from './conversation/beside/note-reader.ts'
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
export type { ImportError } from './transfer/formats/errors.ts'
export type { SessionFile } from './transfer/formats/parse-session.ts'
export type { SessionStream } from './transfer/read-session.ts'
export type { Format, ImportReport, ImportStep } from './transfer/formats/plan.ts'
export type { FormatTaken, SessionConversation, SessionFormat } from './transfer/formats/registry.ts'
export type { ImportOptions } from './transfer/import.ts'
export type { ImportResult } from './transfer/imported.ts'
export type { BlobGcReport, GcOptions } from './store/blobs/gc.ts'
export type { BackedUp, BackupOptions, BlobInfo } from './store/port.ts'
export type {
  AllPage,
  AllRange,
  AppendRequest,
  AppendOutcome,
  BlobStore,
  StreamChanges,
  Checkpoint,
  EventStore,
  FollowItem,
  FollowOptions,
  FindResult,
  StreamRange,
  RecordedEvent,
  KeptEnd,
} from './store/port.ts'
export type { StoredEvent } from './events/codec.ts'
export type { DiagnosisFinding } from './store/diagnosis.ts'
export type { OpenEventStore, SchemeTaken, UnknownScheme } from './store/schemes.ts'
export { isError } from './api/errors.ts'
export type { PalimpsestError, ErrorOf } from './api/errors.ts'
export type { OpenError } from './api/schemes.ts'
export type { BackupError } from './store/backup.ts'
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
export type { AbandonedRange, ForkedOff } from './catalogue/branches.ts'
export type { HiddenByMarker, MessageHit, TitleHit } from './projections/lookups.ts'
export type {
  Audit,
  AuditFinding,
  AuditOptions,
  RotateOptions,
  SealerOptions,
  SealOptions,
  StatusOptions,
} from './audit/ledger/audit.ts'
export type { ExportRecord, RecordedExport } from './audit/ledger/exports.ts'
export type { AnchorResult } from './audit/ledger/anchoring.ts'
export type { Anchor, AnchorRequest } from './audit/ledger/anchors.ts'
export type { BeginOptions, LedgerKey } from './audit/ledger/begin.ts'
export type { BeginError, LedgerError, ProofError, SealError } from './audit/ledger/errors.ts'
export type { Signer } from './audit/ledger/keys.ts'
export type { LedgerProof, ProofKey } from './audit/ledger/prove.ts'
export type { SealedNow, SealFailure } from './audit/ledger/seal.ts'
export type { SealerEvent } from './audit/ledger/sealer.ts'
export type { SealStatus, SealedHead } from './audit/ledger/standing.ts'
export type { AnchorStatus, LedgerStatus } from './audit/ledger/status.ts'
export type { AuditSummary } from './audit/ledger/auditing.ts'
export type { PatrolEvent, PatrolOptions, PatrolRound } from './audit/ledger/patrol.ts'
export type { AuditProblem } from './audit/ledger/verify.ts'
export type { ListOptions } from './catalogue/list/listed.ts'
export type { ConversationOverview } from './catalogue/list/glance.ts'
export type { StoreOptions } from './api/open.ts'
export type { FollowConversations, FollowedEvent, StreamedEvent } from './api/store.ts'
export type { PlacedEvent } from './conversation/reading/stored.ts'
export type { LogDiscrepancy, VerificationReport } from './conversation/verify.ts'
export type { WriteResult, WrittenEvent } from './conversation/writing/encode.ts'
export type { DiffChange, Diff } from './projections/diff.ts'
export type { Effective, Item, MessageItem, SummaryItem, TruncationItem } from './projections/effective.ts'
export type { Entry, EntryState, FullOptions, EntryStatus } from './projections/full.ts'
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
export type { Link, LinkedEntry, Note, NotedEntry, NoteEntry } from './projections/notes.ts'
export type { TimelineEntry } from './projections/timeline.ts'
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
export type { Actor, ConversationEvent, ConversationEventOf, EventType, Message } from './events/events.ts'

/**
 * A tool for `turn` that reads what `maxResult` has left out of a conversation's results, whatever hides them by now. Its own results
 * keep to the limit.
 *
 * @example
 * import Anthropic from '@anthropic-ai/sdk'
 *
 * await chat.turn({ client: new Anthropic(), model: 'claude-opus-5-5', tools: [resultReader(chat)] })
 */
export const resultReader = ({ events, position }: Conversation): ResultReader =>
  reader({ events, position: () => tryCatch(position, (error) => error as ReadError) })

/**
 * A tool for `turn`, from a schema of zod or of another library that follows https://standardschema.dev. The model is told its JSON schema
 * (of a library that makes none, give it as `inputSchema`). An input is checked before `run` is called; of one that does not fit, the
 * model is told what is wrong. docs/tools.md.
 *
 * Throws `InvalidInput`, whose path names what is missing.
 *
 * @example
 * import { z } from 'zod'
 *
 * const weather = tool({
 *   name: 'weather',
 *   description: 'Says the weather in a city.',
 *   input: z.object({ city: z.string() }),
 *   run: async ({ city }) => `It is sunny in ${city}.`,
 * })
 * await chat.turn({ client, model: 'claude-opus-5-5', tools: [weather] })
 */
export const tool = <S extends StandardSchema>(options: ToolOptions<S>): Tool => {
  const made = toolOf(options)
  if (isLeft(made)) throw toError(made.left)
  return made.right
}

/**
 * The tools of an MCP server for `turn`, as it lists them now, through a client of `@modelcontextprotocol/sdk` (or `/client`)
 * that is connected. Those that the server calls destructive need approval. docs/tools.md.
 *
 * Rejects with `McpFailed` if they cannot be listed, `ToolNameTaken` if two would have the same name, or `InvalidInput`.
 *
 * @example
 * import { Client } from '@modelcontextprotocol/sdk/client/index.js'
 * import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
 *
 * const files = new Client({ name: 'my-agent', version: '1.0.0' })
 * await files.connect(new StdioClientTransport({ command: 'node', args: ['files-server.js'] }))
 * await chat.turn({ client, model: 'claude-opus-5-5', tools: await mcpTools(files, { prefix: 'files_' }) })
 * await files.close()
 */
export const mcpTools = (client: McpClient, options?: McpOptions): Promise<readonly Tool[]> =>
  toPromise(mcpToolsOf(client, options))

export type { McpClient, McpTool } from './agent/tools/mcp-client.ts'
export type { McpError, McpFailed, McpOptions } from './agent/tools/mcp.ts'
export type { ToolNameTaken } from './agent/tools/mcp-names.ts'
export type { ResultReader } from './agent/turn/results/result-reader.ts'
export { summarizer } from './agent/context/summary/summarizer.ts'
export { sliceOf } from './projections/effective.ts'
export { messagesOf } from './projections/effective.ts'
export { anthropicModel } from './agent/models/anthropic/model.ts'
export type { AnthropicClient, AnthropicOptions } from './agent/models/anthropic/model.ts'
export { openAiModel } from './agent/models/openai/model.ts'
export type { ChatForm } from './agent/models/form.ts'
export type { OpenAiClient } from './agent/models/openai/client.ts'
export type { OpenAiOptions } from './agent/models/openai/model.ts'
export type { TokenReport, CountOptions } from './agent/context/tokens/count.ts'
export type { FailedCall, Model, ModelError, ModelRequest, Reply, ReplyEvent } from './agent/models/model.ts'
export type { ContextSettings } from './agent/context/policy/settings.ts'
export type {
  SummaryResult,
  Summarizer,
  SummarizerSettings,
  SummaryInput,
} from './agent/context/summary/summarizer.ts'
export type {
  ToolEffect,
  ToolCall,
  ToolContext,
  ToolFunction,
  Tools,
  ToolSettings,
} from './agent/tools/settings.ts'
export type { Tool, ToolDefinition, ToolOptions } from './agent/tools/tool.ts'
export type { OutputOf, StandardSchema } from './agent/tools/standard-schema.ts'
export type { TokenCount } from './agent/context/tokens/tokens.ts'
export type { DoneEvent, TurnEvent } from './agent/turn/streamed.ts'
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
} from './agent/turn/stream/turn-event.ts'
export type { ModelUsage, TurnUsage } from './agent/turn/spending/account.ts'
export type { Budget } from './agent/turn/spending/budget.ts'
export { prices, pricesAsOf } from './agent/turn/spending/prices.ts'
export type { Price, Prices, TokenRates } from './agent/turn/spending/prices.ts'
export type { Usage } from './agent/turn/spending/usage.ts'
export type { NextStep, StepSettings, StopWhen, TurnStep } from './agent/turn/turn-step.ts'
export type { TurnResult, TurnError } from './agent/turn/turned.ts'
export type { CancelError, CancelOptions } from './agent/turn/say/cancel.ts'
export type { QueuedMessages, SayResult, SayError, SayOptions } from './agent/turn/say/say.ts'
export type { WaitOptions } from './agent/turn/calls/calls.ts'
export type {
  Approval,
  AwaitedCall,
  CallDecision,
  DecisionError,
  Denial,
  CallWithdrawal,
  WithdrawalError,
} from './agent/turn/calls/decisions.ts'
export type { OpenStepInfo, StepsOptions, StepState } from './agent/workers/listing.ts'
export type { Roster, RosterOptions, WorkerInfo } from './agent/workers/roster.ts'
export type { HoldReason } from './agent/workers/holding.ts'
export type { WorkerError, WorkerNotFound } from './agent/workers/pausing.ts'
export type { BudgetPeriod, TenantBudget, TenantPolicy, WorkPolicy } from './agent/workers/policy.ts'
export type {
  AnswerRequest,
  PauseOptions,
  RequestError,
  ResumeOptions,
  TurnFactsOptions,
  UnparkOptions,
} from './agent/workers/requests.ts'
export type { RecordedTurnFact } from './events/turn-events.ts'
export type { WorkerExit } from './agent/workers/draining.ts'
export type { ServedEvent } from './agent/workers/give.ts'
export type { ServedConversation, WorkerOptions } from './agent/workers/worker-options.ts'
export type { AttemptReport } from './agent/workers/runs.ts'
export type { SomeOf, TurnOptions } from './agent/turn/options.ts'
