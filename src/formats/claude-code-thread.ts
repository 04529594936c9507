import type { NewMessage } from '../commands/command.ts'
import { isBlock } from '../events/blocks.ts'
import type { Queue } from './claude-code-queue.ts'
import {
  callIds,
  clear,
  endOf,
  lastHidden,
  lastShown,
  type Node,
  type Parent,
  resultIds,
  type Round,
} from './claude-code-tree.ts'
import type { Step } from './plan.ts'
import type { List, Shelf } from './shelf.ts'
import { blocksOf, stepsOn } from './steps.ts'
import { type Fields, isFields } from '../events/json.ts'
import { type Entry, lostParent, type Notes, placeIn, stringOf, timeOf } from './source.ts'

/** One chain of a session, as its entries come in. */
export interface Thread {
  /** An entry that is not a step: its children continue from its parent. */
  readonly pass: (fields: Fields) => void
  readonly boundary: (fields: Fields) => void
  readonly microcompact: (entry: Entry) => void
  readonly user: (entry: Entry, message: NewMessage) => void
  /** What was typed meanwhile, recorded where it was sent. */
  readonly queued: (entry: Entry, message: NewMessage) => void
  readonly assistant: (entry: Entry, message: NewMessage, id: string | undefined) => void
  readonly summary: (entry: Entry, message: NewMessage) => void
  readonly finish: () => List<Step>
}

interface Placed {
  readonly ref: string
  readonly time?: string
}

