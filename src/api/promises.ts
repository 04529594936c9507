import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { modelCalls, type ReceiptsVerified, verifyReceipts } from '../receipts/audit.ts'
import type { ModelCall } from '../receipts/calls.ts'
import { type SentCall, sentCall } from '../receipts/sent.ts'
import { type Counted, type CountOptions, tokensOf } from '../context/tokens/count.ts'
import { turning } from '../turn/turns.ts'
import type { TurnEvent } from '../turn/streamed.ts'
import { cancelling, type CancelOptions } from '../turn/say/cancel.ts'
import { queuedIn, type QueuedMessages, type Said, saying, type SayOptions } from '../turn/say/say.ts'
import { type Approval, type Awaited, type Decided, deciding, type Denial } from '../turn/calls/decisions.ts'
import type { Turned } from '../turn/turned.ts'
import type { TurnOptions } from '../turn/options.ts'
import type { Conversation as TaskConversation } from '../conversation/conversation.ts'
import type { MessageInput } from '../conversation/inputs.ts'
import type { Entries, Entry, FullWithNotes, FullWithoutNotes } from '../conversation/reading.ts'
import { toError } from '../result/typed.ts'
import type { Asking } from '../events/events.ts'
import { type PauseOptions, requesting, type ResumeOptions, type UnparkOptions } from '../workers/requests.ts'
import type { Worker as TaskWorker } from '../workers/serving.ts'
import type { WorkerOptions } from '../workers/worker-options.ts'
import type { Store as TaskStore } from './store.ts'

// The edge between the library, which returns TaskEithers, and programs that use await: the same methods as promises that reject with
// the typed errors.

type AsPromise<F> = F extends (...args: infer A) => TaskEither<infer _, infer B>
  ? (...args: A) => Promise<Handle<B>>
  : F
type Handle<T> = T extends TaskConversation ? Conversation : T

/** Reads the full history, without or with the notes and links. */
interface FullReader {
  (options?: FullWithoutNotes): Promise<readonly Entry[]>
  (options: FullWithNotes): Promise<Entries>
}

