import { type Block, isBlock, type KnownBlock } from '../../events/blocks.ts'
import { type Role, START } from '../../events/events.ts'
import { clean, isCompaction, isThinking } from './clean.ts'
import { addTo, copyOf, type Draft, indexOf, joined, joinedTo, leaveOut } from './drafts.ts'
import type { Report } from './repairs.ts'
import { callersIn, pairServerTools } from './server-tools.ts'
import { thinkingProblem } from './thinking.ts'
import type { Utterance } from './utterances.ts'
import { idsOfRequest } from './ids.ts'
import {
  blocksOf,
  type Call,
  type Late,
  lateCalls,
  openCalls,
  reportAnswer,
  reportUse,
  type ToolCall,
  type Waiting,
} from './waiting.ts'

/** A part of a reply that is only thinking, as it was said and cleaned. */
interface Held {
  readonly said: Utterance
  readonly content: readonly Block[]
}

/** What the request says where nobody said anything. Part of the rendered bytes: changing one breaks prompt caches. */
export const fillers = {
  noResult: 'No result was recorded for this call.',
  noBeginning: '(The beginning of this conversation is not shown.)',
  noReply: '(No reply.)',
}

/**
 * Writes a request message by message. **It only adds at its end**: what a message becomes depends on what was said before it, never
 * on what comes later. Only the last messages of a turn that is still open may change: docs/adr/0004.
 */
export interface Transcript {
  readonly say: (utterance: Utterance) => void
  /**
   * The messages so far, calls that are still open answered; none if nothing but notes was said. They stay what they are when the
   * transcript goes on.
   *
   * @param isPrefill the last message is to be gone on with, and was not paused: no server tool use in it may wait
   */
  readonly ended: (report: Report, isPrefill: boolean) => readonly Draft[]
  readonly messages: readonly Draft[]
  /**
   * The calls answered so far, then those that still wait, as they are stored; server tool uses among them, where use and result are
   * not of one message.
   */
  readonly calls: () => readonly ToolCall[]
}