export const thread = (
  { notes, shelf }: { readonly notes: Notes; readonly shelf: Shelf },
  queue: Pick<Queue, 'due'>,
): Thread => {
  const steps = stepsOn(shelf)
  const links = new Map<unknown, Parent>()
  const boundaries = new Map<unknown, Fields>()
  const rounds = new Map<string, Round>()
  const callers = new Map<string, Round>()
  let head: Parent

  const link = ({ uuid }: Fields, node: Parent): void => {
    if (typeof uuid === 'string') links.set(uuid, node)
  }
  // An entry whose parent is not in the file (cut off, or skipped) continues from the entry before it.
  const at = (uuid: unknown): Parent => {
    if (links.has(uuid)) return endOf(links.get(uuid))
    if (uuid === null) return undefined
    if (stringOf(uuid) !== undefined) notes.note(lostParent)
    return head
  }

  const place = (placed: Placed, parent: Parent, more: Partial<Node> = {}): Placed => {
    const { ref, time } = placed
    const { round } = more
    const timed = time === undefined ? {} : { time }
    if (parent !== head)
      steps.add({ type: 'rewind', ref: `${ref}:rewind`, to: parent?.ref ?? null, ...timed })
    if (parent?.round && parent.round !== round) parent.round.followed = true
    // Field by field: there is one per message, and an object made by spreading takes half as much memory again.
    head = {
      ref,
      index: steps.count(),
      first: parent?.first ?? ref,
      parent,
      round,
      isAnswer: more.isAnswer ?? false,
      results: more.results,
      marker: more.marker,
      next: undefined,
    }
    if (round) round.tip = head
    return { ref, ...timed }
  }
  const begin = (entry: Entry, parent: Parent, more: Partial<Node> = {}): Placed => {
    const placed = place(placeOf(entry), parent, more)
    link(entry.fields, head)
    return placed
  }

  /** Puts what was typed meanwhile where it was sent: after the tool results, before what was said at `time` or later. */
  const settle = (parent: Parent, time: string | undefined): Parent => {
    let from = parent
    for (const sent of queue.due(time)) {
      if (!sent.isCertain && from?.isAnswer !== true) {
        notes.leftOut(sent.kind, 'taken back: it left the queue when no tool result was sent')
        continue
      }
      notes.mapped(sent.kind)
      const { ref, time: typed } = sent
      const placed = place({ ref, ...(typed !== undefined && { time: typed }) }, from, { isAnswer: true })
      steps.add({ type: 'message', ...placed, message: sent.message })
      from = head
    }
    return from
  }

  const user = (entry: Entry, message: NewMessage): void => {
    notes.mapped('user')
    const of = at(entry.fields['parentUuid'])
    const ids = resultIds(message)
    const [id] = ids
    const isResult = id !== undefined
    const isRemark = entry.fields['isMeta'] === true
    const parent = isResult || isRemark ? of : settle(of, timeOf(entry.fields['timestamp']))
    const caller = callers.get(id ?? '')
    // Parallel calls give sibling results, and hooks add remarks to them: the round lists them one after the other.
    const isOfRound =
      parent?.round?.tip === parent && (caller === undefined ? isRemark : caller === parent?.round)
    const isLate = isOfRound && parent?.round?.followed === true
    const from = isLate ? head : parent
    const isAnswer = isResult || (isRemark && from?.isAnswer === true)
    const more = { isAnswer, results: ids.length > 1 ? ids : id }
    const round = isOfRound && !isLate ? parent?.round : undefined
    steps.add({ type: 'message', ...begin(entry, from, { ...more, round }), message })
  }

  const queued = (entry: Entry, message: NewMessage): void => {
    const parent = at(entry.fields['parentUuid'])
    steps.add({ type: 'message', ...begin(entry, parent, { isAnswer: true }), message })
  }

  const assistant = (entry: Entry, message: NewMessage, id: string | undefined): void => {
    notes.mapped('assistant')
    const open = id === undefined ? undefined : rounds.get(id)
    if (open) return extend(open, entry, message)
    const content = blocksOf(message)
    const parent = settle(at(entry.fields['parentUuid']), timeOf(entry.fields['timestamp']))
    const round: Round = { index: steps.count(), tip: undefined, followed: false }
    if (id !== undefined) rounds.set(id, round)
    for (const call of callIds(content)) callers.set(call, round)
    const placed = begin(entry, parent, { round })
    // After a rewind, if there was one.
    round.index = steps.count()
    steps.add({ type: 'message', ...placed, message: { ...message, content } })
  }

  /** The recorder writes a line for each block of a message; the last line has the call's outcome. */
  const extend = (round: Round, { fields }: Entry, message: NewMessage): void => {
    link(fields, round.tip)
    const added = blocksOf(message).filter((block) => {
      const isThere = isBlock(block, 'tool_use') && callers.get(block.id) === round
      if (isThere) notes.leftOut('assistant block', 'a call that is already in the same message')
      return !isThere
    })
    for (const call of callIds(added)) callers.set(call, round)
    steps.extend(round.index, { content: added, origin: message.origin })
  }

  const boundary = (fields: Fields): void => {
    link(fields, at(fields['logicalParentUuid'] ?? undefined))
    boundaries.set(fields['uuid'], fields)
  }

  const summary = (entry: Entry, message: NewMessage): void => {
    const parent = settle(at(entry.fields['parentUuid']), timeOf(entry.fields['timestamp']))
    const marked = [...boundaries.values()].at(-1)
    const { trigger, preTokens, preservedSegment } = fieldsOf(marked?.['compactMetadata'])
    const hidden = lastHidden(parent, links.get(fieldsOf(preservedSegment)['headUuid']))
    if (marked) notes.mapped('compact_boundary')
    boundaries.delete(marked?.['uuid'])
    // The file begins with it; what it summarises is elsewhere.
    if (!parent || !hidden) return user(entry, message)
    notes.mapped('compaction summary')
    const keeps = hidden !== lastShown(parent)
    const placed = begin(entry, parent, { marker: { hidden, keeps } })
    if (keeps) parent.next = head
    steps.add({
      type: 'condense',
      ...placed,
      covers: { first: parent.first, last: hidden.ref },
      summary: [{ role: 'user', content: blocksOf(message) }],
      method: 'client',
      ...(marked && { origin: { usage: usageOf(trigger, preTokens) } }),
    })
  }

  const microcompact = (entry: Entry): void => {
    const { parentUuid, microcompactMetadata } = entry.fields
    const { trigger, preTokens, tokensSaved, compactedToolIds } = fieldsOf(microcompactMetadata)
    const parent = at(parentUuid)
    const cleared = clear(parent, new Set(Array.isArray(compactedToolIds) ? compactedToolIds : []), steps.at)
    if (cleared.length === 0) {
      notes.leftOut('microcompact_boundary', 'the results that it clears are not shown')
      return link(entry.fields, parent)
    }
    notes.mapped('microcompact_boundary')
    notes.note('cleared tool results show the text that the client uses: it is not in the file')
    const { ref, ...timed } = placeOf(entry)
    let from = parent
    for (const { ref: edits, results, content } of cleared) {
      const placed = place({ ref: `${ref}:${edits}`, ...timed }, from, {
        marker: { edits },
        isAnswer: parent?.isAnswer === true,
        results,
      })
      steps.add({
        type: 'condense',
        ...placed,
        covers: { first: edits, last: edits },
        summary: [{ role: 'user', content }],
        method: 'client',
        // One saving, recorded once.
        ...(from === parent && { origin: { usage: usageOf(trigger, preTokens, tokensSaved) } }),
      })
      from = head
    }
    if (parent) parent.next = head
    link(entry.fields, head)
  }

  const finish = (): List<Step> => {
    settle(head, undefined)
    for (const _ of boundaries) notes.leftOut('compact_boundary', 'no summary follows it in the file')
    return steps.list()
  }
  const pass = (fields: Fields): void => link(fields, at(fields['parentUuid']))
  return { pass, boundary, microcompact, user, queued, assistant, summary, finish }
}

const refOf = (entry: Entry): string => stringOf(entry.fields['uuid']) ?? placeIn(entry)

const placeOf = (entry: Entry): Placed => {
  const time = timeOf(entry.fields['timestamp'])
  return { ref: refOf(entry), ...(time !== undefined && { time }) }
}

const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {})

const usageOf = (trigger: unknown, before: unknown, saved?: unknown): Fields => ({
  ...(trigger !== undefined && { trigger }),
  ...(before !== undefined && { tokens_before: before }),
  ...(saved !== undefined && { tokens_saved: saved }),
})
