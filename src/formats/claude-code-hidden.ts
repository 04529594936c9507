import type { NewMessage } from '../commands/command.ts'
import { type Fields, isFields } from '../events/json.ts'
import { user } from './claude-code-said.ts'
import { after, begin, link, place, placeOf, settleBefore, type Thread } from './claude-code-thread.ts'
import { clear, endOf, firstAfter, lastHidden, lastShown, leadsTo, type Parent } from './claude-code-tree.ts'
import type { Entry } from './source.ts'
import { blocksOf } from './steps.ts'

// What the client hid in a chain of a session: compactions, each a boundary and a summary, and tool results that it cleared.

export const boundary = (thread: Thread, fields: Fields): void => {
  const named = after(thread, fields['logicalParentUuid'] ?? undefined)
  link(thread, fields, endOfKept(keptIn(thread, fields), named, thread.head))
  thread.boundaries.set(fields['uuid'], fields)
}

/** The step after which a summary comes: all that it hides, and all that the client kept, is on the path to it. */
const endOfKept = ({ head, tail, isBefore }: Kept, named: Parent, last: Parent): Parent => {
  if (isBefore) return firstAfter(tail, last) ? last : named
  // The client may name the last message that the summary hides.
  return head && !leadsTo(head, named) && leadsTo(head, tail) ? tail : named
}

export const summary = (thread: Thread, entry: Entry, message: NewMessage): void => {
  const { notes, steps, boundaries } = thread
  const parent = settleBefore(thread, entry)
  const marked = [...boundaries.values()].at(-1)
  const { trigger, preTokens } = fieldsOf(marked?.['compactMetadata'])
  const { head, tail, isBefore } = keptIn(thread, marked)
  const first = isBefore ? firstAfter(tail, parent)?.ref : parent?.first
  const hidden = isBefore ? lastShown(parent) : lastHidden(parent, head)
  if (marked) notes.mapped('compact_boundary')
  boundaries.delete(marked?.['uuid'])
  // The file begins with it; what it summarises is elsewhere.
  if (!parent || first === undefined || !hidden) return user(thread, entry, message)
  notes.mapped('compaction summary')
  const keeps = !isBefore && hidden !== lastShown(parent)
  const placed = begin(thread, entry, parent, isBefore ? { shownAfter: tail } : { marker: { hidden, keeps } })
  if (keeps) parent.next = thread.head
  steps.add({
    type: 'condense',
    ...placed,
    covers: { first, last: hidden.ref },
    summary: [{ role: 'user', content: blocksOf(message) }],
    method: 'client',
    ...(marked && { origin: { usage: usageOf(trigger, preTokens) } }),
  })
}

/** The first and the last step that the client kept at a compaction, and whether they come before its summary. */
interface Kept {
  readonly head: Parent
  readonly tail: Parent
  readonly isBefore: boolean
}

/** What a boundary says that the client kept: newer versions list the messages. The anchor is what comes right before them. */
const keptIn = ({ links }: Thread, marked: Fields | undefined): Kept => {
  const { preservedMessages, preservedSegment } = fieldsOf(marked?.['compactMetadata'])
  const { uuids } = fieldsOf(preservedMessages)
  const list: readonly unknown[] = Array.isArray(uuids) ? uuids : []
  const { headUuid, tailUuid, anchorUuid } = { ...fieldsOf(preservedSegment), ...fieldsOf(preservedMessages) }
  return {
    head: links.get(list[0] ?? headUuid),
    tail: endOf(links.get(list.at(-1) ?? tailUuid)),
    isBefore: anchorUuid !== undefined && anchorUuid === marked?.['uuid'],
  }
}

/** Tool results that were cleared: an edit of each message that has some. */
export const microcompact = (thread: Thread, entry: Entry): void => {
  const { notes, steps } = thread
  const { parentUuid, microcompactMetadata } = entry.fields
  const { trigger, preTokens, tokensSaved, compactedToolIds } = fieldsOf(microcompactMetadata)
  const parent = after(thread, parentUuid)
  const cleared = clear(parent, new Set(Array.isArray(compactedToolIds) ? compactedToolIds : []), steps.at)
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
    steps.add({
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
