import { type Block, isBlock, type KnownBlock } from '../../events/blocks.ts'
import type { Role } from '../../events/events.ts'
import type { ToolCall } from './calls.ts'
import { clean, isCompaction, isThinking } from './clean.ts'
import type { Report } from './repairs.ts'
import { pairServerTools } from './server-tools.ts'
import { thinkingProblem } from './thinking.ts'

/** A message of a request. */
export interface RenderedMessage {
  readonly role: Role
  readonly content: readonly Block[]
}

/** What is said next: a message of an item, with what decides how it may be shown. */
export interface Utterance extends RenderedMessage {
  readonly position: number
  /** Whether the thinking in it was produced under what the request holds before it. */
  readonly unchanged: boolean
  /** Names the model's reply that this is a part of: consecutive parts of one reply are one message. */
  readonly reply: string | undefined
  /** A summary, whose compaction block stands for everything before it. */
  readonly summary: boolean
  /** A turn that the model paused: the request goes on with it, and it cannot end in white space. */
  readonly paused: boolean
  /** A text of render's own: joining it to a message is no repair. */
  readonly note: boolean
}

/** What the request says where nobody said anything. Part of the rendered bytes: changing one breaks prompt caches. */
export const fillers = {
  noResult: 'No result was recorded for this call.',
  noBeginning: '(The beginning of this conversation is not shown.)',
  noReply: '(No reply.)',
}

interface Call {
  readonly storedId: string
  readonly id: string
  readonly position: number
}
interface Draft {
  readonly role: Role
  readonly position: number
  readonly content: Block[]
  /** Position of the last event that it shows something of. */
  until: number
}

/**
 * Writes a request message by message. **It only ever adds at the end**: what a message becomes depends on what was said before
 * it, never on what comes later. So appending to a conversation leaves every rendered byte as it was; the answers that `ended`
 * gives to calls still open are the one exception.
 */
export interface Transcript {
  readonly say: (utterance: Utterance) => void
  /** The messages so far, calls that are still open answered. They stay what they are when the transcript goes on. */
  readonly ended: (report: Report) => readonly Draft[]
  readonly messages: readonly Draft[]
  /** The calls answered so far, then those that still wait, as they are stored. */
  readonly calls: () => readonly ToolCall[]
}

