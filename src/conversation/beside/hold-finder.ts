import * as E from 'fp-ts/lib/Either.js'
import { notedIn, notesStreamOf, streamOf } from '../../events/ids.ts'
import { noteCodec, type NoteEvent } from '../../events/notes.ts'
import { catchTyped, run, unwrap, type Fallible } from '../../result/fallible.ts'
import { breath } from '../../store/breath.ts'
import { isLoss, type StoreError } from '../../store/errors.ts'
import { namePages } from '../../store/pages.ts'
import { type Checkpoint, type EventStore, maxPage, type RecordedEvent } from '../../store/port.ts'
import { originOf } from '../reading/lineage.ts'
import { createHoldFold, holdText, type OldestLegalHold } from './hold.ts'
import { newestNotes } from './note-reader.ts'

/** A legal hold that forbids erasing content of a conversation. */
export interface CoveringHold {
  /** The held conversation. */
  readonly conversation: string
  readonly hold: OldestLegalHold
  /**
   * Steps from the conversation to the held one; empty if it is held itself. Each leads to the conversation whose agent started the one
   * before, or to a fork that shows events of the one before.
   */
  readonly steps: readonly { readonly kind: 'subagent' | 'fork'; readonly conversation: string }[]
}

/** A conversation under a legal hold, and the conversations of its subagents, which the hold covers. */
export interface HeldConversation extends OldestLegalHold {
  readonly conversation: string
  /** Ids, in order, with the subagents of subagents; absent if there are none. */
  readonly covers?: readonly string[]
}

/** Finds the legal holds of a store, and what they cover. */
export interface HoldFinder {
  /**
   * Returns a hold that covers a conversation: its own, or one of the conversations whose agents started it.
   * With a position, also the hold of a fork that shows the event at this position.
   */
  readonly holding: (
    conversation: string,
    position?: number,
  ) => Fallible<StoreError, CoveringHold | undefined>
  /** Returns the conversations of a conversation's subagents, and of theirs, in order of their ids. */
  readonly subagentsOf: (conversation: string) => Fallible<StoreError, readonly string[]>
  /** Returns the held conversations in order of their ids. Fails if the notes of any conversation cannot be read. */
  readonly held: () => Fallible<StoreError, readonly HeldConversation[]>
}

/** Number of streams that are read together, and of notes of each: few enough not to hold up the process. */
const mostAtOnce = 100
const mostNotesAtOnce = 20

/**
 * Returns a finder for a store. Holds and links to subagents are notes, so it reads the conversations that have notes, once, and then only
 * those with new ones. It remembers the holds, the forks, and a pair of ids for each subagent.
 */
