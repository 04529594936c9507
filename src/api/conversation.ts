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
import type { Evidence } from '../audit/evidence/export.ts'
import type { EvidenceOptions } from '../audit/evidence/options.ts'
import type { EvidenceError } from '../audit/evidence/source.ts'
import type { ConversationOf, ConversationHandle as OpenConversation } from '../conversation/conversation.ts'
import type { PositionOption } from '../conversation/reading/conversation-reader.ts'
import type { MessageInput } from '../conversation/writing/inputs.ts'
import type { InvalidInput } from '../events/errors.ts'
import type { MethodResult, ResultStyle } from '../result/answer.ts'
import type { ReadError, StoreError } from '../store/errors.ts'

/** A conversation of a store, with what agents and people do in it. `Forked` is what `fork` gives. */
export interface ConversationMethods<W extends ResultStyle, Forked>
  extends ConversationOf<W, Forked>, ApprovalMethods<W>, WorkRequester<W> {
  /**
   * Gives the turn to a model: makes the context fit, asks, records the reply, runs the tools that it asks for, records their
   * results, until the model stops. docs/turns.md. Errors: a `TurnError`.
   *
   * @example
   * const { content } = await chat.turn({ client, model: 'claude-opus-5-5', maxCalls: 5 })
   */
  readonly turn: (options: TurnOptions) => MethodResult<W, TurnError, TurnResult>
  /**
   * Gives the same turn as `turn`, yielding its events as they happen; the last one, `done`, has what `turn` resolves to. The turn
   * begins when the first event is requested. Leaving the loop aborts the turn and waits until it has been released. A slow reader does
   * not hold up the model: pieces of the same block are merged while they wait. Iteration throws a `TurnError`. docs/turns.md.
   *
   * @example
   * for await (const event of chat.stream({ client, model: 'claude-opus-5-5' })) {
   *   if (event.type === 'text') process.stdout.write(event.text)
   *   if (event.type === 'done') console.log(event.turned.usage)
   * }
   */
  readonly stream: (options: TurnOptions) => AsyncIterableIterator<TurnEvent>
  /**
   * Records what the user says, at any time. While the conversation awaits the model or results of its calls, `whileBusy` says what to
   * do; by default the message waits in the inbox, and the running turn appends it after the reply and answers it. docs/turns.md.
   * Errors: a `WriteError`, a `ReadError`, or `Busy`.
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
   * Ends the turn that is being given to the conversation, in whichever process: it ends with `TurnCancelled`, and what is complete is
   * recorded. Cancels no turn that begins later; of a conversation that has not begun there is none. Errors: a `NoteError` or a `ReadError`.
   *
   * @example
   * await chat.cancel({ by: 'kim', reason: 'wrong file' })
   */
  readonly cancel: (options?: CancelOptions) => MethodResult<W, CancelError, void>
  /**
   * Lists the messages that wait in the inbox, in the order in which they were said; with `at`, what waited while the conversation ended at that position. Errors:
   * a `StoreError`.
   *
   * @example
   * for (const { id, messages } of await chat.queued()) console.log(id, messages.length)
   */
  readonly queued: (
    options?: PositionOption,
  ) => MethodResult<W, StoreError | InvalidInput, readonly QueuedMessages[]>
  /**
   * Counts the tokens of the next request: from the log, and by the API if a client is given. Errors: a `ReadError`, or a
   * `ModelError` of the client.
   *
   * @example
   * const { total } = await chat.tokens()
   */
  readonly tokens: (options?: CountOptions) => MethodResult<W, ReadError | ModelError, TokenReport>
  /**
   * Lists the model calls that have a receipt, in the order of their answers. Iteration throws a `ReadError`.
   *
   * @example
   * for await (const { position, receipt } of chat.calls()) console.log(position, receipt.digest)
   */
  readonly calls: () => AsyncIterable<ModelCall>
  /**
   * Rebuilds the request of a call: of the call with this number, from 1, or of one that `calls` gives (default: the last one). Errors:
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
   * Rebuilds every request that has a receipt from the log and compares them. A difference is a finding, not an error. Errors: a
   * `ReadError`.
   *
   * @example
   * const { receipts, findings } = await chat.verifyReceipts()
   */
  readonly verifyReceipts: () => MethodResult<W, ReadError, ReceiptVerification>
  /**
   * Writes what proves the conversation to others into a folder, with a program that checks it. docs/evidence.md. Errors: a `ReadError`, or
   * `FileExists` if the folder is not empty.
   *
   * @example
   * const { events, requests } = await chat.evidence({ folder: 'evidence' })
   */
  readonly evidence: (options: EvidenceOptions) => MethodResult<W, EvidenceError, Evidence>
  /**
   * Writes the conversation for other programs into a new file, as vCon or W3C PROV. docs/interchange.md. Errors: a `ReadError`, or
   * `FileExists`.
   *
   * @example
   * const { events } = await chat.document({ file: 'task-42.vcon.json', format: 'vcon' })
   */
  readonly document: (options: DocumentOptions) => MethodResult<W, EvidenceError, WrittenDocument>
}

/** A conversation with TaskEithers. */
export interface TaskConversation extends ConversationMethods<'task', TaskConversation> {}

/** Makes a conversation whose methods are all that agents and people do in it. */
export const taskConversation = (chat: OpenConversation): TaskConversation => {
  const { turn, stream } = createTurnRunner(chat)
  return {
    ...chat.methods,
    ...createApprovalMethods(chat),
    ...createWorkRequester(chat),
    fork: (id, options) => TE.map(taskConversation)(chat.fork(id, options)),
    turn,
    stream,
    say: createSayMethod(chat),
    cancel: createCancelMethod(chat),
    queued: createQueuedMethod(chat),
    tokens: (options) => tokensOf(chat, options),
    calls: () => modelCalls(chat),
    sent: (call) => loadSentCall(chat, call),
    verifyReceipts: () => verifyReceipts(chat),
    // Few programs need it.
    evidence: (options) => async () => {
      const { exportEvidence } = await import('../audit/evidence/export.ts')
      return exportEvidence(chat, options)()
    },
    document: (options) => async () => {
      const { exportDocument } = await import('../audit/evidence/document.ts')
      return exportDocument(chat, options)()
    },
  }
}