export const transcript = (systemMessages: boolean, report: Report): Transcript => {
  const messages: Draft[] = []
  /** Ids of the calls in the request. */
  const used = new Set<string>()
  /** The calls of the tool round at hand that have no result yet. */
  let open: Call[] = []
  let openReply: string | undefined
  const closed: ToolCall[] = []

  const add = (role: Role, position: number, content: readonly Block[], note = true): void => {
    const joined = addTo(messages, role, position, content)
    if (joined && !note)
      report('roles-merged', position, `joined to the ${role} message of ${joined.position}`)
  }

  const answer = (): void => {
    answerIn(messages, open, report)
    open = []
  }

  const insert = (role: Role, position: number, text: string): void => {
    report('message-inserted', position, `${role}: ${text}`)
    add(role, position, [{ type: 'text', text }])
  }

  const assistant = (said: Utterance, content: readonly Block[]): void => {
    // A reply to the error results of `ended` was produced under them, so they stay; parts of one reply belong together.
    const isContinued = said.reply === openReply && messages.at(-1)?.role === 'assistant'
    if (said.reply === undefined || !isContinued) answer()
    if (messages.length === 0 && !content.some(isCompaction))
      insert('user', said.position, fillers.noBeginning)
    openReply = said.reply
    add(
      'assistant',
      said.position,
      content.map((block) => (isBlock(block, 'tool_use') ? call(block, said.position) : block)),
      said.note,
    )
  }

  const call = (block: KnownBlock<'tool_use'>, position: number): Block => {
    const id = freeId(block.id, used)
    used.add(id)
    open.push({ storedId: block.id, id, position })
    const isObject = typeof block.input === 'object' && block.input !== null && !Array.isArray(block.input)
    if (id !== block.id) report('id-replaced', position, `tool_use ${block.id} is sent as ${id}`)
    if (!isObject) report('input-wrapped', position, `the input of tool_use ${id} is no object`)
    if (isObject && id === block.id) return block
    return { ...block, id, input: isObject ? block.input : { input: block.input } }
  }

  const user = (said: Utterance, content: readonly Block[]): void => {
    const results = content.filter((block) => isBlock(block, 'tool_result'))
    const others = results.length > 0 ? content.filter((block) => !isResult(block)) : content
    const answers = results.flatMap((result) => answered(result, said.position))
    if (answers.length > 0) {
      const isMoved = others.some((block) => content.indexOf(block) < content.findLastIndex(isResult))
      if (isMoved) report('results-moved', said.position, 'tool results come first in their message')
      add('user', said.position, answers, said.note)
    }
    if (others.length > 0) {
      answer()
      if (messages.at(-1)?.role === 'system') insert('assistant', said.position, fillers.noReply)
      add('user', said.position, others, said.note || answers.length > 0)
    }
    if (answers.length === 0 && others.length === 0) dropped(said.position)
  }

  const answered = (result: KnownBlock<'tool_result'>, position: number): readonly Block[] => {
    const index = open.findIndex(({ storedId }) => storedId === result.tool_use_id)
    const [found] = index < 0 ? [] : open.splice(index, 1)
    if (!found) {
      report('result-dropped', position, `tool_result ${result.tool_use_id} has no open call before it`)
      return []
    }
    closed.push({ id: found.storedId, use: found.position, result: position })
    if (found.id === result.tool_use_id) return [result]
    report('id-replaced', position, `tool_result ${result.tool_use_id} is sent as that of ${found.id}`)
    return [{ ...result, tool_use_id: found.id }]
  }

  const system = (said: Utterance, content: readonly Block[]): void => {
    const role = messages.at(-1)?.role
    if (systemMessages && open.length === 0 && (role === 'user' || role === 'system'))
      add('system', said.position, content, said.note)
    else {
      report('system-folded', said.position, 'a system message is shown as text of a user message')
      user(said, clean(content, 'user', said.position, report))
    }
  }

  const dropped = (position: number): void => report('message-dropped', position, 'no block of it remained')

  /** A compaction block stands first in the request or nowhere; in a summary it makes itself first. */
  const compacted = (said: Utterance, content: readonly Block[]): readonly Block[] => {
    const at = content.findLastIndex(isCompaction)
    if (at < 0) return content
    if (said.summary && (messages.length > 0 || at > 0)) {
      report(
        'compaction-applied',
        said.position,
        `${messages.length} messages before the compaction are left out`,
      )
      messages.length = 0
      open = []
      used.clear()
    }
    if (said.summary) return content.slice(at)
    return content.filter((block, index) => {
      const kept = !isCompaction(block) || (index === 0 && messages.length === 0)
      if (!kept)
        report('compaction-applied', said.position, 'a compaction block inside a message is left out')
      return kept
    })
  }

  // Whatever comes later, so that appending changes nothing.
  const trimmed = (content: readonly Block[], position: number): readonly Block[] => {
    const last = content.at(-1)
    if (!last || !isBlock(last, 'text') || last.text.trimEnd() === last.text) return content
    report('whitespace-trimmed', position, 'a turn that goes on cannot end in white space')
    return [...content.slice(0, -1), { ...last, text: last.text.trimEnd() }]
  }

  const say = (said: Utterance): void => {
    const { role, position } = said
    const cleaned = compacted(said, clean(said.content, role, position, report))
    const paired = role === 'assistant' ? pairServerTools(cleaned, used, position, report) : cleaned
    const problem = thinkingProblem(paired, said.content, said.unchanged)
    if (problem) report('thinking-dropped', position, problem)
    const kept = problem ? paired.filter((block) => !isThinking(block)) : paired
    const content = said.paused ? trimmed(kept, position) : kept
    if (content.length === 0) dropped(position)
    else if (role === 'assistant') assistant(said, content)
    else if (role === 'user') user(said, content)
    else system(said, content)
  }

  const calls = (): readonly ToolCall[] => [
    ...closed,
    ...open.map(({ storedId, position }) => ({ id: storedId, use: position })),
  ]

  const ended = (reportEnd: Report): readonly Draft[] => {
    const last = messages.at(-1)
    const all = last ? [...messages.slice(0, -1), { ...last, content: [...last.content] }] : []
    answerIn(all, open, reportEnd)
    return all
  }

  return { say, ended, messages, calls }
}

/** Adds to the last message, if it is of that role, which is returned; else a message. */
const addTo = (
  messages: Draft[],
  role: Role,
  position: number,
  content: readonly Block[],
): Draft | undefined => {
  const last = messages.at(-1)
  if (last?.role !== role) {
    messages.push({ role, position, content: [...content], until: position })
    return undefined
  }
  last.content.push(...content)
  last.until = position
  return last
}

const answerIn = (messages: Draft[], open: readonly Call[], report: Report): void => {
  for (const { id, position } of open) {
    report('call-answered', position, `tool_use ${id} has no result; an error result stands for it`)
    addTo(messages, 'user', position, [
      { type: 'tool_result', tool_use_id: id, is_error: true, content: fillers.noResult },
    ])
  }
}

const isResult = (block: Block): boolean => block.type === 'tool_result'

const freeId = (id: string, used: ReadonlySet<string>): string => {
  const allowed = id.replace(/[^a-zA-Z0-9_-]/g, '_')
  let free = allowed
  for (let n = 2; used.has(free); n++) free = `${allowed}_${n}`
  return free
}
