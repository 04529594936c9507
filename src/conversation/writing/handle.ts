import * as E from 'fp-ts/lib/Either.js'
import { decideAppend, isAppend, isBlind } from '../../commands/append.ts'
import type { Command, ConversationCommand } from '../../commands/command.ts'
import type { Actor, Workspace } from '../../events/events.ts'
import { streamOf } from '../../events/ids.ts'
import type { CommandRejection } from '../../commands/rejections.ts'
import { unwrap, run, type Fallible } from '../../result/fallible.ts'
import type { ForkError, StoreError, WriteError } from '../../store/errors.ts'
import { isTriedAgain } from '../../store/conflicts.ts'
import { createLruCache } from '../../store/lru.ts'
import { type EventStore, maxPage, type RecordedEvent } from '../../store/port.ts'
import { type CommandDecision, decideOn } from './command-decision.ts'
import { earlier, findEarlier } from './earlier.ts'
import {
  type Chain,
  type CompleteEnvelope,
  completeEnvelope,
  encodeChain,
  type CommandEnvelope,
  type WriteResult,
  writeResultAt,
} from './encode.ts'
import {
  chainEndAt,
  chainEndOf,
  continues,
  headAfter,
  headFrom,
  lastPosition,
  readConversationEnd,
  type StreamHead,
} from '../reading/ends.ts'
import { forks } from './fork.ts'
import { inOrder } from './in-order.ts'
import { momentAfter, momentsOf, sizeOf } from '../reading/moments.ts'
import { placeEvents } from './place-events.ts'
import type { Own } from '../reading/lineage.ts'
import type { TypedError } from '../../result/typed-error.ts'
import { withNearest } from '../reading/nearest-conversation.ts'
import { firstPage, type Reader, reader, walkBack } from '../reading/reader.ts'

type Result<A> = Promise<E.Either<WriteError, A>>

type Handle = (
  conversation: string,
  command: ConversationCommand,
  envelope: CommandEnvelope,
) => Result<WriteResult>

export interface Handler {
  readonly handle: <T extends ConversationCommand['type']>(
    conversation: string,
    command: Command<T>,
    envelope: CommandEnvelope,
  ) => Promise<E.Either<StoreError | CommandRejection<T>, WriteResult>>
  readonly fork: (
    conversation: string,
    command: Command<'fork'>,
    envelope: CommandEnvelope,
  ) => Promise<E.Either<ForkError, WriteResult>>
  /**
   * Records a read: the event that a conversation ends with and, optionally, the history shown there. The next command is decided on
   * this basis.
   */
  readonly saw: (conversation: string, ...read: Parameters<NonNullable<Own['saw']>>) => void
}

/** A rewind, as the functions that are called before and after it see it. */
export interface RewindStep {
  readonly conversation: string
  /** Last position of the conversation before the rewind. */
  readonly from: number
  /** Position that the conversation returns to; -1 for the empty conversation. */
  readonly to: number
  /** State of the files at that position, if it was recorded. */
  readonly workspace?: Workspace | undefined
}

/**
 * Functions that are called when this program rewinds a conversation: `rewind`, `undo`, `append` with `rewindTo`, and `say` with
 * `rollback`. Imports and the writes with which a turn keeps messages in order do not call them.
 */
export interface RewindHooks {
  /**
   * Called before a rewind is written. If it throws, nothing is written, and the method throws the same error. It may read the
   * conversation; a write to it would wait for the rewind. Called again if somebody else writes to the conversation meanwhile.
   */
  readonly beforeRewind?: ((step: RewindStep) => void | Promise<void>) | undefined
  /** Called once the rewind is written. If it throws, the method throws the same error, and the rewind stays. */
  readonly afterRewind?: ((step: RewindStep) => void | Promise<void>) | undefined
}

/** Reports whether a command returns the conversation to an earlier moment for good: not if the messages since are recorded again. */
const isRewind = (command: ConversationCommand): boolean =>
  command.type === 'rewind' ||
  command.type === 'undo' ||
  (isAppend(command) && command.rewindTo !== undefined && !command.again)

/** Reads the state of the files at a position, which the last event on its path with a recorded state tells. */
async function* workspaceAt(reading: Reader, position: number): Fallible<WriteError, Workspace | undefined> {
  let found: Workspace | undefined
  const walk = walkBack(reading, position, 0, ({ metadata }) => (found = metadata.workspace) !== undefined)
  yield* unwrap(await walk)
  return found
}

