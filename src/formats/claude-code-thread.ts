import type { NewMessage } from '../commands/command.ts'
import { isBlock } from '../events/blocks.ts'
import type { Queue } from './claude-code-queue.ts'
import {
  blocksOf,
  callIds,
  clear,
  endOf,
  lastHidden,
  lastShown,
  type Node,
  type Parent,
  resultId,
  type Round,
} from './claude-code-tree.ts'
import type { Step } from './plan.ts'
import { type Fields, isFields } from '../events/json.ts'
import { type Entry, lostParent, type Notes, placeIn, stringOf, timeOf } from './source.ts'

/** One chain of a session, as its entries come in. */
export interface Thread {
  /** An entry that is no step: what follows it follows what it follows. */
  readonly pass: (fields: Fields) => void
  readonly boundary: (fields: Fields) => void
  readonly microcompact: (entry: Entry) => void
  readonly user: (entry: Entry, message: NewMessage) => void
  /** What was typed meanwhile, recorded where it was sent. */
  readonly queued: (entry: Entry, message: NewMessage) => void
  readonly assistant: (entry: Entry, message: NewMessage, id: string | undefined) => void
  readonly summary: (entry: Entry, message: NewMessage) => void
  readonly finish: () => readonly Step[]
}

interface Placed {
  readonly ref: string
  readonly time?: string
}

