import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { z } from 'zod'
import { isStale } from '../../../commands/rejections.ts'
import { isTurn } from '../../../commands/state.ts'
import { blocksOf } from '../../../commands/append.ts'
import type { ConversationHandle } from '../../../conversation/conversation.ts'
import { withoutOversized } from '../../../conversation/writing/writer.ts'
import { objectOf, splitEnvelope } from '../../../conversation/writing/envelope.ts'
import type { MessageInput } from '../../../conversation/writing/inputs.ts'
import type { PositionOption } from '../../../conversation/reading/conversation-reader.ts'
import { check, checkJson } from '../../../events/check.ts'
import { type InvalidInput, invalidInput } from '../../../events/errors.ts'
import { newMessage, type NewMessage } from '../../../events/new-message.ts'
import { START } from '../../../events/events.ts'
import type { CommandEnvelope, WriteResult } from '../../../conversation/writing/encode.ts'
import type { QueuedMessage } from '../../../conversation/beside/inbox.ts'
import { unwrap, run, type Fallible, task } from '../../../result/fallible.ts'
import type { ReadError, StoreError, WriteError } from '../../../store/errors.ts'
import { checkOptions, kinds } from '../../../store/options.ts'
import { areAnswered } from '../calls/said-results.ts'
import { busy, type Busy, isBusy, turnStart } from './busy.ts'
import { moveIn } from './inbox-moves.ts'

const policies = ['enqueue', 'interrupt', 'rollback', 'reject'] as const

type Policy = (typeof policies)[number]

export interface SayOptions extends Omit<CommandEnvelope, 'interrupts'> {
  /**
   * Behaviour while the conversation awaits the model, or results of its calls.
   *
   * - `enqueue`: hold the message, and append it after the reply, or after the results of the reply's calls.
   * - `interrupt`: append it at once; a turn drops the reply in progress, and answers both messages.
   * - `rollback`: rewind to before the user message that began the turn, and append this one instead.
   * - `reject`: write nothing (`Busy`).
   *
   * Default `enqueue`.
   */
  readonly whileBusy?: Policy | undefined
}

/** Outcome for a message: recorded in the conversation, or queued in its inbox. */
export type SayResult =
  | { readonly status: 'recorded'; readonly conversation: string; readonly position: number }
  | { readonly status: 'queued'; readonly conversation: string; readonly id: string }
export type SayError = WriteError | ReadError | Busy

/** Messages queued in the inbox of a conversation. */
export interface QueuedMessages {
  readonly id: string
  /** Time at which the messages were queued: ISO 8601. */
  readonly time: string
  readonly messages: readonly NewMessage[]
}

type Says<A> = Fallible<SayError, A>

/** Maximum number of retries when concurrent events prevent the message from being recorded. */
const maxStale = 100