/** A conversation's end and, if they were just read, its newest events, newest first. */
interface Seen {
  readonly known: StreamHead
  readonly page?: readonly RecordedEvent[]
}

/** Reports whether content may have been erased since a remembered end, given the newest events of the conversation. */
const mayBeErased = (page: readonly RecordedEvent[], { revision }: StreamHead): boolean => {
  const later = page.filter((event) => event.revision > revision)
  const isGap = (page[0]?.revision ?? -1) - revision > later.length
  return isGap || later.some(({ type }) => type === 'Erased')
}

/** Decides an append that needs no read from the store. */
const decideBlind = (
  conversation: string,
  known: StreamHead,
  command: Command<'append'>,
): E.Either<WriteError, CommandDecision> => {
  const decision = decideAppend(command, { conversation, last: lastPosition(known), since: [] })
  return E.isLeft(decision) ? decision : E.right({ events: decision.right })
}

const maxEnds = 10_000
/**
 * Maximum size, in characters of JSON, of a history that a read keeps for the next command. Measuring a larger history takes longer
 * than keeping it would save.
 */
const mostSeen = 4 * 1024 * 1024

/**
 * Returns a handler of commands. Each command is decided on the conversation's end as this process remembers it, and appended there. If
 * that is no longer the end, or if the command would be refused, the handler reads the end and decides the command again. Commands of
 * this process on one conversation run in the order given.
 */
