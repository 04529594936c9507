import type { NewMessage } from '../../commands/command.ts'
import type { Configuration, Message } from '../../events/events.ts'
import { blocksOf, branchMessage, compactionMessage, messageOf, resultOf } from './pi-messages.ts'
import { hasAll, type LineFormat, someHave } from './format.ts'
import type { ConversationPlan, ActionBody } from './plan.ts'
import type { Shelf } from './shelf.ts'
import { actionsOn } from './actions.ts'
import { type Fields, isFields } from '../../events/json.ts'
import {
  createFileStart,
  digest,
  entriesIn,
  type FileEntry,
  idOf,
  type FileLine,
  type LineReader,
  messageProblem,
  lostParent,
  type ImportNotes,
  otherEntry,
  placeIn,
  sameEntry,
  stringOf,
  timeOf,
} from './source.ts'

/** An entry in the session's tree. In files of the early version, each entry is the child of the one before it. */
interface Node {
  readonly id: string
  readonly index: number
  readonly parent: Node | undefined
  /** Ref of the last action on the path through this entry; undefined before the first action. */
  readonly action: string | undefined
  readonly isMessage: boolean
  readonly configuration: Configuration
  /** Fields of the entry's message that an edit of its content keeps. */
  readonly message?: Fields
  /** For a compaction, the index of the first entry that pi kept; its own if it kept none. */
  readonly keptFrom?: number
}

/** The content of the action made from an entry. */
type Mapped = Extract<ActionBody, { readonly type: 'message' | 'condense' | 'truncate' | 'configure' }>

/** Format for pi sessions. It is recognised by the header or, if the header is torn, by a message without Claude Code's fields. */
export const pi: LineFormat = {
  name: 'pi',
  recognises: (fields) =>
    (fields['type'] === 'session' && hasAll(fields, 'id')) ||
    (fields['type'] === 'message' &&
      hasAll(fields, 'message', 'timestamp') &&
      !someHave([fields], ['sessionId', 'parentUuid', 'leafUuid'])),
  read: (notes, shelf) => readPi(notes, shelf),
}

/**
 * Reads pi's JSONL, both the early linear version and the later tree (`id`, `parentId`): a header, then messages, compactions, and
 * changes of model and thinking level.
 */
const readPi = (notes: ImportNotes, shelf: Shelf): LineReader<readonly ConversationPlan[]> => {
  const actions = actionsOn(shelf)
  const nodes = new Map<string, Node>()
  const order: Node[] = []
  const said = new Map<string, string>()
  const sessions = new Set<unknown>()
  let session: Fields | undefined
  let root: Node | undefined
  let head: Node | undefined
  let shown: string | undefined

  const begin = createFileStart()
  const read = (line: FileLine): void => {
    begin.add(line)
    for (const entry of entriesIn(line, notes)) readEntry(entry)
  }
  const readEntry = (entry: FileEntry): void => {
    const { fields } = entry
    const index = order.length
    const named = stringOf(fields['parentId'])
    const parent = fields['parentId'] === null ? root : (nodes.get(named ?? '') ?? head)
    if (named !== undefined && !nodes.has(named)) notes.note(lostParent)
    const inherited = parent?.configuration ?? {}
    const id = stringOf(fields['id']) ?? placeIn(entry)
    let node: Node = { id, index, parent, action: parent?.action, isMessage: false, configuration: inherited }
    if (fields['type'] === 'session') {
      session ??= fields
      sessions.add(fields['id'])
      noteHeader(fields, notes)
    } else if (nodes.has(id)) {
      const isSame = said.get(id) === digest(fields)
      notes.leftOut(String(fields['type']), isSame ? sameEntry : otherEntry)
      return
    }
    const mapped = mapEntry(entry, node, { nodes, order, notes })
    const time = timeOf(fields['timestamp'])
    const timed = time === undefined ? {} : { time }
    // Also before entries that are not messages: pi resumes the path of the last entry of any kind.
    if (parent?.action !== shown)
      actions.add({ type: 'rewind', ref: `${id}:rewind`, to: parent?.action ?? null, ...timed })
    shown = parent?.action
    if (mapped) {
      actions.add({ ref: id, ...timed, ...mapped })
      const configuration = mapped.type === 'configure' ? mapped.configuration : inherited
      node = { ...node, action: id, isMessage: mapped.type === 'message', configuration }
      if (fields['type'] === 'compaction')
        node = { ...node, keptFrom: keptFrom(fields, node, { nodes, order }) }
      if (isFields(fields['message'])) node = { ...node, message: editedFields(fields['message']) }
      shown = id
    }
    said.set(id, digest(fields))
    if (fields['type'] === 'session') root ??= node
    else nodes.set(id, node)
    order.push(node)
    head = node
  }
  const finish = (): readonly ConversationPlan[] => {
    if (sessions.size > 1)
      notes.note(`the file contains ${sessions.size} sessions, imported as one conversation`)
    const id = stringOf(session?.['id']) ?? `pi-${begin.digest()}`
    return actions.count() === 0 ? [] : [{ id: idOf(id), actions: actions.list() }]
  }
  return { read, soFar: finish, finish, mayGoOn: () => true }
}

const noteHeader = ({ branchedFrom, parentSession }: Fields, notes: ImportNotes): void => {
  const from = stringOf(branchedFrom) ?? stringOf(parentSession)
  if (from !== undefined) notes.note(`the session was branched from ${from}`)
}

interface Context {
  readonly nodes: ReadonlyMap<string, Node>
  readonly order: readonly Node[]
  readonly notes: ImportNotes
}

const leftOut = new Map<unknown, string>([
  ['custom', 'state of an extension; the model does not see it'],
  ['label', 'a bookmark'],
  ['session_info', 'a name of the session, for lists'],
  ['ephemeral', 'context of a single request, which pi does not replay'],
])

