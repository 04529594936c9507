import { type Fields } from '../../events/json.ts'
import type { Queue } from './claude-code-queue.ts'
import { endOf, isCompacted, lastShown, type Node, type Parent, type Round } from './claude-code-tree.ts'
import type { ImportAction } from './plan.ts'
import type { LazyList, Shelf } from './shelf.ts'
import { type FileEntry, lostParent, type ImportNotes, placeIn, stringOf, timeOf } from './source.ts'
import { type ActionList, actionsOn } from './actions.ts'
import type { Configuration } from '../../events/events.ts'
import type { FileRequests } from './claude-code-requests.ts'

/** One chain of a session (the main conversation or a subagent), built from the entries read so far. */
export interface SessionChain {
  readonly notes: ImportNotes
  readonly queue: Pick<Queue, 'due'>
  readonly requests: FileRequests
  readonly actions: ActionList
  /** The action from which the children of each entry continue, by uuid of the entry. */
  readonly links: Map<unknown, Parent>
  /** Boundary entries of compactions whose summary has not been read yet, by uuid. */
  readonly boundaries: Map<unknown, Fields>
  /** Compactions, by the last action that each one hides. */
  readonly compactions: Map<Parent, Node>
  /** Uuids of entries that were recorded a second time right before the next entry. */
  readonly copies: Set<unknown>
  /** Rounds, by the id of the assistant message. */
  readonly rounds: Map<string, Round>
  /** Rounds, by the id of a tool call. */
  readonly callers: Map<string, Round>
  /** The action that was added last; undefined before the first one. */
  head: Parent
  /** Time of the last tool result, ISO 8601. */
  answered: string | undefined
  /** The last replies whose request is in memory. */
  readonly composed: Node[]
}

export const newChain = (
  notes: ImportNotes,
  shelf: Shelf,
  queue: Pick<Queue, 'due'>,
  requests: FileRequests,
): SessionChain => ({
  notes,
  queue,
  requests,
  actions: actionsOn(shelf),
  links: new Map(),
  boundaries: new Map(),
  compactions: new Map(),
  copies: new Set(),
  rounds: new Map(),
  callers: new Map(),
  head: undefined,
  answered: undefined,
  composed: [],
})

/**
 * Returns an entry with its true parent. When a process compacts for the second time, it records the entries hidden by the first
 * compaction again. The next entry then names the last copy as its parent, although the conversation continued from the end of the
 * chain.
 */
export const afterCopies = (thread: SessionChain, entry: FileEntry): FileEntry => {
  const { copies, links, compactions, notes, head } = thread
  const { uuid, parentUuid, logicalParentUuid } = entry.fields
  if (copies.size === 0 || stringOf(uuid) === undefined) return entry
  const named = parentUuid ?? logicalParentUuid
  const isCopy = copies.has(named)
  copies.clear()
  const copied = links.get(named)
  if (!isCopy || !head || endOf(copied) === head) return entry
  const compaction = compactions.get(copied) ?? compactions.get(lastShown(endOf(copied)))
  if (!compaction || !isCompacted(compaction, head)) return entry
  notes.note(
    'entries are recorded a second time, and the next entry names a copy as its parent: it continues from the last entry before the copies',
  )
  links.set(head.ref, head)
  const parent = parentUuid === named ? { parentUuid: head.ref } : { logicalParentUuid: head.ref }
  return { ...entry, fields: { ...entry.fields, ...parent } }
}

export interface ActionIdentity {
  readonly ref: string
  readonly time?: string
}

interface More extends Partial<Pick<Node, 'round' | 'isAnswer' | 'results' | 'marker'>> {
  /** Action after which the new action is shown, if the new action hides the actions in between. */
  readonly shownAfter?: Parent
  /** Configuration to record before the new action, with its key. */
  readonly configuration?: { readonly key: string; readonly value: Configuration } | undefined
}

export const placeOf = (entry: FileEntry): ActionIdentity => {
  const ref = stringOf(entry.fields['uuid']) ?? placeIn(entry)
  return placedAt(ref, timeOf(entry.fields['timestamp']))
}

const placedAt = (ref: string, time: string | undefined): ActionIdentity => ({
  ref,
  ...(time !== undefined && { time }),
})

export const link = ({ links }: SessionChain, { uuid }: Fields, node: Parent): void => {
  if (typeof uuid === 'string') links.set(uuid, node)
}

/**
 * Returns the action after which to place an entry with this parent. If the parent is not in the file (cut off or skipped), the entry
 * is placed after the one before it.
 */
