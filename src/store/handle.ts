import { setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import type { Command, ConversationCommand } from '../commands/command.ts'
import { decide, decideAppend } from '../commands/decide.ts'
import { fork } from '../commands/fork.ts'
import { hashOf } from '../events/codec.ts'
import type { Actor, Event } from '../events/events.ts'
import { eventId, newCommandId, streamOf } from '../events/ids.ts'
import { type End, lastPosition, readEnd, remembered } from './ends.ts'
import type { WriteError } from './errors.ts'
import { gatherState, gatherTail } from './gather.ts'
import { type EventStore, maxPage, type RecordedEvent } from './port.ts'
import { reader, recordedAt } from './reader.ts'
import { encodeChain, type Envelope, type Sealed, type Written, writtenAt } from './write.ts'

type Result<A> = Promise<E.Either<WriteError, A>>

export interface Handler {
  readonly handle: (conversation: string, command: ConversationCommand, envelope: Envelope) => Result<Written>
  readonly fork: (conversation: string, command: Command<'fork'>, envelope: Envelope) => Result<Written>
}

/** How often a command is decided anew while others write to the same conversation. */
const maxTries = 100
const maxEnds = 10_000

/**
 * Carries out commands: load, decide, append at the revision read; on a conflict again from the beginning. Commands of this
 * process on one conversation run in the order in which they were given.
 */
export const handler = (store: EventStore, defaultActor: Actor): Handler => {
  const ends = remembered<End>(maxEnds)
  const queues = new Map<string, Promise<unknown>>()

  const write = async (
    conversation: string,
    end: End,
    events: readonly Event[],
    envelope: Sealed,
    findable: boolean,
  ): Result<Written> => {
    const chain = encodeChain(conversation, end.hash, events, envelope)
    if (E.isLeft(chain)) return chain
    const stream = streamOf(conversation)
    const appended = await store.append({ stream, events: chain.right, expected: end.revision, findable })()
    if (E.isLeft(appended)) return appended
    const last = chain.right.at(-1)
    // A repeat is another writer's: what stands there has its hash, not ours.
    if (appended.right === 'repeated') ends.forget(conversation)
    else
      ends.set(conversation, {
        ...end,
        revision: end.revision + events.length,
        hash: last ? hashOf(last) : end.hash,
      })
    return E.right(writtenAt(conversation, lastPosition(end) + 1, chain.right))
  }

  /** What the command wrote the first time, if this is not the first. */
  const earlier = async (
    conversation: string,
    { commandId }: Sealed,
    end: End,
  ): Result<Written | undefined> => {
    const stream = streamOf(conversation)
    const found = await store.find(stream, eventId(stream, commandId, 0))()
    if (E.isLeft(found)) return found
    if (found.right === undefined) return E.right(undefined)
    const events: RecordedEvent[] = []
    for (;;) {
      const from = found.right + events.length
      const read = await store.read({ stream, from, direction: 'forwards', limit: maxPage })()
      if (E.isLeft(read)) return read
      const own = read.right.filter(
        ({ id }, index) => id === eventId(stream, commandId, events.length + index),
      )
      events.push(...own)
      if (own.length < maxPage) break
    }
    return E.right(writtenAt(conversation, lastPosition({ ...end, revision: found.right }), events))
  }

  const decideAt = async (
    conversation: string,
    end: End,
    command: ConversationCommand,
  ): Result<readonly Event[]> => {
    const reading = reader(store, end.lineage)
    const tail = await gatherTail(reading, conversation, lastPosition(end), command)
    if (E.isLeft(tail)) return tail
    if (command.type === 'append') return decideAppend(command, tail.right)
    const state = await gatherState(reading, tail.right, command)
    return E.isLeft(state) ? state : decide(command, state.right)
  }

  const attempt = async (
    conversation: string,
    command: ConversationCommand,
    envelope: Sealed,
    isNamed: boolean,
  ): Result<Written> => {
    const end = await readEnd(store, conversation, ends.get(conversation)?.lineage)
    if (E.isLeft(end)) return end
    const before = isNamed ? await earlier(conversation, envelope, end.right) : E.right(undefined)
    if (E.isLeft(before)) return before
    if (before.right) return E.right(before.right)
    const events = await decideAt(conversation, end.right, command)
    if (E.isLeft(events)) return events
    return events.right.length > 0
      ? write(conversation, end.right, events.right, envelope, isNamed)
      : E.right(writtenAt(conversation, lastPosition(end.right) + 1, []))
  }

  /** A plain append is right wherever the conversation ends: it needs no look at the store, if its end is known. */
  const attemptPlain = (
    conversation: string,
    command: ConversationCommand,
    envelope: Sealed,
  ): Result<Written> | undefined => {
    const known = ends.get(conversation)
    if (!known || command.type !== 'append' || command.after !== undefined) return undefined
    const events = decideAppend(command, { conversation, last: lastPosition(known), since: [] })
    return E.isLeft(events) ? undefined : write(conversation, known, events.right, envelope, false)
  }

  const handle: Handler['handle'] = async (conversation, command, envelope) => {
    const sealed = { actor: defaultActor, commandId: newCommandId(), ...envelope }
    const isNamed = envelope.commandId !== undefined
    for (let tries = 1; ; tries++) {
      const plain = isNamed ? undefined : attemptPlain(conversation, command, sealed)
      const result = await (plain ?? attempt(conversation, command, sealed, isNamed))
      if (E.isRight(result)) return result
      ends.forget(conversation)
      if (result.left._tag !== 'Conflict' || tries === maxTries) return result
      await sleep(Math.random() * Math.min(2 ** tries, 30))
    }
  }

  const inTurn: Handler['handle'] = (conversation, command, envelope) => {
    const before = queues.get(conversation)
    const run = (): Result<Written> => handle(conversation, command, envelope)
    // One that failed, however it did, holds up none behind it.
    const result = before ? before.then(run, run) : run()
    queues.set(conversation, result)
    const leave = (): void => {
      if (queues.get(conversation) === result) queues.delete(conversation)
    }
    result.then(leave, leave)
    return result
  }

  const forkFrom: Handler['fork'] = async (conversation, command, envelope) => {
    const sealed = { actor: defaultActor, commandId: newCommandId(), ...envelope }
    const parent = await readEnd(store, conversation)
    if (E.isLeft(parent)) return parent
    const last = lastPosition(parent.right)
    const target = await readEnd(store, command.id)
    if (E.isLeft(target)) return target
    const isNamed = envelope.commandId !== undefined
    const before = isNamed ? await earlier(command.id, sealed, target.right) : E.right(undefined)
    if (E.isLeft(before)) return before
    if (before.right) return E.right(before.right)
    const position = command.at ?? last
    const event = await recordedAt(store, parent.right.lineage, position)
    if (E.isLeft(event)) return event
    const hash = event.right && hashOf(event.right)
    const events = fork(command, { conversation, last, hash, exists: target.right.revision >= 0 })
    if (E.isLeft(events)) return events
    const own = {
      conversation: command.id,
      stream: streamOf(command.id),
      offset: position + 1,
      last: Infinity,
    }
    const end = { lineage: [own, ...below(parent.right, position)], revision: -1, hash: hash ?? null }
    const written = await write(command.id, end, events.right, sealed, isNamed)
    // Somebody was faster: the conversation exists now, which is how the second try ends.
    return E.isLeft(written) && written.left._tag === 'Conflict'
      ? forkFrom(conversation, command, envelope)
      : written
  }

  return { handle: inTurn, fork: forkFrom }
}

/** What a fork at a position has of its parent's lineage. */
const below = ({ lineage }: End, position: number): End['lineage'] =>
  lineage
    .filter(({ offset }) => offset <= position)
    .map((stretch) => ({ ...stretch, last: Math.min(stretch.last, position) }))
