import * as E from 'fp-ts/lib/Either.js'
import type { Command } from '../../commands/command.ts'
import { fork } from '../../commands/fork.ts'
import { conversationNotFound } from '../../commands/rejections.ts'
import { hashOf } from '../../events/codec.ts'
import { streamOf } from '../../events/ids.ts'
import { unwrap, run, type Fallible } from '../../result/fallible.ts'
import type { ForkError } from '../../store/errors.ts'
import type { LruCache } from '../../store/lru.ts'
import type { EventStore } from '../../store/port.ts'
import { earlier, findEarlier } from './earlier.ts'
import { type CompleteEnvelope, encodeChain, type WriteResult, writeResultAt } from './encode.ts'
import {
  type ChainEnd,
  chainEndAt,
  lastPosition,
  readChainEnd,
  readConversationEnd,
} from '../reading/ends.ts'
import { type StreamHead, headAfter } from '../reading/ends.ts'
import { type Lineage, rootLineage } from '../reading/lineage.ts'
import { readRecordedAt } from '../reading/reader.ts'

type Result<A> = Promise<E.Either<ForkError, A>>
type Forks = (
  conversation: string,
  command: Command<'fork'>,
  envelope: CompleteEnvelope,
) => Result<WriteResult>

/**
 * Returns the function that forks a conversation. The append fails if the new id is taken; only in that case is the conversation with
 * that id read.
 *
 * @param ends the remembered ends of conversations
 */
export const forks = (store: EventStore, ends: LruCache<StreamHead>): Forks => {
  /**
   * Returns the parent's current end. If the fork begins at or before the remembered end, returns that instead, because earlier events
   * never change.
   */
  async function* endOfParent(conversation: string, at: number | undefined): Fallible<ForkError, ChainEnd> {
    const known = ends.get(conversation)
    if (known && at !== undefined && at <= lastPosition(known)) return known
    const { lineage, last, unfinished } = yield* unwrap(
      readConversationEnd(store, conversation, known?.lineage),
    )
    if (unfinished && !last) return yield conversationNotFound(conversation)
    return chainEndAt(lineage, last)
  }

  async function* hashAt(end: ChainEnd, position: number): Fallible<ForkError, string | undefined> {
    if (position === lastPosition(end)) return end.hash ?? undefined
    const event = yield* unwrap(readRecordedAt(store, end.lineage, position))
    return event && hashOf(event)
  }

  async function* forkAt(
    conversation: string,
    command: Command<'fork'>,
    envelope: CompleteEnvelope,
    target: ChainEnd,
  ): Fallible<ForkError, WriteResult> {
    const [ending, looked] = await Promise.all([
      run(endOfParent(conversation, command.at)),
      findEarlier(store, command.id, envelope)(),
    ])
    const parent = yield* unwrap(ending)
    const found = yield* unwrap(looked)
    const there = found.revision === undefined ? target : yield* readChainEnd(store, command.id)
    const before = yield* earlier(store, command.id, envelope, there, found)
    if (before) return before
    const last = lastPosition(parent)
    const position = command.at ?? last
    const hash = yield* hashAt(parent, position)
    const events = yield* unwrap(fork(command, { conversation, last, hash, exists: target.revision >= 0 }))
    const own = {
      conversation: command.id,
      stream: streamOf(command.id),
      offset: position + 1,
      last: Infinity,
    }
    const end = { lineage: [own, ...below(parent.lineage, position)], revision: -1, hash: hash ?? null }
    const chain = yield* unwrap(encodeChain(command.id, end.hash, events, envelope))
    const { isNamed } = envelope
    const appended = yield* unwrap(
      store.append({
        stream: own.stream,
        events: chain.events,
        expected: -1,
        repeat: isNamed ? 'silent' : 'none',
      }),
    )
    if (appended === 'written') ends.set(command.id, headAfter(end, events, chain.hash))
    return writeResultAt(command.id, position + 1, chain.events)
  }

  return async (conversation, command, envelope) => {
    const target = { lineage: rootLineage(command.id), revision: -1, hash: null }
    const forked = await run(forkAt(conversation, command, envelope, target))
    if (E.isRight(forked) || forked.left._tag !== 'Conflict') return forked
    // The conversation exists, perhaps because of the same command: read its end and try again.
    const there = await run(readChainEnd(store, command.id))
    return E.isLeft(there) ? there : run(forkAt(conversation, command, envelope, there.right))
  }
}

/** Returns the part of the parent's lineage that a fork at a position inherits. */
const below = (lineage: Lineage, position: number): Lineage =>
  lineage
    .filter(({ offset }) => offset <= position)
    .map((stretch) => ({ ...stretch, last: Math.min(stretch.last, position) }))