export const createHoldFinder = (store: EventStore): HoldFinder => {
  let since: Checkpoint | undefined
  const holds = new Map<string, OldestLegalHold>()
  const problems = new Map<string, StoreError>()
  /** For each fork, the last position that it shows of each conversation that it descends from. */
  const forks = new Map<string, ReadonlyMap<string, number>>()
  /** For each subagent, the first position at which each of its parents started it; 0 if no link says. */
  const parents = new Map<string, Map<string, number>>()
  /** Conversations of which it is not known yet whether they are forks. It matters only for held ones, and for subagents. */
  const pending = new Set<string>()

  async function* refresh(): Fallible<StoreError, void> {
    const { streams, checkpoint } = yield* unwrap(store.changed(notesStreamOf(''), since))
    const all = namePages((last = '') => store.streams(notesStreamOf(''), last, maxPage))
    for await (const page of streams ? [E.right([...streams])] : all) {
      const names = yield* unwrap(page)
      for (let from = 0; from < names.length; from += mostAtOnce)
        yield* readAtOnce(names.slice(from, from + mostAtOnce))
    }
    since = checkpoint
  }

  /** Reads the notes in streams: those of short streams together, which takes a third of the time. */
  async function* readAtOnce(names: readonly string[]): Fallible<StoreError, void> {
    const begun = store.beginnings && (yield* unwrap(store.beginnings(names, mostNotesAtOnce)))
    for (const name of names) {
      const conversation = notedIn(name) ?? name
      const first = begun?.get(name) ?? []
      const isWhole = first.length > 0 && first.length < mostNotesAtOnce
      const read = await run(readNotesOf(conversation, isWhole ? first : undefined))
      if (E.isRight(read)) problems.delete(conversation)
      // Its holds are unknown: only erasures that they may forbid fail.
      else if (isLoss(read.left)) problems.set(conversation, read.left)
      else return yield read.left
      const pause = breath()
      if (pause) await pause
    }
  }

  async function* readNotesOf(
    conversation: string,
    whole: readonly RecordedEvent[] | undefined,
  ): Fallible<StoreError, void> {
    const fold = createHoldFold()
    const add = ({ type, data, metadata }: NoteEvent): void => {
      if (type === 'Noted') fold.add(data, metadata.time)
      else if (data.conversation === undefined) return
      else if (data.relation === 'subagent-of') addLink(conversation, data.conversation, data.position)
      else if (data.relation === 'has-subagent') addLink(data.conversation, conversation, data.position)
    }
    if (whole) for (const event of whole.toReversed()) add(yield* unwrap(noteCodec.decode(event, event)))
    else
      yield* catchTyped<StoreError, void>(async () => {
        for await (const event of newestNotes(store, conversation)) add(event)
      })
    const hold = fold.oldest()
    if (hold) holds.set(conversation, hold)
    else holds.delete(conversation)
    if (hold || parents.has(conversation)) pending.add(conversation)
  }

  /** Looks for forks among the conversations for which it matters, and is not known yet. Only forks that have notes count. */
  async function* findForks(): Fallible<StoreError, void> {
    const ids = [...pending]
    for (let from = 0; from < ids.length; from += mostAtOnce) {
      const some = ids.slice(from, from + mostAtOnce)
      for (const fork of yield* forksAmong(store, some)) {
        const shown = yield* shownBy(store, fork)
        if (shown.size > 0 && (yield* hasEvents(store, notesStreamOf(fork)))) forks.set(fork, shown)
      }
      for (const id of some) pending.delete(id)
    }
  }

  const addLink = (subagent: string, parent: string, position = 0): void => {
    const known = parents.get(subagent) ?? new Map<string, number>()
    if (known.size === 0) pending.add(subagent)
    parents.set(subagent, known.set(parent, Math.min(position, known.get(parent) ?? Infinity)))
  }

  /** Returns the conversations in the store that belong to the subagents of a conversation, and to theirs. */
  async function* below(conversation: string): Fallible<StoreError, readonly string[]> {
    pending.add(conversation)
    yield* findForks()
    const children = Map.groupBy(
      [...parents].flatMap(([id, above]) =>
        [...above].map(([parent, position]) => ({ id, parent, position })),
      ),
      ({ parent }) => parent,
    )
    const found = new Set([conversation])
    // A set can grow while it is iterated.
    for (const id of found) {
      for (const child of children.get(id) ?? []) found.add(child.id)
      for (const [origin, last] of forks.get(id) ?? [])
        for (const child of children.get(origin) ?? []) if (child.position <= last) found.add(child.id)
    }
    found.delete(conversation)
    // A link may lead to a session that was never imported.
    return (yield* existing(store, [...found])).toSorted()
  }

  return {
    holding: async function* (conversation, position): Fallible<StoreError, CoveringHold | undefined> {
      yield* refresh()
      const places: Place[] = [{ conversation, position, steps: [] }]
      const seen = new Set<string>()
      // A list can grow while it is iterated.
      for (const { conversation: id, position: at, steps } of places) {
        const key = `${at ?? ''} ${id}`
        if (seen.has(key)) continue
        seen.add(key)
        const problem = problems.get(id)
        if (problem) return yield problem
        const hold = holds.get(id)
        if (hold) return { conversation: id, hold, steps }
        for (const [parent, start] of parents.get(id) ?? [])
          places.push({
            conversation: parent,
            position: start,
            steps: [...steps, { kind: 'subagent', conversation: parent }],
          })
        if (at === undefined) continue
        yield* findForks()
        for (const [fork, shown] of forks)
          if (at <= (shown.get(id) ?? -1))
            places.push({ conversation: fork, steps: [...steps, { kind: 'fork', conversation: fork }] })
        await breath()
      }
      return undefined
    },
    subagentsOf: async function* (conversation): Fallible<StoreError, readonly string[]> {
      yield* refresh()
      return yield* below(conversation)
    },
    held: async function* (): Fallible<StoreError, readonly HeldConversation[]> {
      yield* refresh()
      for (const problem of problems.values()) return yield problem
      const held: HeldConversation[] = []
      for (const [conversation, hold] of [...holds].toSorted(([one], [other]) => (one < other ? -1 : 1))) {
        const covers = yield* below(conversation)
        held.push({ conversation, ...hold, ...(covers.length > 0 && { covers }) })
      }
      return held
    },
  }
}