/** Returns a function that records a user message at any time: at once, or after the reply in progress. */
export const createSayMethod = (chat: ConversationHandle) => {
  const recorded = ({ position }: WriteResult): SayResult => ({
    status: 'recorded',
    conversation: chat.id,
    position,
  })

  /** Returns the outcome for queued messages. Looks at the conversation after they are written, as a turn looks at the inbox. */
  async function* queued({ id, data, metadata }: QueuedMessage): Says<SayResult> {
    const now = yield* chat.begun()
    if (now && (yield* isBusy(chat, now))) {
      const pending = yield* chat.inbox.pending()
      const isQueued = pending.some((other) => other.id === id)
      if (isQueued && areAnswered(now, pending)) yield* moveIn(chat, pending)
      else if (isQueued) return { status: 'queued', conversation: chat.id, id }
    } else yield* moveIn(chat)
    return recorded(yield* unwrap(chat.record(data.messages, { commandId: metadata.commandId })))
  }

  async function* rollback(messages: readonly NewMessage[], envelope: CommandEnvelope): Says<WriteResult> {
    const { at } = yield* unwrap(chat.context())
    const start = yield* turnStart(chat, at)
    const options = start === undefined ? {} : { rewindTo: start - 1, after: at }
    return yield* unwrap(chat.record(messages, { ...envelope, ...options }))
  }

  /** Returns the last position, and whether the conversation is busy. The history read for this is not kept, to save memory. */
  async function* busyNow(): Says<{ readonly at: number; readonly isNow: boolean }> {
    const now = yield* chat.begun()
    return { at: now?.at ?? START, isNow: now !== undefined && (yield* isBusy(chat, now)) }
  }

  async function* once({ messages, whileBusy, envelope }: Checked): Says<SayResult> {
    const { commandId } = envelope
    if (commandId !== undefined) {
      if (yield* chat.inbox.isSaid(commandId)) return recorded(yield* unwrap(chat.record(messages, envelope)))
      const earlier = yield* chat.inbox.find(commandId)
      if (earlier) return yield* queued(earlier)
    }
    const { at, isNow } = yield* busyNow()
    if (isNow && whileBusy === 'reject') return yield busy(chat.id)
    if (isNow && whileBusy === 'enqueue')
      return yield* queued(yield* chat.inbox.queue(messages, at, envelope))
    // Messages that were queued earlier come first.
    const isMoved = yield* moveIn(chat)
    if (isMoved && whileBusy === 'reject') return yield busy(chat.id)
    if (isNow && whileBusy === 'rollback') return recorded(yield* rollback(messages, envelope))
    const fence = whileBusy === 'reject' && { after: at }
    const interrupts = isNow && { interrupts: true as const }
    return recorded(yield* unwrap(chat.record(messages, { ...envelope, ...fence, ...interrupts })))
  }

  async function* said(checked: Checked): Says<SayResult> {
    for (let stale = 0; ; stale++) {
      const done = await run(once(checked))
      if (!isStale(done) || stale === maxStale) return yield* unwrap(done)
    }
  }

  /** Promise that settles when the previous message has been handled; never rejects. */
  let before: Promise<unknown> = Promise.resolve()

  return (
    message: MessageInput | readonly MessageInput[],
    options: SayOptions = {},
  ): TaskEither<SayError, SayResult> =>
    task(async function* (): Says<SayResult> {
      const checked = yield* unwrap(checkedSay(message, options))
      // In the order of the calls, like appends. This also keeps a process from competing with itself for the inbox.
      const mine = before.then(() => run(said(checked)))
      before = mine.catch(() => undefined)
      return yield* unwrap(mine)
    })
}

/** Returns the contents of a conversation's inbox, in the order in which they were queued. */
export const createQueuedMethod =
  (chat: ConversationHandle) =>
  (options?: PositionOption): TaskEither<StoreError | InvalidInput, readonly QueuedMessages[]> =>
    task(async function* (): Fallible<StoreError | InvalidInput, readonly QueuedMessages[]> {
      const { at } = yield* unwrap(checkOptions(options, { at: kinds.position }))
      const pending = yield* chat.inbox.pending(at)
      return pending.map(({ id, data, metadata }) => ({ id, time: metadata.time, messages: data.messages }))
    })

interface Checked {
  readonly messages: readonly NewMessage[]
  readonly whileBusy: Policy
  readonly envelope: CommandEnvelope
}

const optionsSchema = z.strictObject({
  whileBusy: z.enum(policies, { error: `must be one of ${policies.join(', ')}` }).optional(),
})

/** Checks and copies a message synchronously, because the caller may change the objects later. */
const checkedSay = (message: unknown, options: unknown): E.Either<InvalidInput, Checked> => {
  const given = checkJson(spoken, Array.isArray(message) ? message : [message])
  if (E.isLeft(given)) return E.left(invalidInput(`messages${given.left.path}`, given.left.message))
  const messages = given.right
  const sized = withoutOversized(messages)
  if (E.isLeft(sized)) return sized
  const split = E.flatMap(splitEnvelope)(objectOf(options, "{ whileBusy: 'interrupt' }"))
  if (E.isLeft(split)) return split
  const { input, envelope } = split.right
  const own = check(optionsSchema, input)
  return E.isLeft(own) ? own : E.right({ messages, envelope, whileBusy: own.right.whileBusy ?? 'enqueue' })
}

const spoken = z
  .array(
    newMessage
      .refine((message) => isTurn({ ...message, content: blocksOf(message.content) }), {
        error: 'must be a user message: for replies and tool results, use append',
      })
      .refine(({ content }) => typeof content !== 'string' || content.trim() !== '', {
        error: 'is empty: nothing was written',
        path: ['content'],
      }),
  )
  .min(1)
