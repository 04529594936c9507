import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { modelCalls, type ReceiptVerification, verifyReceipts } from '../agent/receipts/audit.ts'
import type { DocumentOptions, WrittenDocument } from '../audit/evidence/document.ts'
import type { Evidence } from '../audit/evidence/export.ts'
import type { EvidenceOptions } from '../audit/evidence/options.ts'
import type { ModelCall } from '../agent/receipts/calls.ts'
import { type SentCall, sentCall } from '../agent/receipts/sent.ts'
import { type TokenReport, type CountOptions, tokensOf } from '../agent/context/tokens/count.ts'
import { turning } from '../agent/turn/turns.ts'
import type { TurnEvent } from '../agent/turn/streamed.ts'
import { cancelling, type CancelOptions } from '../agent/turn/say/cancel.ts'
import {
  queuedIn,
  type QueuedMessages,
  type SayResult,
  saying,
  type SayOptions,
} from '../agent/turn/say/say.ts'
import { type ApprovalMethods, deciding } from '../agent/turn/calls/decisions.ts'
import type { TurnResult } from '../agent/turn/turned.ts'
import type { TurnOptions } from '../agent/turn/options.ts'
import type { ConversationOf, Conversation as TaskConversation } from '../conversation/conversation.ts'
import type { MessageInput } from '../conversation/writing/inputs.ts'
import type { PositionOption, FullReader } from '../conversation/reading/reading.ts'
import { toError } from '../result/typed.ts'
import type { Worker as WorkerOf } from '../agent/workers/serving.ts'
import { type WorkRequester, requesting } from '../agent/workers/requests.ts'
import type { Store as TaskStore, StoreOf } from './store.ts'

// The edge between the library, which returns TaskEithers, and programs that use await: the same methods as promises that reject with
// the typed errors.

/** A conversation with promises. */
export interface Conversation
  extends ConversationOf<'promise', Conversation>, ApprovalMethods<'promise'>, WorkRequester<'promise'> {
  /**
   * Gives the turn to a model: makes the context fit, asks, records the reply, runs the tools that it asks for, records their
   * results, until the model stops. docs/turns.md. Rejects with a `TurnError`.
   *
   * @example
   * const { content } = await chat.turn({ client, model: 'claude-opus-5-5', maxCalls: 5 })
   */
  readonly turn: (options: TurnOptions) => Promise<TurnResult>
  /**
   * The same turn as the events in it, as they happen; the last one, `done`, has what `turn` resolves to. It begins when the first event
   * is asked for. Leaving the loop aborts the turn, and waits until it has let go. A slow reader does not hold up the model: pieces of the
   * same block become one while they wait. Iteration throws a `TurnError`. docs/turns.md.
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
   * do; by default the message waits in the inbox, and whoever gives the turn appends it after the reply and answers it. docs/turns.md.
   * Rejects with a `WriteError`, a `ReadError`, or `Busy`.
   *
   * @example
   * const { status } = await chat.say({ role: 'user', content: 'And line 60?' })
   * if (status === 'recorded') await chat.turn({ client, model: 'claude-opus-5-5' })
   */
  readonly say: (message: MessageInput | readonly MessageInput[], options?: SayOptions) => Promise<SayResult>
  /**
   * Ends the turn that is being given to the conversation, in whichever process: it ends with `TurnCancelled`, and what is complete is
   * recorded. Cancels no turn that begins later; of a conversation that has not begun there is none. Rejects with a `NoteError` or a `ReadError`.
   *
   * @example
   * await chat.cancel({ by: 'kim', reason: 'wrong file' })
   */
  readonly cancel: (options?: CancelOptions) => Promise<void>
  /**
   * What waits in the inbox, in the order in which it was said; with `at`, what waited while the conversation ended at that position. Rejects
   * with a `StoreError`.
   *
   * @example
   * for (const { id, messages } of await chat.queued()) console.log(id, messages.length)
   */
  readonly queued: (options?: PositionOption) => Promise<readonly QueuedMessages[]>
  /**
   * How many tokens the next request has: counted from the log, and by the API if a client is given. Rejects with a `ReadError`, or a
   * `ModelError` of the client.
   *
   * @example
   * const { total } = await chat.tokens()
   */
  readonly tokens: (options?: CountOptions) => Promise<TokenReport>
  /**
   * The calls of a model that have a receipt, in the order of their answers. Iteration throws a `ReadError`.
   *
   * @example
   * for await (const { position, receipt } of chat.calls()) console.log(position, receipt.digest)
   */
  readonly calls: () => AsyncIterable<ModelCall>
  /**
   * What the model was sent in a call: of this number, from 1, or of those that `calls` gives (default: the last one). Rejects with `CallOutOfRange`, or a `ReadError`.
   *
   * @example
   * await chat.turn({ client, model: 'claude-opus-5-5' })
   * const { request } = await chat.sent(1)
   */
  readonly sent: (call?: number | ModelCall) => Promise<SentCall>
  /**
   * Rebuilds every request that has a receipt from the log and compares them. A difference is a finding, not an error. Rejects with a
   * `ReadError`.
   *
   * @example
   * const { receipts, findings } = await chat.verifyReceipts()
   */
  readonly verifyReceipts: () => Promise<ReceiptVerification>
  /**
   * Writes what proves the conversation to others into a folder, with a program that checks it. docs/evidence.md. Rejects with a `ReadError`, or
   * `FileExists` if the folder is not empty.
   *
   * @example
   * const { events, requests } = await chat.evidence({ folder: 'evidence' })
   */
  readonly evidence: (options: EvidenceOptions) => Promise<Evidence>
  /**
   * Writes the conversation for other programs into a new file, as vCon or W3C PROV. docs/interchange.md. Rejects with a `ReadError`, or
   * `FileExists`.
   *
   * @example
   * const { events } = await chat.document({ file: 'task-42.vcon.json', format: 'vcon' })
   */
  readonly document: (options: DocumentOptions) => Promise<WrittenDocument>
}