export const thread = (notes: Notes, queue: Pick<Queue, 'due'>): Thread => {
  const steps: Step[] = []
  const links = new Map<unknown, Parent>()
  const boundaries = new Map<unknown, Fields>()
  const rounds = new Map<string, Round>()
  const callers = new Map<string, Round>()
  let head: Parent

  const link = ({ uuid }: Fields, node: Parent): void => {
    if (typeof uuid === 'string') links.set(uuid, node)
  }
  // An entry whose parent is not in the file (cut off, or skipped) continues from where the file stands.
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
      steps.push({ type: 'rewind', ref: `${ref}:rewind`, to: parent?.ref ?? null, ...timed })
    if (parent?.round && parent.round !== round) parent.round.followed = true
    head = { ...blank, ref, first: parent?.first ?? ref, parent, ...more }
    if (round) round.tip = head
    return { ref, ...timed }
  }
  const begin = (entry: Entry, parent: Parent, more: Partial<Node> = {}): Placed => {
    const placed = place(placeOf(entry), parent, more)
    link(entry.fields, head)
    return placed
  }

  /** Puts what was typed meanwhile where it was sent: behind the tool results, before what was said `time` or later. */
  const settle = (parent: Parent, time: string | undefined): Parent => {
    let from = parent
    for (const sent of queue.due(time)) {
      if (!sent.isCertain && from?.isAnswer !== true) {
        notes.leftOut(sent.kind, 'taken back: it left the queue where no tool result was sent')
        continue
      }
      notes.mapped(sent.kind)
      const { ref, time: typed } = sent
      const placed = place({ ref, ...(typed !== undefined && { time: typed }) }, from, { isAnswer: true })
      steps.push({ type: 'message', ...placed, message: sent.message })
      from = head
    }
    return from
  }

  const user = (entry: Entry, message: NewMessage): void => {
    notes.mapped('user')
    const of = at(entry.fields['parentUuid'])
    const results = blocksOf(message)
    const isResult = resultId(message) !== undefined
    const isRemark = entry.fields['isMeta'] === true
    const parent = isResult || isRemark ? of : settle(of, timeOf(entry.fields['timestamp']))
    const caller = callers.get(resultId(message) ?? '')
    // Parallel calls give sibling results, and hooks add remarks to them: the round takes them in one after the other.
    const isOfRound =
      parent?.round?.tip === parent && (caller === undefined ? isRemark : caller === parent?.round)
    const isLate = isOfRound && parent?.round?.followed === true
    const from = isLate ? head : parent
    const isAnswer = isResult || (isRemark && from?.isAnswer === true)
    const ref = refOf(entry)
    const more = { isAnswer, results: isResult ? { ref, content: results } : undefined }
    const round = isOfRound && !isLate ? parent?.round : undefined
    steps.push({ type: 'message', ...begin(entry, from, { ...more, round }), message })
  }

  const queued = (entry: Entry, message: NewMessage): void => {
    const parent = at(entry.fields['parentUuid'])
    steps.push({ type: 'message', ...begin(entry, parent, { isAnswer: true }), message })
  }

  const assistant = (entry: Entry, message: NewMessage, id: string | undefined): void => {
    notes.mapped('assistant')
    const open = id === undefined ? undefined : rounds.get(id)
    if (open) return extend(open, entry, message)
    const content = [...blocksOf(message)]
    const parent = settle(at(entry.fields['parentUuid']), timeOf(entry.fields['timestamp']))
    // A rewind may come before the step.
    const index = parent === head ? steps.length : steps.length + 1
    const round: Round = { index, content, tip: undefined, followed: false }
    if (id !== undefined) rounds.set(id, round)
    for (const call of callIds(content)) callers.set(call, round)
    steps.push({ type: 'message', ...begin(entry, parent, { round }), message: { ...message, content } })
  }

  /** The recorder writes a line for each block of a message; the last line has the call's outcome. */
  const extend = (round: Round, { fields }: Entry, message: NewMessage): void => {
    link(fields, round.tip)
    const step = steps[round.index]
    if (step?.type !== 'message') return
    const added = blocksOf(message).filter((block) => {
      const isThere = isBlock(block, 'tool_use') && callers.get(block.id) === round
      if (isThere) notes.leftOut('assistant block', 'a call that the same message holds already')
      return !isThere
    })
    for (const call of callIds(added)) callers.set(call, round)
    // An array that was pushed to, or spread to, has room for sixteen more: in very many messages that is much.
    round.content = round.content.concat(added)
    const { origin = {} } = step.message
    const whole = { ...step.message, content: round.content, origin: { ...origin, ...message.origin } }
    steps[round.index] = { ...step, message: whole }
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
    // The file begins with it: what it sums up is elsewhere.
    if (!parent || !hidden) return user(entry, message)
    notes.mapped('compaction summary')
    const keeps = hidden !== lastShown(parent)
    const placed = begin(entry, parent, { kind: 'compaction', hidden, keeps })
    if (keeps) parent.next = head
    steps.push({
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
    const edits = clear(parent, new Set(Array.isArray(compactedToolIds) ? compactedToolIds : []))
    if (edits.length === 0) {
      notes.leftOut('microcompact_boundary', 'none of the results that it clears is shown')
      return link(entry.fields, parent)
    }
    notes.mapped('microcompact_boundary')
    notes.note(
      'the words in place of cleared tool results are those that the client uses: the file does not hold them',
    )
    const { ref, ...timed } = placeOf(entry)
    let from = parent
    for (const results of edits) {
      const placed = place({ ref: `${ref}:${results.ref}`, ...timed }, from, {
        kind: 'edit',
        isAnswer: parent?.isAnswer === true,
        results,
      })
      steps.push({
        type: 'condense',
        ...placed,
        covers: { first: results.ref, last: results.ref },
        summary: [{ role: 'user', content: results.content }],
        method: 'client',
        // One saving, told once.
        ...(from === parent && { origin: { usage: usageOf(trigger, preTokens, tokensSaved) } }),
      })
      from = head
    }
    if (parent) parent.next = head
    link(entry.fields, head)
  }

  const finish = (): readonly Step[] => {
    settle(head, undefined)
    for (const _ of boundaries) notes.leftOut('compact_boundary', 'no summary follows it in the file')
    return steps
  }
  const pass = (fields: Fields): void => link(fields, at(fields['parentUuid']))
  return { pass, boundary, microcompact, user, queued, assistant, summary, finish }
}

const blank = {
  round: undefined,
  isAnswer: false,
  results: undefined,
  kind: 'message',
  hidden: undefined,
  keeps: false,
  next: undefined,
} as const

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
