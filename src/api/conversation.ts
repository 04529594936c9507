import * as TE from 'fp-ts/lib/TaskEither.js'
import { modelCalls, type ReceiptVerification, verifyReceipts } from '../agent/receipts/audit.ts'
import type { ModelCall } from '../agent/receipts/calls.ts'
import type { CallOutOfRange, UnknownRenderer } from '../agent/receipts/errors.ts'
import { type SentCall, loadSentCall } from '../agent/receipts/sent-call.ts'
import { type CountOptions, type TokenReport, tokensOf } from '../agent/context/tokens/count.ts'
import type { ModelError } from '../agent/models/model.ts'
import { type ApprovalMethods, createApprovalMethods } from '../agent/turn/calls/decisions.ts'
import type { TurnOptions } from '../agent/turn/options.ts'
import { type CancelError, createCancelMethod, type CancelOptions } from '../agent/turn/say/cancel.ts'
import {
  createQueuedMethod,
  type QueuedMessages,
  type SayError,
  createSayMethod,
  type SayOptions,
  type SayResult,
} from '../agent/turn/say/say.ts'
import type { TurnEvent } from '../agent/turn/stream-turn.ts'
import type { TurnError, TurnResult } from '../agent/turn/turn-result.ts'
import { createTurnRunner } from '../agent/turn/turn-runner.ts'
import { createWorkRequester, type WorkRequester } from '../agent/workers/requests.ts'
import type { DocumentOptions, WrittenDocument } from '../audit/evidence/document.ts'
import { task } from '../result/fallible.ts'
import type { ClientSessionOptions } from '../transfer/client-session.ts'
import type { SessionExport } from '../transfer/formats/sessions/write-session.ts'
import type { Evidence } from '../audit/evidence/export.ts'
import type { EvidenceOptions } from '../audit/evidence/options.ts'
import type { EvidenceError } from '../audit/evidence/source.ts'
import type { ConversationHandle, ConversationOf } from '../conversation/conversation.ts'
import type { SearchOptions, SearchPage, Catalogue } from '../catalogue/port.ts'
import type { OriginalFile, OriginalNotKept } from '../conversation/reading/original.ts'
import type { PositionOption } from '../conversation/reading/conversation-reader.ts'
import type { EraseError, EraseOptions } from '../conversation/writing/erase.ts'
import type { MessageInput } from '../conversation/writing/inputs.ts'
import type { InvalidInput } from '../events/errors.ts'
import type { MethodResult, ResultStyle } from '../result/answer.ts'
import type { NoteError, ReadError, StoreError } from '../store/errors.ts'
import {
  createEraseMethod,
  createHoldMethods,
  createNoteMethod,
  type CoveringLegalHold,
  type ErasureReport,
  type HoldOptions,
  type ReleaseError,
} from './erase.ts'

/**
 * Methods of a conversation: methods on its log, and methods for the agents and people that work on it. `Forked` is the type of the
 * conversation that `fork` returns.
 */
