import * as E from 'fp-ts/lib/Either.js'
import type { Command } from '../commands/command.ts'
import { fork } from '../commands/fork.ts'
import { conversationNotFound } from '../commands/rejections.ts'
import { hashOf } from '../events/codec.ts'
import { streamOf } from '../events/ids.ts'
import type { ForkError } from '../store/errors.ts'
import type { Remembered } from '../store/lru.ts'
import type { EventStore, RecordedEvent } from '../store/port.ts'
import { earlier, findEarlier } from './earlier.ts'
import { type CompleteEnvelope, encodeChain, type Written, writtenAt } from './encode.ts'
import { type ChainEnd, chainEndAt, lastPosition, readChainEnd, readConversationEnd } from './ends.ts'
import { type Known, knownAfter } from './known.ts'
import type { Lineage } from './lineage.ts'
import { recordedAt } from './reader.ts'

type Result<A> = Promise<E.Either<ForkError, A>>
type Forks = (conversation: string, command: Command<'fork'>, envelope: CompleteEnvelope) => Result<Written>

/**
 * Forks a conversation. Whether there is one of the new name already, the append finds out: only if it does, that one is read.
 *
 * @param ends what is remembered of conversations' ends
 */
export const forks = (store: EventStore, ends: Remembered<Known>): Forks => {
  /** The end of the parent as of now; as remembered, where the fork begins before it: that stays. */
  const endOfParent = async (conversation: string, at: number | undefined): Result<ChainEnd> => {
    const known = ends.get(conversation)
    if (known && at !== undefined && at <= lastPosition(known)) return E.right(known)
    const ending = await readConversationEnd(store, conversation, known?.lineage)
    if (E.isLeft(ending)) return ending
    const { lineage, last, unfinished } = ending.right
    if (unfinished && !last) return E.left(conversationNotFound(conversation))
    return E.right(chainEndAt(lineage, last))
  }

  const hashAt = async (end: ChainEnd, position: number): Result<string | undefined> => {
    if (position === lastPosition(end)) return E.right(end.hash ?? undefined)
    const event = await recordedAt(store, end.lineage, position)
    return E.map((recorded: RecordedEvent | undefined) => recorded && hashOf(recorded))(event)
  }

  const forkAt = async (
    conversation: string,
    command: Command<'fork'>,
    envelope: CompleteEnvelope,
    target: ChainEnd,
  ): Result<Written> => {
    const [parent, found] = await Promise.all([
      endOfParent(conversation, command.at),
      findEarlier(store, command.id, envelope),
    ])
    if (E.isLeft(parent)) return parent
    if (E.isLeft(found)) return found
    const there = found.right.revision === undefined ? E.right(target) : await readChainEnd(store, command.id)
    if (E.isLeft(there)) return there
    const before = await earlier(store, command.id, envelope, there.right, found.right)
    if (E.isLeft(before)) return before
    if (before.right) return E.right(before.right)
    const last = lastPosition(parent.right)
    const position = command.at ?? last
    const hash = await hashAt(parent.right, position)
    if (E.isLeft(hash)) return hash
    const events = fork(command, { conversation, last, hash: hash.right, exists: target.revision >= 0 })
    if (E.isLeft(events)) return events
    const own = {
      conversation: command.id,
      stream: streamOf(command.id),
      offset: position + 1,
      last: Infinity,
    }
    const lineage = [own, ...below(parent.right.lineage, position)]
    const end = { lineage, revision: -1, hash: hash.right ?? null }
    const chain = encodeChain(command.id, end.hash, events.right, envelope)
    if (E.isLeft(chain)) return chain
    const { isNamed } = envelope
    const appended = await store.append({
      stream: own.stream,
      events: chain.right.events,
      expected: -1,
      findable: isNamed,
      isNew: !isNamed,
      isUnasked: isNamed,
    })()
    if (E.isRight(appended) && appended.right === 'written')
      ends.set(command.id, knownAfter(end, events.right, chain.right.hash))
    return E.map(() => writtenAt(command.id, position + 1, chain.right.events))(appended)
  }

  return async (conversation, command, envelope) => {
    const own = { conversation: command.id, stream: streamOf(command.id), offset: 0, last: Infinity }
    const forked = await forkAt(conversation, command, envelope, { lineage: [own], revision: -1, hash: null })
    if (E.isRight(forked) || forked.left._tag !== 'Conflict') return forked
    // There is such a conversation, maybe by the same command: a second look tells.
    const target = await readChainEnd(store, command.id)
    return E.isLeft(target) ? target : forkAt(conversation, command, envelope, target.right)
  }
}

/** What a fork at a position has of its parent's lineage. */
const below = (lineage: Lineage, position: number): Lineage =>
  lineage
    .filter(({ offset }) => offset <= position)
    .map((stretch) => ({ ...stretch, last: Math.min(stretch.last, position) }))
