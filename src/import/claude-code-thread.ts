import type { NewMessage } from '../commands/command.ts'
import { type Block, isBlock } from '../events/blocks.ts'
import type { RefCovers, Step } from './plan.ts'
import { type Entry, type Fields, isFields, type Notes, stringOf, timeOf } from './source.ts'

/** A step in the session's tree. `first` is the first step of its path. */
interface Node {
  readonly ref: string
  readonly first: string
  readonly parent: Node | undefined
  readonly round: Round | undefined
}

/** An assistant message and what follows it at once: the results of its calls, in the order of the file. */
interface Round {
  readonly index: number
  readonly content: Block[]
  /** The last step of the round; what continues from any entry of the round continues from here. */
  tip: Node | undefined
  followed: boolean
}

/** One chain of a session, as its entries come in. */
export interface Thread {
  readonly has: (uuid: unknown) => boolean
  /** An entry that is no step: what follows it follows what it follows. */
  readonly pass: (fields: Fields) => void
  readonly boundary: (fields: Fields) => void
  readonly user: (entry: Entry, message: NewMessage) => void
  readonly assistant: (entry: Entry, message: NewMessage, id: string | undefined) => void
  readonly summary: (entry: Entry, message: NewMessage) => void
  readonly finish: () => readonly Step[]
}

type Parent = Node | undefined

export const thread = (notes: Notes): Thread => {
  const steps: Step[] = []
  const links = new Map<unknown, Parent>()
  const boundaries = new Map<unknown, Fields>()
  const rounds = new Map<string, Round>()
  const callers = new Map<string, Round>()
  let head: Parent

  const link = ({ uuid }: Fields, node: Parent): void => {
    if (typeof uuid === 'string') links.set(uuid, node)
  }
  const endOf = (node: Parent): Parent => node?.round?.tip ?? node
  // An entry whose parent is not in the file (cut off, or skipped) continues from where the file stands.
  const at = (uuid: unknown): Parent =>
    links.has(uuid) ? endOf(links.get(uuid)) : uuid === null ? undefined : head

  const begin = (
    entry: Entry,
    parent: Parent,
    round?: Round,
  ): { readonly ref: string; readonly time?: string } => {
    const ref = stringOf(entry.fields['uuid']) ?? `line-${entry.line}`
    const time = timeOf(entry.fields['timestamp'])
    const timed = time === undefined ? {} : { time }
    if (parent !== head)
      steps.push({ type: 'rewind', ref: `${ref}:rewind`, to: parent?.ref ?? null, ...timed })
    if (parent?.round && parent.round !== round) parent.round.followed = true
    head = { ref, first: parent?.first ?? ref, parent, round }
    if (round) round.tip = head
    link(entry.fields, head)
    return { ref, ...timed }
  }

  const user = (entry: Entry, message: NewMessage): void => {
    notes.mapped('user')
    const parent = at(entry.fields['parentUuid'])
    const caller = callers.get(resultId(message) ?? '')
    // Parallel calls give sibling results, and hooks add remarks to them: the round takes them in one after the other.
    const isOfRound =
      parent?.round?.tip === parent &&
      (caller === undefined ? entry.fields['isMeta'] === true : caller === parent?.round)
    const isLate = isOfRound && parent?.round?.followed === true
    const from = isLate ? head : parent
    steps.push({
      type: 'message',
      ...begin(entry, from, isOfRound && !isLate ? parent?.round : undefined),
      message,
    })
  }

  const assistant = (entry: Entry, message: NewMessage, id: string | undefined): void => {
    notes.mapped('assistant')
    const open = id === undefined ? undefined : rounds.get(id)
    if (open) return extend(open, entry, message)
    const content = [...blocksOf(message)]
    const parent = at(entry.fields['parentUuid'])
    // A rewind may come before the step.
    const index = parent === head ? steps.length : steps.length + 1
    const round: Round = { index, content, tip: undefined, followed: false }
    if (id !== undefined) rounds.set(id, round)
    for (const call of callIds(content)) callers.set(call, round)
    steps.push({ type: 'message', ...begin(entry, parent, round), message: { ...message, content } })
  }

  /** The recorder writes a line for each block of a message; the last line has the call's outcome. */
  const extend = (round: Round, { fields }: Entry, message: NewMessage): void => {
    link(fields, round.tip)
    const step = steps[round.index]
    if (step?.type !== 'message') return
    for (const block of blocksOf(message)) {
      if (isBlock(block, 'tool_use') && callers.get(block.id) === round) {
        notes.leftOut('assistant block', 'a call that the same message holds already')
        continue
      }
      round.content.push(block)
    }
    for (const call of callIds(round.content)) callers.set(call, round)
    const { origin = {} } = step.message
    steps[round.index] = { ...step, message: { ...step.message, origin: { ...origin, ...message.origin } } }
  }

  const boundary = (fields: Fields): void => {
    const logical = fields['logicalParentUuid']
    link(fields, links.has(logical) ? endOf(links.get(logical)) : head)
    boundaries.set(fields['uuid'], fields)
  }

  const summary = (entry: Entry, message: NewMessage): void => {
    const parent = at(entry.fields['parentUuid'])
    const marked = [...boundaries.values()].at(-1)
    const { trigger, preTokens, preservedSegment } = fieldsOf(marked?.['compactMetadata'])
    const last = lastHidden(parent, links.get(fieldsOf(preservedSegment)['headUuid']))
    if (marked) notes.mapped('compact_boundary')
    boundaries.delete(marked?.['uuid'])
    // The file begins with it: what it sums up is elsewhere.
    if (!parent || last === undefined) return user(entry, message)
    notes.mapped('compaction summary')
    const covers: RefCovers = { first: parent.first, last }
    const usage = {
      ...(trigger !== undefined && { trigger }),
      ...(preTokens !== undefined && { tokens_before: preTokens }),
    }
    steps.push({
      type: 'condense',
      ...begin(entry, parent),
      covers,
      summary: [{ role: 'user', content: blocksOf(message) }],
      method: 'client',
      ...(marked && { origin: { usage } }),
    })
  }

  const finish = (): readonly Step[] => {
    for (const _ of boundaries) notes.leftOut('compact_boundary', 'no summary follows it in the file')
    return steps
  }
  const pass = (fields: Fields): void => link(fields, at(fields['parentUuid']))
  return { has: (uuid) => links.has(uuid), pass, boundary, user, assistant, summary, finish }
}

/** The last step that a compaction hides: all of them, or those before the part that the client kept. */
const lastHidden = (parent: Parent, kept: Parent): string | undefined => {
  for (let node = kept && parent; node; node = node.parent) if (node === kept) return kept?.parent?.ref
  return parent?.ref
}

const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {})

const blocksOf = ({ content }: NewMessage): readonly Block[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : content

const callIds = (content: readonly Block[]): readonly string[] =>
  content.flatMap((block) => (isBlock(block, 'tool_use') ? [block.id] : []))

const resultId = (message: NewMessage): string | undefined =>
  blocksOf(message).find((block) => isBlock(block, 'tool_result'))?.tool_use_id