export interface ConversationMethods<W extends ResultStyle, Forked>
  extends ConversationOf<W, Forked>, ApprovalMethods<W>, WorkRequester<W> {
  /**
   * Runs a turn of the model: fits the context, calls the model, records the reply, runs the tools that it requests and records their
   * results, until the model stops. docs/turns.md. Errors: a `TurnError`.
   *
   * @example
   * const { content } = await chat.turn({ client, model: 'claude-opus-5-5', maxCalls: 5 })
   */
  readonly turn: (options: TurnOptions) => MethodResult<W, TurnError, TurnResult>
  /**
   * Runs a turn and yields its events as they happen. The options and effects are those of `turn`; the last event, `done`, has its
   * result. The turn begins when the first event is requested. Leaving the loop aborts the turn and waits until the turn has released
   * the conversation. A slow reader does not delay the model: pending pieces of the same block are merged. Throws a `TurnError` during
   * iteration. docs/turns.md.
   *
   * @example
   * for await (const event of chat.stream({ client, model: 'claude-opus-5-5' })) {
   *   if (event.type === 'text') process.stdout.write(event.text)
   *   if (event.type === 'done') console.log(event.turned.usage)
   * }
   */
  readonly stream: (options: TurnOptions) => AsyncIterableIterator<TurnEvent>
  /**
   * Records a message from the user at any time. While the conversation awaits the model or the results of its calls, `whileBusy`
   * decides what happens; by default the message waits in the inbox, and the running turn appends it after the reply and answers it.
   * docs/turns.md. Errors: a `WriteError`, a `ReadError`, or `Busy`.
   *
   * @example
   * const { status } = await chat.say({ role: 'user', content: 'And line 60?' })
   * if (status === 'recorded') await chat.turn({ client, model: 'claude-opus-5-5' })
   */
  readonly say: (
    message: MessageInput | readonly MessageInput[],
    options?: SayOptions,
  ) => MethodResult<W, SayError, SayResult>
  /**
   * Cancels the conversation's running turn, in any process: the turn records everything that is complete, then fails with
   * `TurnCancelled`. Turns that begin later are not affected. Does nothing if the conversation does not exist. Errors: a `NoteError` or
   * a `ReadError`.
   *
   * @example
   * await chat.cancel({ by: 'kim', reason: 'wrong file' })
   */
  readonly cancel: (options?: CancelOptions) => MethodResult<W, CancelError, void>
  /**
   * Erases content for good: the stored events keep their places, types, times, ids and hashes, so that every proof stays valid, and an
   * `Erased` event says which, who and why. docs/erasure.md. Errors: `CannotErase`, `OutOfRange`, a `ReadError`.
   *
   * @example
   * const { positions, repeated } = await chat.erase({ positions: [0], by: 'ann', reason: 'request 17', dryRun: true })
   */
  readonly erase: (options?: EraseOptions) => MethodResult<W, EraseError, ErasureReport>
  /**
   * Puts the conversation under a legal hold: until this name releases it, `erase` refuses, also in the conversations of its subagents.
   * The hold is a note. Errors: a `NoteError`.
   *
   * @example
   * await chat.hold({ by: 'legal', reason: 'case 7' })
   */
  readonly hold: (options: HoldOptions) => MethodResult<W, NoteError, void>
  /**
   * Ends the legal hold of this name on the conversation; holds of other names remain. Errors: `CannotRelease` if only others hold it,
   * a `NoteError`.
   *
   * @example
   * await chat.release({ by: 'legal', reason: 'case 7 is closed' })
   */
  readonly release: (options: HoldOptions) => MethodResult<W, ReleaseError, void>
  /**
   * Returns the oldest legal hold on the conversation, with the `others`, or on the `conversation` whose subagent it is; undefined if
   * there is none. Errors: a `StoreError`.
   *
   * @example
   * const held = await chat.legalHold()
   */
  readonly legalHold: () => MethodResult<W, StoreError, CoveringLegalHold | undefined>
  /**
   * Lists the messages waiting in the inbox, in the order in which they were sent. With `at`, lists the messages that were waiting when
   * the conversation ended at that position. Errors: a `StoreError`.
   *
   * @example
   * for (const { id, messages } of await chat.queued()) console.log(id, messages.length)
   */
  readonly queued: (
    options?: PositionOption,
  ) => MethodResult<W, StoreError | InvalidInput, readonly QueuedMessages[]>
  /**
   * Counts the tokens of the next request from the log and, if a client is given, also through the API. Errors: a `ReadError`, or a
   * `ModelError` of the client.
   *
   * @example
   * const { total } = await chat.tokens()
   */
  readonly tokens: (options?: CountOptions) => MethodResult<W, ReadError | ModelError, TokenReport>
  /**
   * Lists the model calls that have a receipt, in the order of their answers. Throws a `ReadError` during iteration.
   *
   * @example
   * for await (const { position, receipt } of chat.calls()) console.log(position, receipt.digest)
   */
  readonly calls: () => AsyncIterable<ModelCall>
  /**
   * Rebuilds the request of one model call, given by its number (from 1) or as listed by `calls`. Default: the last call. Errors:
   * `CallOutOfRange`, `UnknownRenderer`, or a `ReadError`.
   *
   * @example
   * await chat.turn({ client, model: 'claude-opus-5-5' })
   * const { request } = await chat.sent(1)
   */
  readonly sent: (
    call?: number | ModelCall,
  ) => MethodResult<W, ReadError | CallOutOfRange | UnknownRenderer, SentCall>
  /**
   * Rebuilds every request that has a receipt from the log and compares it with the receipt. A difference is returned as a finding, not
   * as an error. Errors: a `ReadError`.
   *
   * @example
   * const { receipts, findings } = await chat.verifyReceipts()
   */
  readonly verifyReceipts: () => MethodResult<W, ReadError, ReceiptVerification>
  /**
   * Exports the conversation to a folder, with the evidence that others need to verify it and a program that checks this evidence.
   * docs/evidence.md. Errors: a `ReadError`; `FileExists` if the folder is not empty; `SecretsFound` if the content has what looks
   * like secrets, unless `force` is set.
   *
   * @example
   * const { events, requests } = await chat.evidence({ folder: 'evidence' })
   */
  readonly evidence: (options: EvidenceOptions) => MethodResult<W, EvidenceError, Evidence>
  /**
   * Exports the conversation to a new file in a format for other programs: vCon or W3C PROV. docs/interchange.md. Errors: a
   * `ReadError`; `FileExists`; `SecretsFound` if the content has what looks like secrets, unless `force` is set.
   *
   * @example
   * const { events } = await chat.document({ file: 'task-42.vcon.json', format: 'vcon' })
   */
  readonly document: (options: DocumentOptions) => MethodResult<W, EvidenceError, WrittenDocument>
  /**
   * Writes what the model sees at a position as a new session of Claude Code, Codex, pi or opencode: the lines of its file, made as they
   * are read, once, its path below the client's folder, and what the client cannot hold. No file is written. docs/continue.md. Errors:
   * a `ReadError`.
   *
   * @example
   * const { path, lines, lost } = await chat.session({ format: 'claude-code', at: 0, cwd: '/home/dana/ledger' })
   */
  readonly session: (options: ClientSessionOptions) => MethodResult<W, ReadError, SessionExport>
  /**
   * Finds the file of another program from which the conversation was imported, to the byte. Errors: a `ReadError`; `OriginalNotKept` if
   * the conversation was not imported, its file was not archived, or content of it was erased.
   *
   * @example
   * import { readFileSync } from 'node:fs'
   * const text = readFileSync('examples/sessions/pi.jsonl', 'utf8')
   * await store.importSession({ file: 'pi.jsonl', text, id: 'imported' })
   * const { bytes, pieces } = await store.conversation('imported').original()
   */
  readonly original: () => MethodResult<W, ReadError | OriginalNotKept, OriginalFile>
  /**
   * Finds the messages, summaries and system prompts of the conversation that contain a text, also those that the model does not see:
   * `catalogue.search` in this conversation. Errors: `InvalidInput`, `ConversationNotFound`.
   *
   * @example
   * const { items } = await chat.search('src/parser')
   * for (const { position, excerpt, now } of items) console.log(position, excerpt.match, now.state)
   */
  readonly search: (
    text: string,
    options?: Omit<SearchOptions, 'conversation'>,
  ) => MethodResult<W, ReadError, SearchPage>
}

