import { type Block, isBlock, type KnownBlock } from '../../events/blocks.ts'
import { isCompaction, isThinking } from './clean.ts'
import { leaveOut } from './drafts.ts'
import { mayDivide, placeFields } from './message-fields.ts'
import { dropUses, leaveHeld, silence } from './omitting.ts'
import { add, fillers, insert, type RequestDraft, reportDropped, reportMoved } from './page.ts'
import type { Report } from './repairs.ts'
import { answerOpen, settleLate } from './rounds.ts'
import { callersIn, type PairedContent, pairServerTools } from './server-tools.ts'
import { thinkingProblem } from './thinking.ts'
import type { Utterance } from './utterances.ts'
import type { PendingToolCall, PendingServerUse } from './pending-calls.ts'

/** Content of an assistant message as it will be shown, with its effects on earlier messages. */
interface Part extends Pick<PairedContent, 'served' | 'opened'> {
  readonly shown: readonly Block[]
  /** True if the content is joined to the last message of the request. */
  readonly isJoined: boolean
  /** True if the reply has thinking and is joined to open calls of another reply. The context of its thinking is then unknown. */
  readonly isApart: boolean
  readonly isMuted: boolean
  /** Server tool uses whose results can no longer come because of this message. */
  readonly lost: readonly PendingServerUse[]
  /** Reason for leaving out the reply's thinking; undefined if the thinking is shown. */
  readonly problem: string | undefined
}

/** Writes an assistant message, including the thinking of the same reply that was held back until now. */
export const writeAssistant = (page: RequestDraft, said: Utterance, cleaned: readonly Block[]): void => {
  const { position } = said
  const part = partOf(page, said, cleaned)
  if (part.shown.length === 0) return reportDropped(page.report, position)
  endBefore(page, said, part)
  const made: PendingToolCall[] = []
  const content = part.shown.map((block) =>
    isBlock(block, 'tool_use') ? callOf(page, block, position, made) : block,
  )
  const { nth } = add(page, { role: 'assistant', position, content }, said.note)
  for (const call of made) page.open.add(call)
  noteServerTools(page, part, position, nth)
  for (const block of part.shown) if (isThinking(block)) page.thoughts.set(block, position)
  page.reply = said
}

const partOf = (page: RequestDraft, said: Utterance, cleaned: readonly Block[]): Part => {
  const { messages, open, waiting, ids, held, reply, report } = page
  const { position } = said
  const isDivided = page.later.length > 0 && !isPart(page, said) && mayDivide(page)
  const isJoined =
    messages.at(-1)?.role === 'assistant' && (open.size() === 0 ? !isDivided : isBeside(page, said, cleaned))
  const before = { waiting, used: ids, isSameMessage: isJoined }
  const { content, served, opened } = pairServerTools(cleaned, said.content, before, position, report)
  const callers = callersIn(content)
  // Consecutive parts without a reply id may also belong to one reply.
  const isSame = isJoined && said.reply === reply?.reply && (isPart(page, said) || reply?.paused === false)
  const lost = isSame ? [] : [...waiting.values()].filter(({ id }) => !served.has(id) && !callers.has(id))
  const parts = [...held, { said, content }]
  const whole = parts.flatMap((part) => part.content)
  const isApart = isJoined && open.size() > 0 && !isPart(page, said) && whole.some(isThinking)
  const isMuted = isApart || lost.length > 0 || (page.isMuted && isPart(page, said))
  const problem = thinkingProblem(
    whole,
    parts.flatMap((part) => part.said.content),
    parts.every((part) => part.said.unchanged) && !isMuted,
  )
  if (problem && content.some(isThinking)) report('thinking-dropped', position, problem)
  const kept = problem ? content.filter((block) => !isThinking(block)) : content
  const shown = said.paused ? trimmed(kept, position, report) : kept
  return { shown, served, opened, isJoined, isApart, isMuted, lost, problem }
}

/**
 * Completes the request up to a new assistant message: settles earlier calls, drops server tool uses without results, and adds or
 * leaves out the thinking that was held back.
 */
const endBefore = (
  page: RequestDraft,
  said: Utterance,
  { shown, isJoined, isApart, isMuted, lost, problem }: Part,
): void => {
  const { messages, late, report } = page
  page.isMuted = isMuted
  if (messages.at(-1)?.role !== 'assistant') settleLate(page)
  dropUses(page, lost)
  if (isApart) silence(page, leaveOut(messages.slice(-1), new Set()))
  if (!isJoined) answerOpen(page)
  if (late.wereSent(said)) settleLate(page)
  if (messages.length === 0 && !shown.some(isCompaction))
    insert(page, 'user', said.position, fillers.noBeginning)
  if (!isJoined) {
    if (page.held.length > 0) reportMoved(page, said.position)
    placeFields(page)
  }
  if (problem) leaveHeld(page, report, problem)
  else
    for (const {
      said: { position },
      content,
    } of page.held) {
      add(page, { role: 'assistant', position, content }, false)
      for (const block of content) page.thoughts.set(block, position)
    }
  page.held = []
}

const noteServerTools = (
  { ids, waiting }: RequestDraft,
  { served, opened }: Part,
  position: number,
  message: number,
): void => {
  for (const id of served) {
    ids.take(id)
    waiting.delete(id)
  }
  for (const block of opened) {
    const id = String(block['id'])
    ids.take(id)
    waiting.set(id, { id, block, position, message })
  }
}

const isPart = ({ reply }: RequestDraft, { reply: name }: Utterance): boolean =>
  name !== undefined && name === reply?.reply

/**
 * Reports whether an assistant message continues the last one while calls are open. Calls made in parallel are recorded one by one, so
 * a message with a call continues it. A message without a call does not, because it may answer the error results that `ended` adds. Nor
 * does a message whose receipt shows that its request contained such error results.
 */
const isBeside = (page: RequestDraft, said: Utterance, content: readonly Block[]): boolean => {
  if (isPart(page, said)) return true
  const { late, open } = page
  return !late.wereSent(said) && !open.wereSent(said) && content.some((block) => isBlock(block, 'tool_use'))
}

/** Returns a tool call in the form in which it is sent, and adds it to `made`. */
const callOf = (
  { ids, count, report }: RequestDraft,
  block: KnownBlock<'tool_use'>,
  position: number,
  made: PendingToolCall[],
): Block => {
  const id = ids.freeFor(block.id)
  ids.take(id)
  made.push({ storedId: block.id, id, position, nth: ++count.calls })
  const isObject = typeof block.input === 'object' && block.input !== null && !Array.isArray(block.input)
  if (id !== block.id) report('id-replaced', position, `tool_use ${block.id} is sent as ${id}`)
  if (!isObject) report('input-wrapped', position, `the input of tool_use ${id} is no object`)
  if (isObject && id === block.id) return block
  return { ...block, id, input: isObject ? block.input : { input: block.input } }
}

// Independent of later items, so that appending changes nothing.
const trimmed = (content: readonly Block[], position: number, report: Report): readonly Block[] => {
  const last = content.at(-1)
  if (!last || !isBlock(last, 'text') || last.text.trimEnd() === last.text) return content
  report('whitespace-trimmed', position, 'a turn that goes on cannot end in white space')
  return [...content.slice(0, -1), { ...last, text: last.text.trimEnd() }]
}
