import { randomUUID } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { Conversation } from '../conversation/conversation.ts'
import { type InvalidInput, invalidInput } from '../events/errors.ts'
import { isConversationId } from '../events/ids.ts'
import { errorText } from '../models/error-text.ts'
import { caught, run } from '../result/steps.ts'
import { checkedOptions, type Fields, kinds } from '../store/options.ts'
import type { TurnOptions } from '../turn/options.ts'
import type { TurnEvent } from '../turn/streamed.ts'
import type { Turned, TurnError } from '../turn/turned.ts'
import { turning } from '../turn/turns.ts'
import { ownClock } from './clock.ts'
import { type StepTaken, type Surroundings, work, type WorkerSettings } from './worker.ts'

/** A conversation that a worker serves. */
export interface Served<Chat> {
  readonly id: string
  readonly chat: Chat
}

/** An event in a turn that a worker gives. */
export interface ServedEvent {
  readonly conversation: string
  readonly event: TurnEvent
}

/** What a worker does. Times in milliseconds. */
export interface WorkerOptions<Chat> {
  /** How to give a turn to a conversation: the options of `turn`. Called for each attempt. */
  readonly turn: (served: Served<Chat>) => TurnOptions | Promise<TurnOptions>
  /** Begins the worker's id, by which the log names it. Default `worker`. */
  readonly name?: string | undefined
  /** How many conversations it works on at once. Default 8. */
  readonly slots?: number | undefined
  /** Only conversations whose id begins with one of these. Default: all. */
  readonly conversations?: readonly string[] | undefined
  /** Is told what happens in the turns. What it throws is ignored. */
  readonly onEvent?: ((served: ServedEvent) => void) | undefined
  /** Is told of each attempt that has ended. What it throws is ignored. */
  readonly onStep?: ((step: StepTaken) => void) | undefined
  /** A worker that says nothing for this long is taken for dead, and its steps are taken over. The same for all. Default 10,000. */
  readonly ttl?: number | undefined
  /** How long turns may continue once the worker is to stop. Default 30,000. */
  readonly grace?: number | undefined
}

/** A worker: it takes steps of conversations that wait for an answer, and gives them turns. */
export interface Worker {
  /** As the log names it: never used again. */
  readonly id: string
  /** Works until the signal aborts, then stops: no further step is taken, and those in work have `grace` to end. */
  readonly run: (options?: { readonly signal?: AbortSignal | undefined }) => TaskEither<InvalidInput, void>
}

const fields: Fields<WorkerOptions<unknown>> = {
  turn: kinds.call,
  name: kinds.text,
  slots: kinds.several,
  conversations: kinds.texts,
  onEvent: kinds.call,
  onStep: kinds.call,
  ttl: kinds.several,
  grace: kinds.count,
}

/** How long each worker that should be quicker is waited for: a claim takes a few milliseconds. */
const rankWait = 25

/** What a listener throws is its own affair: turns continue. */
const quietly =
  <T>(listener: ((told: T) => void) | undefined) =>
  (told: T): void => {
    try {
      listener?.(told)
    } catch {
      // Nobody is there to be told.
    }
  }

const settle = <Chat>(
  {
    turn,
    slots = 8,
    conversations = [''],
    onEvent,
    onStep,
    ttl = 10_000,
    grace = 30_000,
  }: WorkerOptions<Chat>,
  edge: (chat: Conversation) => Chat,
): WorkerSettings => ({
  slots,
  conversations,
  ttl,
  rankWait,
  grace,
  onStep: quietly(onStep),
  give: (chat, signal) => giveTurn(chat, signal, () => turn({ id: chat.id, chat: edge(chat) }), onEvent),
})

/** Gives one turn; whatever goes wrong, in the program's own functions too, is an attempt that has failed. */
const giveTurn = async (
  chat: Conversation,
  ends: AbortSignal,
  optionsOf: () => TurnOptions | Promise<TurnOptions>,
  onEvent: ((served: ServedEvent) => void) | undefined,
): Promise<E.Either<TurnError, Turned>> => {
  const tell = quietly(onEvent)
  const given = async (): Promise<E.Either<TurnError, Turned>> => {
    const options = await optionsOf()
    const signal = options.signal ? AbortSignal.any([ends, options.signal]) : ends
    // What is left of a reply that another worker has to give would stand in its way.
    const own = { ...options, signal, keepPartial: false }
    if (!onEvent) return turning(chat).turn(own)()
    return run(
      caught<TurnError & Error, Turned>(async () => {
        for await (const event of turning(chat).stream(own)) {
          tell({ conversation: chat.id, event })
          if (event.type === 'done') return event.turned
        }
        throw new Error('the turn has ended without a result')
      }),
    )
  }
  try {
    return await given()
  } catch (error) {
    return E.left({ _tag: 'ModelFailed', message: errorText(error), cause: error })
  }
}

/** @param edge the conversation as the program takes it */
export const serving = <Chat>(
  surroundings: Omit<Surroundings, 'clock'>,
  options: WorkerOptions<Chat>,
  edge: (chat: Conversation) => Chat,
): Worker => {
  const checked = checkedOptions(options, fields as Fields<WorkerOptions<Chat>>)
  const name = E.isRight(checked) ? (checked.right.name ?? 'worker') : 'worker'
  const id = `${name}-${randomUUID()}`
  const settings = (): E.Either<InvalidInput, WorkerSettings> => {
    if (E.isLeft(checked)) return checked
    const { turn } = checked.right
    if (!turn) return E.left(invalidInput('turn', 'is a function that returns the options of a turn'))
    if (!isConversationId(id)) return E.left(invalidInput('name', 'has letters, digits and . _ : - only'))
    return E.right(settle({ ...checked.right, turn }, edge))
  }
  return {
    id,
    run:
      ({ signal = new AbortController().signal } = {}) =>
      async () => {
        const settled = settings()
        if (E.isLeft(settled)) return settled
        return E.right(await work(id, settled.right, { ...surroundings, clock: ownClock }, signal))
      },
  }
}