export const after = ({ links, notes, head }: SessionChain, uuid: unknown): Parent => {
  if (links.has(uuid)) return endOf(links.get(uuid))
  if (uuid === null) return undefined
  if (stringOf(uuid) !== undefined) notes.note(lostParent)
  return head
}

/** Skips an entry that is not an action. The entry's children continue from its parent. */
export const pass = (thread: SessionChain, fields: Fields): void =>
  link(thread, fields, after(thread, fields['parentUuid']))

/** Makes the next action the head of the chain. If the action does not follow the current head, adds a rewind first. */
export const place = (
  thread: SessionChain,
  placed: ActionIdentity,
  parent: Parent,
  more: More = {},
): ActionIdentity => {
  const { actions, head } = thread
  const { ref, time } = placed
  const { round } = more
  const timed = time === undefined ? {} : { time }
  if (parent !== head)
    actions.add({ type: 'rewind', ref: `${ref}:rewind`, to: parent?.ref ?? null, ...timed })
  const { configuration } = more
  if (configuration)
    actions.add({
      type: 'configure',
      ref: `${ref}:configured`,
      configuration: configuration.value,
      isOptional: true,
      ...timed,
    })
  if (parent?.round && parent.round !== round) parent.round.followed = true
  // Field by field, because there is one node per message, and an object made by spreading takes half as much memory again.
  thread.head = {
    ref,
    index: actions.count(),
    first: parent?.first ?? ref,
    parent: more.shownAfter ?? parent,
    round,
    isAnswer: more.isAnswer ?? false,
    results: more.results,
    marker: more.marker,
    next: undefined,
    compaction: parent?.compaction,
    configured: configuration?.key ?? parent?.configured,
    request: undefined,
  }
  if (round) round.tip = thread.head
  return { ref, ...timed }
}

/**
 * Adds a note to the report if a message continues from before a compaction. Only the file's tree shows that the model no longer saw
 * the summary.
 */
export const noteReturn = ({ head, notes }: SessionChain, parent: Parent): void => {
  if (head?.compaction && (parent?.compaction?.index ?? -1) < head.compaction.index)
    notes.note('a message continues from before a compaction: treated as a rewind that ends the compaction')
}

/** Like `place`, but for an entry. The entry's children continue from the new action. */
export const begin = (
  thread: SessionChain,
  entry: FileEntry,
  parent: Parent,
  more: More = {},
): ActionIdentity => {
  const placed = place(thread, placeOf(entry), parent, more)
  link(thread, entry.fields, thread.head)
  return placed
}

/**
 * Maximum time, in milliseconds, by which a prompt may leave the queue before the last tool result and still count as sent. The client
 * empties the queue right after the results, which are recorded within seconds; prompts that left earlier were withdrawn.
 */
const longestWait = 10_000

const isEarly = (left: string | undefined, answered: string | undefined): boolean =>
  left !== undefined && answered !== undefined && Date.parse(answered) - Date.parse(left) > longestWait

/**
 * Adds the prompts typed during a turn at the point where they were sent: after the tool results, and before messages from `time` or
 * later. Returns the last action.
 */
export const settle = (thread: SessionChain, parent: Parent, time: string | undefined): Parent => {
  const { notes, queue, actions } = thread
  let from = parent
  for (const sent of queue.due(time)) {
    if (!sent.isCertain && (from?.isAnswer !== true || isEarly(sent.at, thread.answered))) {
      notes.leftOut(
        sent.kind,
        'withdrawn: it left the queue when no tool result was sent, or long before one',
      )
      continue
    }
    notes.mapped(sent.kind)
    const placed = place(thread, placedAt(sent.ref, sent.time), from, { isAnswer: true })
    actions.add({ type: 'message', ...placed, message: sent.message })
    from = thread.head
  }
  return from
}

/** Like `settle`, but for the point before an entry, according to the entry's parent and time. */
export const settleBefore = (thread: SessionChain, { fields }: FileEntry): Parent =>
  settle(thread, after(thread, fields['parentUuid']), timeOf(fields['timestamp']))

/** Returns the actions of a chain. Called once all entries have been read. */
export const finish = (thread: SessionChain): LazyList<ImportAction> => {
  settle(thread, thread.head, undefined)
  for (const _ of thread.boundaries)
    thread.notes.leftOut('compact_boundary', 'no summary follows it in the file')
  return thread.actions.list()
}