/** A conversation with promises. */
export type Conversation = {
  // By `as`, which keeps what is said of each method.
  readonly [
    K in keyof TaskConversation as Exclude<K, 'full' | 'turnLog' | 'inbox' | 'changes' | 'party'>
  ]: AsPromise<TaskConversation[K]>
} & {
  /**
   * Every message and marker of the path, by position, each with what became of it; with `abandoned` (default false) also those of
   * abandoned branches, and with `notes` (default false) the notes and links, each after what has the position at which it was noted, or a
   * lower one. With `last` it reads those newest entries and what comes after them, else the whole log. Rejects with `OutOfRange`,
   * `ConversationNotFound`, or a `ReadError`.
   *
   * @example
   * const entries = await chat.full({ abandoned: true })
   * console.log(entries.filter(({ status }) => status !== 'active').length, 'are not shown')
   */
  readonly full: FullReader
  /**
   * Gives the turn to a model: makes the context fit, asks, records the reply, runs the tools that it asks for, records their
   * results, until the model stops. docs/turns.md. Rejects with a `TurnError`.
   *
   * @example
   * const { content } = await chat.turn({ client, model: 'claude-opus-5-5', maxCalls: 5 })
   */
  readonly turn: (options: TurnOptions) => Promise<Turned>
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
  readonly say: (message: MessageInput | readonly MessageInput[], options?: SayOptions) => Promise<Said>
  /**
   * Ends the turn that is being given to the conversation, in whichever process: it ends with `TurnCancelled`, and what is complete is
   * recorded. Cancels no turn that begins later. Rejects with a `NoteError` or a `ReadError`.
   *
   * @example
   * await chat.cancel({ by: 'kim', reason: 'wrong file' })
   */
  readonly cancel: (options?: CancelOptions) => Promise<void>
  /**
   * Asks workers to answer what is there, as `append` with `answer` does. Rejects with `ConversationNotFound`, or a `ReadError`.
   *
   * @example
   * await chat.request({ tenant: 'acme', priority: 1 })
   */
  readonly request: (options?: Asking) => Promise<void>
  /**
   * Has a parked step tried again. Rejects with `ConversationNotFound`, or a `ReadError`.
   *
   * @example
   * await chat.unpark({ by: 'ann' })
   */
  readonly unpark: (options: UnparkOptions) => Promise<void>
  /**
   * Has workers begin no step of the conversation until it is resumed: what is requested meanwhile waits. A turn in progress continues
   * (`cancel` ends it), and what people say, rewind or decide is recorded as ever. Rejects with `ConversationNotFound`, or a `ReadError`.
   *
   * @example
   * await chat.pause({ by: 'ann', reason: 'to be looked at' })
   */
  readonly pause: (options: PauseOptions) => Promise<void>
  /**
   * Has workers serve a paused conversation again. Rejects with `ConversationNotFound`, or a `ReadError`.
   *
   * @example
   * await chat.resume({ by: 'ann' })
   */
  readonly resume: (options: ResumeOptions) => Promise<void>
  /** What waits in the inbox, in the order in which it was said. Rejects with a `StoreError`. */
  readonly queued: () => Promise<readonly QueuedMessages[]>
  /**
   * Lets a call run that waits for an approval; the next turn runs it. `input` takes the place of the model's. The first decision counts:
   * rejects with `AlreadyDecided`, `NotWaiting` or a `ReadError`.
   *
   * @example
   * const { waiting } = await chat.turn({ client, model: 'claude-opus-5-5' })
   * for (const { call } of waiting) await chat.approve(call, { by: 'ann' })
   */
  readonly approve: (call: string, approval: Approval) => Promise<Decided>
  /**
   * The call is not run, and the model is told why. Rejects as `approve`.
   *
   * @example
   * for (const { call } of await chat.waiting()) await chat.deny(call, { by: 'ann', reason: 'Not on a Friday.' })
   */
  readonly deny: (call: string, denial: Denial) => Promise<Decided>
  /**
   * The calls that wait for an approval, or for a result from outside, in the order in which the model made them. Rejects with a
   * `ReadError`.
   *
   * @example
   * for (const { call, tool, input, why } of await chat.waiting()) console.log(call, tool, input, why)
   */
  readonly waiting: () => Promise<readonly Awaited[]>
  /**
   * How many tokens the next request has: counted from the log, and by the API if a client is given. Rejects with a `ReadError`, or a
   * `ModelError` of the client.
   *
   * @example
   * const { total } = await chat.tokens()
   */
  readonly tokens: (options?: CountOptions) => Promise<Counted>
  /**
   * The calls of a model that have a receipt, in the order of their answers. Iteration throws a `ReadError`.
   *
   * @example
   * for await (const { position, receipt } of chat.calls()) console.log(position, receipt.digest)
   */
  readonly calls: () => AsyncIterable<ModelCall>
  /**
   * What the model was sent in the call with this number, from 1 (default: the last one). Rejects with `CallOutOfRange`, or a `ReadError`.
   *
   * @example
   * await chat.turn({ client, model: 'claude-opus-5-5' })
   * const { request } = await chat.sent(1)
   */
  readonly sent: (call?: number) => Promise<SentCall>
  /**
   * Rebuilds every request that has a receipt from the log and compares them. A difference is a finding, not an error. Rejects with a
   * `ReadError`.
   *
   * @example
   * const { receipts, findings } = await chat.verifyReceipts()
   */
  readonly verifyReceipts: () => Promise<ReceiptsVerified>
}
/** A store with promises. */
export type Store = Omit<
  { readonly [K in keyof TaskStore]: AsPromise<TaskStore[K]> },
  'conversation' | 'worker'
> & {
  /**
   * A worker: gives turns to the conversations for which somebody has asked for an answer (`answer`, `request`), as one of any number of
   * processes, and takes over from workers that die. `run` resolves with how the worker has ended; it rejects with `InvalidInput` only.
   * docs/workers.md.
   *
   * @example
   * const worker = store.worker({ name: 'billing', turn: () => ({ client, model: 'claude-opus-5-5' }) })
   * await worker.run({ signal: AbortSignal.timeout(100) })
   */
  readonly worker: (options: WorkerOptions<Conversation>) => Worker
  /** The handle of a conversation, whether it exists yet or not. */
  readonly conversation: (id: string) => Conversation
}

/** A worker with promises. */
export interface Worker extends Omit<TaskWorker, 'run'> {
  /** Works until the signal aborts, then stops: no further step is taken, and those in work have `grace` to end. */
  readonly run: AsPromise<TaskWorker['run']>
}

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
  const { approve, deny, waiting } = deciding(chat)
  const { request, unpark, pause, resume } = requesting(chat)
  return {
    id: chat.id,
    append: promised(chat.append),
    configure: promised(chat.configure),
    condense: promised(chat.condense),
    truncate: promised(chat.truncate),
    restore: promised(chat.restore),
    rewind: promised(chat.rewind),
    undo: promised(chat.undo),
    fork: async (...args) => promiseConversation(await toPromise(chat.fork(...args))),
    position: promised(chat.position),
    effective: promised(chat.effective),
    context: promised(chat.context),
    full: promised(chat.full) as FullReader,
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
    approve: promised(approve),
    deny: promised(deny),
    waiting: promised(waiting),
    tokens: promised((options?: CountOptions) => tokensOf(chat, options)),
    calls: () => modelCalls(chat),
    sent: promised((call?: number) => sentCall(chat, call)),
    verifyReceipts: promised(() => verifyReceipts(chat)),
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
  check: promised(store.check),
  backup: promised(store.backup),
  gc: promised(store.gc),
  close: promised(store.close),
})
