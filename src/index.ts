import { tryCatch } from 'fp-ts/lib/TaskEither.js'
import { type ResultReader, resultReader as reader } from './context/result-reader.ts'
import { type Conversation, promiseStore, type Store, toPromise } from './promises.ts'
import type { ReadError } from './store/errors.ts'
import { type CopyConversations, copyConversations as copy } from './store/copy-conversations.ts'
import type { Copied } from './store/copy.ts'
import { openStore as open, type StoreOptions } from './store/store.ts'

/**
 * Opens a store by its URL: `memory:`, `sqlite:path/to/file.db` (created if it is not there), or `esdb://host:2113` (docs/eventstoredb.md).
 * SQLite parameters: `?synchronous=full|normal|off` (default full: an append that returned survives a power cut),
 * `&timeout=5000` (how long to wait for another process's lock, in milliseconds).
 *
 * Rejects with `InvalidInput` or a `StoreError`; every error has a `_tag`, a message that says what to do, and its data.
 *
 * @example
 * const store = await openStore('sqlite:conversations.db')
 * await store.conversation('task-42').append({ role: 'user', content: 'Why does the parser fail?' })
 * await store.close()
 */
export const openStore = async (url: string, options?: StoreOptions): Promise<Store> =>
  promiseStore(await toPromise(open(url, options)))

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
export const copyConversations = (options: CopyConversations): Promise<readonly Copied[]> =>
  toPromise(copy(options))

export type { Conversation, Store } from './promises.ts'
export type { ReceiptFinding, ReceiptsVerified, SentCall } from './context/audit.ts'
export type { ModelCall } from './context/calls.ts'
export type { CopyConversations } from './store/copy-conversations.ts'
export type { Copied } from './store/copy.ts'
export type { CopyError } from './store/copy-stream.ts'
export type { AppendOptions, At, EventsOptions, VerifyOptions, WriteOptions } from './store/conversation.ts'
export type { ReadError, StoreError, WriteError } from './store/errors.ts'
export type { ImportError } from './import/errors.ts'
export type { SessionFile } from './import/parse-session.ts'
export type { SessionStream } from './store/read-session.ts'
export type { Format, ImportReport } from './import/plan.ts'
export type { Imported, ImportOptions } from './store/import.ts'
export type { Collected, GcOptions } from './store/blobs/gc.ts'
export type { BackedUp, BackupOptions, BlobInfo } from './store/port.ts'
export type { BackupError } from './store/backup.ts'
export type { ListOptions, Overview } from './store/overview.ts'
export type { FollowConversations, FollowedEvent, StoreOptions, StreamedEvent } from './store/store.ts'
export type { PlacedEvent } from './store/stored.ts'
export type { Discrepancy, Verified } from './store/verify.ts'
export type { Written } from './store/write.ts'
export type { NewMessage } from './commands/command.ts'
export type { Diff } from './projections/diff.ts'
export type { Effective, Item } from './projections/effective.ts'
export type { Entry, FullOptions } from './projections/full.ts'
export type { Rendered, RenderOptions } from './projections/render/render.ts'
export type { Repair } from './projections/render/repairs.ts'
export type { TimelineEntry } from './projections/timeline.ts'
export type { Block } from './events/blocks.ts'
export type { Actor, ConversationEvent, EventType, Message } from './events/events.ts'

/**
 * A tool for `turn` that reads what `maxResult` has left out of a conversation's results, whatever hides them by now. Its own results
 * keep to the limit.
 *
 * @example
 * import Anthropic from '@anthropic-ai/sdk'
 *
 * const reader = resultReader(chat)
 * const run = { read_result: reader.run }
 * await chat.turn({ client: new Anthropic(), model: 'claude-opus-5-5', tools: [reader.definition], run })
 */
export const resultReader = ({ events, position }: Conversation): ResultReader =>
  reader({ events, position: () => tryCatch(position, (error) => error as ReadError) })

export type { ResultReader } from './context/result-reader.ts'
export { summarizer } from './context/summarizer.ts'
export { sliceOf } from './context/regions.ts'
export { messagesOf } from './projections/effective.ts'
export { anthropicModel } from './context/anthropic/model.ts'
export type { AnthropicClient, AnthropicOptions } from './context/anthropic/model.ts'
export type { Counted, CountOptions } from './context/count.ts'
export type { FailedCall, Model, ModelError, ModelRequest, Reply, ReplyEvent } from './context/model.ts'
export type { ContextSettings } from './context/settings.ts'
export type { Summarized, Summarizer, SummarizerSettings, SummaryInput } from './context/summarizer.ts'
export type { ToolContext, ToolFunction, Tools, ToolSettings } from './context/tools.ts'
export type { TokenCount } from './context/tokens.ts'
export type { Turned, TurnError } from './context/turn.ts'
export type { TurnOptions } from './context/turn-options.ts'