const mapEntry = (entry: FileEntry, node: Node, context: Context): Mapped | undefined => {
  const { line, fields } = entry
  const { notes } = context
  const type = String(fields['type'])
  switch (type) {
    case 'session':
    case 'model_change':
    case 'thinking_level_change':
      return configure(type, fields, node.configuration, notes)
    case 'message':
      return isFields(fields['message'])
        ? say(line, fields['message'], context)
        : bad(line, 'a message entry without a message', notes)
    case 'custom_message':
      return check(line, { role: 'user', content: blocksOf(fields['content']) }, type, context)
    case 'branch_summary':
      return check(line, branchMessage(String(fields['summary'])), type, context)
    case 'compaction':
      return compact(fields, node, context)
    case 'context_edit':
      return edit(entry, node, context)
    default:
      notes.leftOut(type, leftOut.get(type) ?? 'an unknown kind')
      return undefined
  }
}

const bad = (line: number, problem: string, notes: ImportNotes): undefined => {
  notes.bad(line, problem)
  return undefined
}

const check = (line: number, message: NewMessage, kind: string, { notes }: Context): Mapped | undefined => {
  const problem = messageProblem(message)
  if (problem !== undefined) return bad(line, problem, notes)
  notes.mapped(kind)
  return { type: 'message', message }
}

const say = (line: number, message: Fields, context: Context): Mapped | undefined => {
  const kind = `message ${String(message['role'])}`
  const mapped = messageOf(message)
  if ('message' in mapped) return check(line, mapped.message, kind, context)
  context.notes.leftOut(kind, mapped.leftOut)
  return undefined
}

const configure = (
  type: string,
  fields: Fields,
  now: Configuration,
  notes: ImportNotes,
): Mapped | undefined => {
  const { modelId, provider, thinkingLevel } = fields
  const parameters = {
    ...now.parameters,
    ...(typeof provider === 'string' && { provider }),
    ...(typeof thinkingLevel === 'string' && { thinkingLevel }),
  }
  const configuration = {
    ...now,
    ...(stringOf(modelId) !== undefined && { model: String(modelId) }),
    ...(Object.keys(parameters).length > 0 && { parameters }),
  }
  notes.mapped(type)
  // The header of later versions names no model.
  const isSame = JSON.stringify(configuration) === JSON.stringify(now)
  return type === 'session' && isSame ? undefined : { type: 'configure', configuration }
}

/**
 * Returns the action for a compaction. It hides all messages before the first entry that pi kept, or all messages if no such entry is
 * found.
 */
const compact = (fields: Fields, node: Node, { nodes, order, notes }: Context): Mapped | undefined => {
  const { summary, tokensBefore } = fields
  const kept = keptFrom(fields, node, { nodes, order })
  // An action among them that an earlier compaction hides stands for that compaction.
  const hidden = pathTo(node.parent).filter(({ isMessage, index }) => isMessage && index < kept)
  const [first, last] = [hidden[0], hidden.at(-1)]
  if (!first || !last) {
    notes.leftOut('compaction', 'it hides no message')
    return undefined
  }
  notes.mapped('compaction')
  return {
    type: 'condense',
    covers: { first: first.id, last: last.id },
    summary: [compactionMessage(String(summary))],
    method: 'client',
    ...(typeof tokensBefore === 'number' && { origin: { usage: { tokens_before: tokensBefore } } }),
  }
}

/** Returns the index of the first entry that a compaction kept; its own if it kept none. */
const keptFrom = (
  { firstKeptEntryId, firstKeptEntryIndex }: Fields,
  { index, parent }: Node,
  { nodes, order }: Omit<Context, 'notes'>,
): number => {
  const kept = nodes.get(stringOf(firstKeptEntryId) ?? '') ?? order[Number(firstKeptEntryIndex)]
  return kept && pathTo(parent).includes(kept) ? kept.index : index
}

const editedFields = ({ role, toolCallId, isError }: Fields): Fields => ({ role, toolCallId, isError })
const editedRoles = new Set<unknown>(['user', 'assistant', 'toolResult', 'custom', 'hookMessage'])

/** Returns the action for an edit of what the model sees of a message: none of it, or other content. */
const edit = ({ line, fields }: FileEntry, node: Node, { nodes, notes }: Context): Mapped | undefined => {
  const { type, targetId, replacement } = fields
  const target = nodes.get(stringOf(targetId) ?? '')
  const path = pathTo(node.parent)
  const compaction = path.findLast((each) => each.keptFrom !== undefined)
  const isShown = target?.isMessage && path.includes(target) && target.index >= (compaction?.keptFrom ?? 0)
  const { role = 'custom', toolCallId, isError } = target?.message ?? {}
  if (!isShown || (replacement !== null && !editedRoles.has(role))) {
    notes.leftOut(String(type), 'it edits no message that the model sees')
    return undefined
  }
  const covers = { first: target.id, last: target.id }
  if (replacement === null) {
    notes.mapped(String(type))
    return { type: 'truncate', covers }
  }
  const content = blocksOf(isFields(replacement) ? replacement['content'] : undefined)
  const message: Message = {
    role: role === 'assistant' ? 'assistant' : 'user',
    content: role === 'toolResult' ? [resultOf({ toolCallId, content, isError })] : content,
  }
  const problem = messageProblem(message)
  if (problem !== undefined) return bad(line, problem, notes)
  notes.mapped(String(type))
  return { type: 'condense', covers, summary: [message], method: 'client' }
}

const pathTo = (node: Node | undefined): readonly Node[] => {
  const path: Node[] = []
  for (let each = node; each; each = each.parent) path.push(each)
  return path.toReversed()
}