/** A conversation whose hold would cover the first one, and the position of it that matters, if any. */
interface Place {
  readonly conversation: string
  readonly position?: number | undefined
  readonly steps: CoveringHold['steps']
}

/** Says why a hold forbids erasing content of a conversation, or its event at a position, and how to end that. */
export const coveringText = ({ conversation, hold, steps }: CoveringHold, position?: number): string => {
  const [first] = steps
  if (!first) return `it is under ${holdText(hold)}: release it first`
  if (steps.length === 1 && first.kind === 'fork')
    return `fork ${conversation}, which shows event ${position}, is under ${holdText(hold)}: release it first`
  const through = steps.map(
    (step) => `${step.kind === 'fork' ? 'shown by fork' : 'a subagent of'} ${step.conversation}`,
  )
  return `it is ${through.join(', ')}, which is under ${holdText(hold)}: release ${conversation} first`
}

/** Returns the conversations among those given that may be forks. */
async function* forksAmong(
  store: EventStore,
  ids: readonly string[],
): Fallible<StoreError, readonly string[]> {
  if (!store.beginnings) return ids
  const begun = yield* unwrap(store.beginnings(ids.map(streamOf), 1))
  return ids.filter((id) => (begun.get(streamOf(id))?.[0]?.type ?? 'Forked') === 'Forked')
}

/** Returns the conversations that are in the store. */
async function* existing(store: EventStore, ids: readonly string[]): Fallible<StoreError, readonly string[]> {
  const begun = store.beginnings && (yield* unwrap(store.beginnings(ids.map(streamOf), 1)))
  const found: string[] = []
  for (const id of ids) {
    const stream = streamOf(id)
    if ((begun?.get(stream) ?? []).length > 0 || (yield* hasEvents(store, stream))) found.push(id)
  }
  return found
}

async function* hasEvents(store: EventStore, stream: string): Fallible<StoreError, boolean> {
  return (yield* unwrap(store.read({ stream, from: 0, direction: 'forwards', limit: 1 }))).length > 0
}

/** Returns the last position that a fork shows of each conversation that it descends from; empty for other conversations. */
async function* shownBy(store: EventStore, fork: string): Fallible<StoreError, ReadonlyMap<string, number>> {
  const shown = new Map<string, number>()
  let last = Infinity
  for (let id = fork; ;) {
    const range = { stream: streamOf(id), from: 0, direction: 'forwards', limit: 1 } as const
    const [first] = yield* unwrap(store.read(range))
    const from = first && (yield* unwrap(originOf(first)))
    if (!from || shown.has(from.conversation)) return shown
    last = Math.min(last, from.position)
    id = from.conversation
    shown.set(id, last)
  }
}
