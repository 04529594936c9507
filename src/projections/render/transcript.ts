import { type Block, isBlock } from '../../events/blocks.ts'
import type { Fields } from '../../events/json.ts'
import { writeAssistant } from './assistant.ts'
import { clean, isCompaction, isThinking } from './clean.ts'
import { copyOf, type MessageDraft, leaveOut } from './drafts.ts'
import { placeFields, placeFieldsAtEnd, sentFields } from './message-fields.ts'
import { firstOf, leaveHeld } from './omitting.ts'
import { add, emptyPage, type RequestDraft, reportDropped } from './page.ts'
import type { Report } from './repairs.ts'
import { addError, answerCall, endTurn, speak } from './rounds.ts'
import type { Utterance } from './utterances.ts'
import { blocksOf, reportAnswer, reportUse } from './pending-calls.ts'

/**
 * A request that is written message by message. **It is only appended to**: the rendering of a message depends on earlier messages,
 * never on later ones. Only the last messages of a turn that is still open may change: docs/adr/0004.
 */
export interface Transcript {
  readonly say: (utterance: Utterance) => void
  /**
   * Returns the messages so far, with error results for open calls; empty if the request has only notes. The returned messages do not
   * change when the transcript continues.
   *
   * @param isPrefill true if the last message is a prefill; no server tool use in it may wait, unless the reply was paused
   */
  readonly ended: (report: Report, isPrefill: boolean) => readonly MessageDraft[]
  readonly messages: readonly MessageDraft[]
}

export const transcript = (systemMessages: boolean, report: Report): Transcript => {
  const page = emptyPage(report)
  return {
    say: (said) => say(page, said, systemMessages),
    ended: (reportEnd, isPrefill) => ended(page, reportEnd, isPrefill),
    messages: page.messages,
  }
}

const say = (page: RequestDraft, said: Utterance, systemMessages: boolean): void => {
  const { report } = page
  const { role, position } = said
  const fields = sentFields(said, systemMessages, report)
  const content = compacted(page, said, clean(said.content, role, position, report))
  if (fields && content.length === 0) return wait(page, position, fields)
  const [part] = page.held
  if (part && (role !== 'assistant' || part.said.reply !== said.reply)) {
    leaveHeld(page, report)
    page.held = []
  }
  if (content.length === 0) return reportDropped(report, position)
  const isOnlyThinking = role === 'assistant' && content.every(isThinking)
  if (isOnlyThinking && said.reply !== undefined) page.held.push({ said, content })
  else if (role === 'assistant') writeAssistant(page, said, content)
  else if (role === 'user') writeUser(page, said, content)
  else writeSystem(page, said, content, fields, systemMessages)
}

const wait = ({ later }: RequestDraft, position: number, fields: Fields): void =>
  void later.push({ position, fields, isMoved: false })

/**
 * Handles the compaction blocks of a message. A compaction block must come first in the request; otherwise it is left out. In a
 * summary, it removes everything before it.
 */
const compacted = (page: RequestDraft, said: Utterance, content: readonly Block[]): readonly Block[] => {
  const { messages, report } = page
  const { position } = said
  const at = content.findLastIndex(isCompaction)
  if (at < 0) return content
  if (said.summary && (messages.length > 0 || at > 0)) {
    const before = messages.length + page.later.length
    report('compaction-applied', position, `${before} messages before the compaction are left out`)
    messages.length = page.later.length = page.given = 0
    for (const all of [page.open, page.late, page.settled, page.waiting, page.ids, page.thoughts]) all.clear()
    page.told.length = 0
  }
  if (said.summary) return content.slice(at)
  return content.filter((block, index) => {
    const isKept = !isCompaction(block) || (index === 0 && messages.length === 0)
    if (!isKept) report('compaction-applied', position, 'a compaction block inside a message is left out')
    return isKept
  })
}

const writeUser = (page: RequestDraft, said: Utterance, content: readonly Block[]): void => {
  const { report } = page
  const { position } = said
  const results = content.filter((block) => isBlock(block, 'tool_result'))
  const others = results.length > 0 ? content.filter((block) => !isResult(block)) : content
  const answers = results.flatMap((result) => answerCall(page, result, position))
  if (answers.length > 0) {
    const first = content.findIndex((block) => !isResult(block))
    if (first >= 0 && first < content.findLastIndex(isResult))
      report('results-moved', position, 'tool results come first in their message')
    add(page, { role: 'user', position, content: answers }, said.note)
  }
  const isTold = page.told.at(-1)?.position === position
  if (others.length > 0 || (page.told.length > 0 && page.open.size() === 0))
    speak(page, { position, content: others }, said.note || answers.length > 0, answers.length === 0)
  if (answers.length === 0 && others.length === 0 && !isTold) reportDropped(report, position)
}

const isResult = (block: Block): boolean => block.type === 'tool_result'

const writeSystem = (
  page: RequestDraft,
  said: Utterance,
  content: readonly Block[],
  fields: Fields | undefined,
  systemMessages: boolean,
): void => {
  const { messages, open, later, report } = page
  const { position } = said
  const role = messages.at(-1)?.role
  const mayStand = role === 'user' || (role === 'system' && later.length === 0)
  if (systemMessages && open.size() === 0 && mayStand) {
    endTurn(page)
    placeFields(page)
    const before = messages.length
    const written = add(page, { role: 'system', position, content }, said.note)
    // Joined to an earlier message, it cannot change the fields of that one.
    if (fields && messages.length > before) written.fields = fields
    else if (fields) wait(page, position, fields)
  } else {
    report('system-folded', position, 'a system message is shown as text of a user message')
    writeUser(page, said, clean(content, 'user', position, report))
    if (fields) wait(page, position, fields)
  }
}

const ended = (page: RequestDraft, report: Report, isPrefill: boolean): readonly MessageDraft[] => {
  const { messages, count, open, late, waiting, reply } = page
  leaveHeld(page, report)
  if (!page.isSpoken) return []
  const left =
    isPrefill && messages.at(-1)?.role === 'assistant' && !reply?.paused ? [...waiting.values()] : []
  const from = Math.min(messages.length - 1, firstOf(page, left))
  page.given = Math.max(page.given, from)
  const all = [...messages.slice(0, from), ...messages.slice(from).map(copyOf)]
  for (const use of left) reportUse(use, report)
  if (left.length > 0) leaveOut(all.slice(from), blocksOf(left))
  if (all.at(-1)?.content.length === 0) all.pop()
  for (const made of late.list()) reportAnswer(made, report)
  for (const made of open.list()) {
    reportAnswer(made, report)
    addError(all, made, count.messages + 1)
  }
  placeFieldsAtEnd(page, all, isPrefill, report)
  return all
}