/** A store with promises. */
export interface Store extends StoreOf<'promise', Conversation> {}

/** A worker with promises. */
export interface Worker extends WorkerOf<'promise'> {}

type AnyError = { readonly _tag: string; readonly message: string }

/** A method that always returns a promise, even if reading an argument throws. */
const promised =
  <A extends readonly unknown[], B>(method: (...args: A) => TaskEither<AnyError, B>) =>
  (...args: A): Promise<B> => {
    try {
      return toPromise(method(...args))
    } catch (error) {
      return Promise.reject(error)
    }
  }

/** Runs a TaskEither; a left becomes a rejection with an `Error` that has the same `_tag` and data. */
export const toPromise = <A>(task: TaskEither<AnyError, A>): Promise<A> =>
  task().then((result) => {
    if (E.isLeft(result)) throw toError(result.left)
    return result.right
  })

export const promiseConversation = (chat: TaskConversation): Conversation => {
  const { turn, stream } = turning(chat)
  const { approve, deny, withdraw, waiting } = deciding(chat)
  const { request, unpark, pause, resume, turnFacts } = requesting(chat)
  return {
    id: chat.id,
    append: promised(chat.append),
    configure: promised(chat.configure),
    condense: promised(chat.condense),
    truncate: promised(chat.truncate),
    restore: promised(chat.restore),
    rewind: promised(chat.rewind),
    undo: promised(chat.undo),
    execute: promised(chat.execute),
    fork: async (...args) => promiseConversation(await toPromise(chat.fork(...args))),
    preview: promised(chat.preview),
    exists: promised(chat.exists),
    position: promised(chat.position),
    end: promised(chat.end),
    effective: promised(chat.effective),
    context: promised(chat.context),
    full: promised(chat.full) as FullReader<'promise'>,
    render: promised(chat.render),
    diff: promised(chat.diff),
    timeline: promised(chat.timeline),
    events: chat.events,
    note: promised(chat.note),
    link: promised(chat.link),
    notes: promised(chat.notes),
    links: promised(chat.links),
    stored: chat.stored,
    verify: promised(chat.verify),
    turn: promised(turn),
    stream,
    say: promised(saying(chat)),
    cancel: promised(cancelling(chat)),
    queued: promised(queuedIn(chat)),
    request: promised(request),
    unpark: promised(unpark),
    pause: promised(pause),
    resume: promised(resume),
    turnFacts,
    approve: promised(approve),
    deny: promised(deny),
    withdraw: promised(withdraw),
    waiting: promised(waiting),
    tokens: promised((options?: CountOptions) => tokensOf(chat, options)),
    calls: () => modelCalls(chat),
    sent: promised((call?: number | ModelCall) => sentCall(chat, call)),
    verifyReceipts: promised(() => verifyReceipts(chat)),
    // Few programs need it.
    evidence: async (options) => {
      const { exportEvidence } = await import('../audit/evidence/export.ts')
      return toPromise(exportEvidence(chat, options))
    },
    document: async (options) => {
      const { exportDocument } = await import('../audit/evidence/document.ts')
      return toPromise(exportDocument(chat, options))
    },
  }
}

export const promiseStore = (store: TaskStore): Store => ({
  url: store.url,
  worker: (options) => {
    const worker = store.worker({
      ...options,
      ...(typeof options?.turn === 'function' && {
        turn: ({ id, chat }) => options.turn({ id, chat: promiseConversation(chat) }),
      }),
    } as Parameters<TaskStore['worker']>[0])
    return { id: worker.id, run: promised(worker.run) }
  },
  workerStopped: promised(store.workerStopped),
  pauseWorker: promised(store.pauseWorker),
  resumeWorker: promised(store.resumeWorker),
  steps: store.steps,
  workers: store.workers,
  conversation: (id) => promiseConversation(store.conversation(id)),
  conversations: store.conversations,
  importSession: promised(store.importSession),
  readAll: store.readAll,
  follow: store.follow,
  catalogue: {
    outline: promised(store.catalogue.outline),
    overview: promised(store.catalogue.overview),
    hidden: promised(store.catalogue.hidden),
    hiddenBy: promised(store.catalogue.hiddenBy),
    calls: promised(store.catalogue.calls),
    branches: promised(store.catalogue.branches),
    fates: promised(store.catalogue.fates),
    search: promised(store.catalogue.search),
    find: promised(store.catalogue.find),
  },
  audit: {
    init: promised(store.audit.init),
    seal: promised(store.audit.seal),
    follow: promised(store.audit.follow),
    rotateKey: promised(store.audit.rotateKey),
    status: promised(store.audit.status),
    patrol: promised(store.audit.patrol),
    proof: promised(store.audit.proof),
    standing: promised(store.audit.standing),
    recordExport: promised(store.audit.recordExport),
    exports: store.audit.exports,
    verify: store.audit.verify,
  },
  check: promised(store.check),
  backup: promised(store.backup),
  gc: promised(store.gc),
  blob: store.blob,
  close: promised(store.close),
})
