import type { NewMessage } from '../../commands/command.ts'
import { type Fields, isFields } from '../../events/json.ts'
import { user } from './claude-code-messages.ts'
import { after, begin, link, place, placeOf, settleBefore, type SessionChain } from './claude-code-chain.ts'
import {
  clear,
  endOf,
  firstAfter,
  lastHidden,
  lastShown,
  leadsTo,
  type Node,
  type Parent,
} from './claude-code-tree.ts'
import type { FileEntry } from './source.ts'
import { blocksOf } from './actions.ts'

// Content that the client hid in a chain of a session: compactions, each with a boundary and a summary, and cleared tool results.

export const boundary = (thread: SessionChain, fields: Fields): void => {
  const named = after(thread, fields['logicalParentUuid'] ?? undefined)
  link(thread, fields, endOfKept(keptIn(thread, fields), named, thread.head))
  thread.boundaries.set(fields['uuid'], fields)
}

/**
 * Returns the action after which to place a summary, so that the path to the summary includes every action that it hides and every
 * action that the client kept.
 */
const endOfKept = ({ head, tail, isBefore }: Kept, named: Parent, last: Parent): Parent => {
  if (isBefore) return firstAfter(tail, last) ? last : named
  // The client may name the last message that the summary hides.
  return head && !leadsTo(head, named) && leadsTo(head, tail) ? tail : named
}

export const summary = (thread: SessionChain, entry: FileEntry, message: NewMessage): void => {
  const { notes, actions, boundaries } = thread
  const parent = settleBefore(thread, entry)
  const marked = [...boundaries.values()].at(-1)
  const { trigger, preTokens } = fieldsOf(marked?.['compactMetadata'])
  const { head, tail, isBefore, uuids } = keptIn(thread, marked)
  const first = isBefore ? firstAfter(tail, parent)?.ref : parent?.first
  const hidden = isBefore ? lastShown(parent) : lastHidden(parent, head)
  if (marked) notes.mapped('compact_boundary')
  boundaries.delete(marked?.['uuid'])
  // The file begins with the summary; the content that it summarises is not in the file.
  if (!parent || first === undefined || !hidden) return user(thread, entry, message)
  notes.mapped('compaction summary')
  const keeps = !isBefore && hidden !== lastShown(parent)
  const placed = begin(thread, entry, parent, isBefore ? { shownAfter: tail } : { marker: { hidden, keeps } })
  if (keeps) parent.next = thread.head
  if (keeps) relink(thread, uuids, head)
  noteCompaction(thread, hidden)
  actions.add({
    type: 'condense',
    ...placed,
    covers: { first, last: hidden.ref },
    summary: [{ role: 'user', content: blocksOf(message) }],
    method: 'client',
    ...(marked && { origin: { usage: usageOf(trigger, preTokens) } }),
  })
}

const noteCompaction = ({ head, compactions }: SessionChain, hidden: Node): void => {
  if (!head) return
  const earlier = compactions.get(hidden)
  head.compaction = head
  // An earlier compaction that hides up to the same action is hidden by the new one, too.
  if (earlier) compactions.set(earlier, head)
  compactions.set(hidden, head)
}

/** Places the entries that the client kept after the summary, including entries whose recorded parent is hidden by the summary. */
const relink = ({ links, head }: SessionChain, uuids: readonly unknown[], from: Parent): void => {
  const kept = new Set<Parent>()
  for (let each = head?.parent; each && each !== from?.parent; each = each.parent) kept.add(each)
  for (const uuid of uuids) if (links.has(uuid) && !kept.has(links.get(uuid))) links.set(uuid, head)
}

/**
 * The actions that the client kept at a compaction: the first and the last one, whether they come before the summary, and the uuids of
 * all kept entries.
 */
interface Kept {
  readonly head: Parent
  readonly tail: Parent
  readonly isBefore: boolean
  readonly uuids: readonly unknown[]
}

/**
 * Returns the messages that the client kept at a compaction, according to the boundary entry. Newer versions list these messages. The
 * entry named as the anchor comes right before them.
 */
const keptIn = ({ links, head: last }: SessionChain, marked: Fields | undefined): Kept => {
  const { preservedMessages, preservedSegment } = fieldsOf(marked?.['compactMetadata'])
  const { uuids, allUuids } = fieldsOf(preservedMessages)
  const list: readonly unknown[] = Array.isArray(uuids) ? uuids : []
  const { headUuid, tailUuid, anchorUuid } = { ...fieldsOf(preservedSegment), ...fieldsOf(preservedMessages) }
  const head = links.get(list[0] ?? headUuid)
  const tail = endOf(links.get(list.at(-1) ?? tailUuid))
  const isBefore = anchorUuid !== undefined && anchorUuid === marked?.['uuid']
  // The last entry may name a copy as its parent.
  const isLost = head && !isBefore && !leadsTo(head, tail) && leadsTo(head, last)
  return {
    head,
    tail: isLost ? last : tail,
    isBefore,
    uuids: [...list, ...(Array.isArray(allUuids) ? allUuids : []), tailUuid],
  }
}

/** Adds an edit for each message with tool results that the client cleared. */
export const microcompact = (thread: SessionChain, entry: FileEntry): void => {
  const { notes, actions } = thread
  const { parentUuid, microcompactMetadata } = entry.fields
  const { trigger, preTokens, tokensSaved, compactedToolIds } = fieldsOf(microcompactMetadata)
  const parent = after(thread, parentUuid)
  const cleared = clear(parent, new Set(Array.isArray(compactedToolIds) ? compactedToolIds : []), actions.at)
  if (cleared.length === 0) {
    notes.leftOut('microcompact_boundary', 'the results that it clears are not shown')
    return link(thread, entry.fields, parent)
  }
  notes.mapped('microcompact_boundary')
  notes.note('cleared tool results show the text that the client uses: it is not in the file')
  const { ref, ...timed } = placeOf(entry)
  const isAnswer = parent?.isAnswer === true
  let from = parent
  for (const { ref: edits, results, content } of cleared) {
    const own = { ref: `${ref}:${edits}`, ...timed }
    const placed = place(thread, own, from, { marker: { edits }, isAnswer, results })
    actions.add({
      type: 'condense',
      ...placed,
      covers: { first: edits, last: edits },
      summary: [{ role: 'user', content }],
      method: 'client',
      // One saving, recorded once.
      ...(from === parent && { origin: { usage: usageOf(trigger, preTokens, tokensSaved) } }),
    })
    from = thread.head
  }
  if (parent) parent.next = thread.head
  link(thread, entry.fields, thread.head)
}

const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {})

const usageOf = (trigger: unknown, before: unknown, saved?: unknown): Fields => ({
  ...(trigger !== undefined && { trigger }),
  ...(before !== undefined && { tokens_before: before }),
  ...(saved !== undefined && { tokens_saved: saved }),
})