export const handler = (
  store: EventStore,
  defaultActor: Actor,
  { beforeRewind, afterRewind }: RewindHooks = {},
): Handler => {
  const ends = createLruCache<StreamHead>(maxEnds)
  const moments = momentsOf()
  const queue = inOrder()

  /**
   * Returns the number of newest events to read at once. For a restore whose marker's slots are not remembered, this is a full page, so
   * that the slots need not be read separately for each segment of an earlier view.
   */
  const aheadOf = (conversation: string, command: ConversationCommand): number =>
    command.type === 'restore' && !moments.tell(conversation, command.marker) ? maxPage : firstPage

  /** Reads the conversation's end, together with as many of the events before it as the command is expected to need. */
  async function* look(conversation: string, command: ConversationCommand): Fallible<WriteError, Seen> {
    const before = ends.get(conversation)
    // Forgotten until the current end has been read.
    ends.forget(conversation)
    const limit = isAppend(command) ? 1 : aheadOf(conversation, command)
    const read = yield* unwrap(readConversationEnd(store, conversation, before?.lineage, limit))
    const known = headFrom(yield* chainEndOf(conversation, read), read.last?.type)
    if (before && (!continues(known, before) || mayBeErased(read.page, before))) moments.forget(conversation)
    // Not remembered if the conversation does not exist yet, because it may be created as a fork.
    if (known.revision >= 0) ends.set(conversation, known)
    return { known, page: read.page }
  }

  /** Returns the end on which to decide the command or, if the command is a repeat, the result of its first execution. */
  async function* begin(
    conversation: string,
    command: ConversationCommand,
    envelope: CompleteEnvelope,
    remembers: StreamHead | undefined,
  ): Fallible<WriteError, Seen | WriteResult> {
    const [looked, found] = await Promise.all([
      remembers ? E.right({ known: remembers }) : run(look(conversation, command)),
      findEarlier(store, conversation, envelope)(),
    ])
    const seen = yield* unwrap(looked)
    return (yield* earlier(store, conversation, envelope, seen.known, yield* unwrap(found))) ?? seen
  }

  const append = (
    conversation: string,
    { revision: expected }: StreamHead,
    { events }: Chain,
    isNamed: boolean,
  ) =>
    store.append({
      stream: streamOf(conversation),
      events,
      expected,
      repeat: isNamed ? 'silent' : 'none',
    })()

  /** Remembers the conversation's end and history after the written events, for the next command. */
  const note = (conversation: string, known: StreamHead, decided: CommandDecision, chain: Chain): void => {
    const { events, moment, from = known.head, to } = decided
    ends.set(conversation, headAfter({ ...known, head: from }, events, chain.hash, to))
    const read = moment && placeEvents(conversation, known, chain)
    const after = read && E.isRight(read) ? momentAfter(moment, read.right) : undefined
    if (after) moments.keep(conversation, after)
  }

  // Code that runs after a wait for the disk finds the CPU caches cold. Therefore an append that needs no read waits only for its
  // write, and no function waits for this one only to clean up after it.
  const carryOut = async (
    conversation: string,
    command: ConversationCommand,
    envelope: CompleteEnvelope,
    done: () => void,
    onRewound?: (step: RewindStep) => void,
  ): Result<WriteResult> => {
    let rewind: RewindStep | undefined
    try {
      for (let tries = 1; ; tries++) {
        const remembers = tries === 1 ? ends.get(conversation) : undefined
        const begun =
          remembers && !envelope.isNamed
            ? E.right({ known: remembers })
            : await run(begin(conversation, command, envelope, remembers))
        if (E.isLeft(begun)) return begun
        if ('events' in begun.right) return E.right(begun.right)
        const { known, page }: Seen = begun.right
        const decided = isBlind(command)
          ? decideBlind(conversation, known, command)
          : await run(
              decideOn(
                conversation,
                {
                  reading: {
                    ...reader(store, known.lineage, { known: page }),
                    ahead: aheadOf(conversation, command),
                  },
                  known,
                  moments,
                },
                command,
              ),
            )
        // A command refused at the remembered end may be valid after events that others have written since.
        if (remembers && (E.isLeft(decided) || decided.right.events.length === 0)) continue
        if (E.isLeft(decided)) return decided
        const first = lastPosition(known) + 1
        if (decided.right.events.length === 0) return E.right(writeResultAt(conversation, first, []))
        const [event] = decided.right.events
        if (onRewound && event?.type === 'Rewound') {
          const { to } = event.data
          const files = await run(workspaceAt(reader(store, known.lineage), to))
          if (E.isLeft(files)) return files
          const { right: workspace } = files
          rewind = { conversation, from: first - 1, to, ...(workspace && { workspace }) }
          await beforeRewind?.(rewind)
        }
        const chain = encodeChain(conversation, known.hash, decided.right.events, envelope)
        if (E.isLeft(chain)) return chain
        const appended = await append(conversation, known, chain.right, envelope.isNamed)
        if (E.isRight(appended)) {
          // For a repeat, another writer stored the events, so the stored hash is not ours.
          if (appended.right === 'written') note(conversation, known, decided.right, chain.right)
          else ends.forget(conversation)
          if (rewind) onRewound?.(rewind)
          const own = envelope.isNamed ? [] : decided.right.events
          return E.right(writeResultAt(conversation, first, chain.right.events, own))
        }
        if (appended.left._tag !== 'Conflict') ends.forget(conversation)
        if (!(await isTriedAgain(appended.left, remembers ? 0 : tries))) return appended
      }
    } finally {
      done()
    }
  }

  const inTurn: Handle = (conversation, command, envelope) => {
    const complete = completeEnvelope(envelope, defaultActor)
    if ((beforeRewind || afterRewind) && isRewind(command)) return rewinding(conversation, command, complete)
    return queue(conversation, (done) => carryOut(conversation, command, complete, done))
  }

  const rewinding = async (
    conversation: string,
    command: ConversationCommand,
    envelope: CompleteEnvelope,
  ): Result<WriteResult> => {
    let step: RewindStep | undefined
    const onRewound = (rewound: RewindStep): void => void (step = rewound)
    const written = await queue(conversation, (done) =>
      carryOut(conversation, command, envelope, done, onRewound),
    )
    // Outside the queue, so that the function may write to the conversation.
    if (step) await afterRewind?.(step)
    return written
  }

  /** Adds the id that was probably meant to the error of a failed command. A successful one must not pay for it. */
  const withSuggestion = <Failed extends TypedError, A>(
    answer: E.Either<Failed, A>,
  ): E.Either<Failed, A> | Promise<E.Either<Failed, A>> =>
    E.isLeft(answer) ? withNearest(store, answer.left).then((error) => E.left(error)) : answer

  return {
    // Each type of command has its own rejections, given by the type of its decider.
    handle: ((conversation, command, envelope) =>
      inTurn(conversation, command, envelope).then(withSuggestion)) as Handler['handle'],
    saw: (conversation, lineage, last, moment) => {
      const { revision = -1 } = ends.get(conversation) ?? {}
      // The remembered end may be newer, because this process has written since the read.
      // Among the events that others have written since may be an erasure.
      if (revision >= 0 && revision < last.revision) moments.forget(conversation)
      if (revision < last.revision) ends.set(conversation, headFrom(chainEndAt(lineage, last), last.type))
      if (moment && sizeOf(moment.effective, mostSeen) <= mostSeen) moments.keep(conversation, moment)
    },
    fork: (conversation, command, envelope) =>
      forks(store, ends)(conversation, command, completeEnvelope(envelope, defaultActor)).then(
        withSuggestion,
      ),
  }
}