/** A conversation whose methods return TaskEithers. */
export interface TaskConversation extends ConversationMethods<'task', TaskConversation> {}

/** Adds the methods for agents and people to an open conversation, whose store has this catalogue. */
export const taskConversation = (
  chat: ConversationHandle,
  catalogue: Pick<Catalogue<'task'>, 'search'>,
): TaskConversation => {
  const { turn, stream } = createTurnRunner(chat)
  return {
    ...chat.methods,
    note: createNoteMethod(chat),
    ...createApprovalMethods(chat),
    ...createWorkRequester(chat),
    fork: (id, options) =>
      TE.map((forked: ConversationHandle) => taskConversation(forked, catalogue))(chat.fork(id, options)),
    turn,
    stream,
    say: createSayMethod(chat),
    cancel: createCancelMethod(chat),
    erase: createEraseMethod(chat),
    ...createHoldMethods(chat),
    queued: createQueuedMethod(chat),
    tokens: (options) => tokensOf(chat, options),
    calls: () => modelCalls(chat),
    sent: (call) => loadSentCall(chat, call),
    verifyReceipts: () => verifyReceipts(chat),
    // Loaded when it is called, because few programs need it.
    evidence: (options) => async () => {
      const { exportEvidence } = await import('../audit/evidence/export.ts')
      return exportEvidence(chat, options)()
    },
    document: (options) => async () => {
      const { exportDocument } = await import('../audit/evidence/document.ts')
      return exportDocument(chat, options)()
    },
    session: (options) => async () => {
      const { clientSession } = await import('../transfer/client-session.ts')
      return task(() => clientSession(chat, options))()
    },
    original: () => task(() => chat.original()),
    search: (text, options) => catalogue.search(text, { ...options, conversation: chat.id }),
  }
}