export const transcript = (systemMessages: boolean, report: Report): Transcript => {
  const messages: Draft[] = []
  /** How many messages there were ever, and how many calls. */
  const count = { messages: 0, calls: 0 }
  /** So many of the messages may have been given away as they are. */
  let given = 0
  const ids = idsOfRequest()
  const open = openCalls()
  const late = lateCalls()
  /** In the order in which they were made. */
  const waiting = new Map<string, Waiting>()
  const closed: ToolCall[] = []
  /** The last thing that the assistant said, and whether thinking of that reply is left out. */
  let reply: Utterance | undefined
  let isMuted = false
  let isSpoken = false
  /** No message ends with thinking: these parts of a reply are shown along with the part that follows, if one does. */
  let held: Held[] = []
  /** Where the thinking of the turn comes from: it may have to be left out yet. */
  const thoughts = new Map<Block, number>()

  const add = (role: Role, position: number, content: readonly Block[], note = true): Draft => {
    const last = addTo(messages, role, position, content, ++count.messages)
    if (!note) isSpoken = true
    if (last && !note) report('roles-merged', position, joinedTo(last))
    return messages.at(-1) as Draft
  }

  const insert = (role: Role, position: number, text: string): void => {
    report('message-inserted', position, `${role}: ${text}`)
    add(role, position, [{ type: 'text', text }])
  }

  const silence = (thinking: readonly Block[]): void => {
    for (const position of new Set(thinking.map((block) => thoughts.get(block) ?? START)))
      report('thinking-dropped', position, 'its message is not what it was when it was produced')
    if (thinking.length > 0) isMuted = true
  }

  /** Leaves out server tool uses whose results cannot come any more, and all thinking that was produced with them. */
  const drop = (uses: readonly Waiting[]): void => {
    if (uses.length === 0) return
    for (const use of uses) {
      ids.free(use.id)
      waiting.delete(use.id)
      reportUse(use, report)
    }
    silence(leaveOut(messages.slice(firstOf(uses)), blocksOf(uses)))
    // Of these messages all but the last one have calls.
    if (messages.at(-1)?.content.length !== 0) return
    dropped(messages.pop()?.position ?? START)
    const last = messages.at(-1)
    if (!last || messages.length > given) return
    messages[messages.length - 1] = copyOf(last)
    given = messages.length - 1
  }
  const firstOf = ([first]: readonly Waiting[]): number =>
    first ? indexOf(messages, first.message) : messages.length

  /** Answers the calls that are open; their real results may still come, until the turn ends. */
  const answer = (): void => {
    const message = messages.findLast(({ role }) => role === 'assistant')?.nth ?? 0
    for (const made of open.list())
      late.add({ ...made, message, answer: answerIn(messages, made, ++count.messages) })
    open.clear()
  }
  const settle = (): void => {
    for (const made of late.list()) reportAnswer(made, report)
    late.clear()
  }

  /** Somebody else than the model and its tools speaks. */
  const endTurn = (): void => {
    answer()
    settle()
    drop([...waiting.values()])
    thoughts.clear()
  }

  const isPart = ({ reply: name }: Utterance): boolean => name !== undefined && name === reply?.reply

  /**
   * Whether a message of the assistant goes on with the last one, calls open. Calls in a row are made side by side, and recorded one by
   * one; a message without a call may be the answer to the errors of `ended`, and one with a receipt that says so is.
   */
  const isBeside = (said: Utterance, content: readonly Block[]): boolean => {
    if (isPart(said)) return true
    return !late.wereSent(said) && !open.wereSent(said) && content.some((block) => isBlock(block, 'tool_use'))
  }

  const leaveHeld = (to: Report, problem?: string): void => {
    for (const { said, content } of held) {
      const { position, unchanged } = said
      const why = problem ?? thinkingProblem(content, said.content, unchanged) ?? ''
      to('thinking-dropped', position, why)
      to('message-dropped', position, noBlock)
    }
  }

  const assistant = (said: Utterance, cleaned: readonly Block[]): void => {
    const { position } = said
    const isAfter = messages.at(-1)?.role === 'assistant'
    const isJoined = isAfter && (open.size() === 0 || isBeside(said, cleaned))
    const { content, served, opened } = pairServerTools(
      cleaned,
      said.content,
      { waiting, used: ids, isSameMessage: isJoined },
      position,
      report,
    )
    const callers = callersIn(content)
    // Parts of a reply without a name may follow one another, too.
    const isSame = isJoined && said.reply === reply?.reply && (isPart(said) || reply?.paused === false)
    const lost = isSame ? [] : [...waiting.values()].filter(({ id }) => !served.has(id) && !callers.has(id))
    // Nobody knows what it was produced under, if not as a part of the same reply.
    const parts = [...held, { said, content }]
    const whole = parts.flatMap((part) => part.content)
    const isApart = isJoined && open.size() > 0 && !isPart(said) && whole.some(isThinking)
    const isChanged = isApart || lost.length > 0 || (isMuted && isPart(said))
    const problem = thinkingProblem(
      whole,
      parts.flatMap((part) => part.said.content),
      parts.every((part) => part.said.unchanged) && !isChanged,
    )
    if (problem && content.some(isThinking)) report('thinking-dropped', position, problem)
    const kept = problem ? content.filter((block) => !isThinking(block)) : content
    const shown = said.paused ? trimmed(kept, position) : kept
    if (shown.length === 0) return dropped(position)

    isMuted = isChanged
    if (!isAfter) settle()
    drop(lost)
    if (isApart) silence(leaveOut(messages.slice(-1), new Set()))
    if (!isJoined) answer()
    if (late.wereSent(said)) settle()
    if (messages.length === 0 && !shown.some(isCompaction)) insert('user', position, fillers.noBeginning)
    if (problem) leaveHeld(report, problem)
    else for (const part of held) think(part)
    held = []
    const made: Call[] = []
    const { nth } = add(
      'assistant',
      position,
      shown.map((block) => (isBlock(block, 'tool_use') ? call(block, position, made) : block)),
      said.note,
    )
    for (const one of made) open.add(one)
    for (const id of served) {
      ids.take(id)
      const use = waiting.get(id)
      if (use) closed.push({ id, use: use.position, result: position })
      waiting.delete(id)
    }
    for (const block of opened) {
      const id = String(block['id'])
      ids.take(id)
      waiting.set(id, { id, block, position, message: nth })
    }
    for (const block of shown) if (isThinking(block)) thoughts.set(block, position)
    reply = said
  }

  const think = ({ said: { position }, content }: Held): void => {
    add('assistant', position, content, false)
    for (const block of content) thoughts.set(block, position)
  }

  const call = (block: KnownBlock<'tool_use'>, position: number, made: Call[]): Block => {
    const id = ids.freeFor(block.id)
    ids.take(id)
    made.push({ storedId: block.id, id, position, nth: ++count.calls })
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
      const first = content.findIndex((block) => !isResult(block))
      if (first >= 0 && first < content.findLastIndex(isResult))
        report('results-moved', said.position, 'tool results come first in their message')
      add('user', said.position, answers, said.note)
    }
    if (others.length > 0) {
      endTurn()
      if (messages.at(-1)?.role === 'system') insert('assistant', said.position, fillers.noReply)
      add('user', said.position, others, said.note || answers.length > 0)
    }
    if (answers.length === 0 && others.length === 0) dropped(said.position)
  }

  const answered = (result: KnownBlock<'tool_result'>, position: number): readonly Block[] => {
    const tooLate = open.has(result.tool_use_id) ? undefined : late.find(result.tool_use_id)
    if (tooLate) rejoin(tooLate)
    const found = open.take(result.tool_use_id)
    if (!found) {
      report('result-dropped', position, `tool_result ${result.tool_use_id} has no open call before it`)
      return []
    }
    closed.push({ id: found.storedId, use: found.position, result: position })
    if (found.id === result.tool_use_id) return [result]
    report('id-replaced', position, `tool_result ${result.tool_use_id} is sent as that of ${found.id}`)
    return [{ ...result, tool_use_id: found.id }]
  }

  /** Takes back the error results of a call and of those after it: what was said since was said beside it. */
  const rejoin = ({ message }: Late): void => {
    const from = indexOf(messages, message)
    const parts = messages.splice(from).map((draft, index) => (from + index < given ? copyOf(draft) : draft))
    given = Math.min(given, from)
    const undone = late.takeFrom(message)
    const [, ...others] = parts.filter(({ role }) => role === 'assistant')
    if (others.some(({ thinks }) => thinks)) silence(leaveOut(parts, new Set()))
    for (const draft of joined(parts, new Set(undone.map((one) => one.answer)), report)) messages.push(draft)
    open.reopen(undone)
  }

  const system = (said: Utterance, content: readonly Block[]): void => {
    const role = messages.at(-1)?.role
    if (systemMessages && open.size() === 0 && (role === 'user' || role === 'system')) {
      endTurn()
      add('system', said.position, content, said.note)
    } else {
      report('system-folded', said.position, 'a system message is shown as text of a user message')
      user(said, clean(content, 'user', said.position, report))
    }
  }

  const dropped = (position: number): void => report('message-dropped', position, noBlock)

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
      messages.length = given = 0
      for (const all of [open, late, waiting, ids, thoughts]) all.clear()
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
    const content = compacted(said, clean(said.content, role, position, report))
    const [part] = held
    if (part && (role !== 'assistant' || part.said.reply !== said.reply)) {
      leaveHeld(report)
      held = []
    }
    if (content.length === 0) return dropped(position)
    const isOnlyThinking = role === 'assistant' && content.every(isThinking)
    if (isOnlyThinking && said.reply !== undefined) held.push({ said, content })
    else if (role === 'assistant') assistant(said, content)
    else if (role === 'user') user(said, content)
    else system(said, content)
  }

  const calls = (): readonly ToolCall[] => [
    ...closed,
    ...open.list().map(({ storedId, position }) => ({ id: storedId, use: position })),
    ...Array.from(waiting.values(), ({ id, position }) => ({ id, use: position })),
  ]

  const ended = (reportEnd: Report, isPrefill: boolean): readonly Draft[] => {
    leaveHeld(reportEnd)
    if (!isSpoken) return []
    const left =
      isPrefill && messages.at(-1)?.role === 'assistant' && !reply?.paused ? [...waiting.values()] : []
    const from = Math.min(messages.length - 1, firstOf(left))
    given = Math.max(given, from)
    const all = [...messages.slice(0, from), ...messages.slice(from).map(copyOf)]
    for (const use of left) reportUse(use, reportEnd)
    if (left.length > 0) leaveOut(all.slice(from), blocksOf(left))
    if (all.at(-1)?.content.length === 0) all.pop()
    for (const made of late.list()) reportAnswer(made, reportEnd)
    for (const made of open.list()) {
      reportAnswer(made, reportEnd)
      answerIn(all, made, count.messages + 1)
    }
    return all
  }

  return { say, ended, messages, calls }
}

const noBlock = 'no block of it remained'

const answerIn = (messages: Draft[], { id, position }: Call, nth: number): Block => {
  const answer: Block = {
    type: 'tool_result',
    tool_use_id: id,
    is_error: true,
    content: fillers.noResult,
  }
  addTo(messages, 'user', position, [answer], nth)
  return answer
}

const isResult = (block: Block): boolean => block.type === 'tool_result'
