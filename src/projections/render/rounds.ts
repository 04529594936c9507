import { type Block, type KnownBlock, textBlock } from '../../events/blocks.ts'
import { clean } from './clean.ts'
import { addTo, copyOf, type MessageDraft, indexOf, joinDrafts, leaveOut } from './drafts.ts'
import { placeFields, takeFields } from './message-fields.ts'
import { dropUses, silence } from './omitting.ts'
import { add, fillers, insert, lateResult, type RequestDraft } from './page.ts'
import type { Report } from './repairs.ts'
import type { Utterance } from './utterances.ts'
import { type PendingToolCall, type Late, reportAnswer } from './pending-calls.ts'

/** Answers the open calls with error results. Until the turn ends, their real results may still come. */
export const answerOpen = ({ messages, count, open, late }: RequestDraft): void => {
  const message = messages.findLast(({ role }) => role === 'assistant')?.nth ?? 0
  for (const made of open.list())
    late.add({ ...made, message, answer: addError(messages, made, ++count.messages) })
  open.clear()
}

/** Adds an error result for a call and returns the result. */
export const addError = (messages: MessageDraft[], { id, position }: PendingToolCall, nth: number): Block => {
  const answer: Block = { type: 'tool_result', tool_use_id: id, is_error: true, content: fillers.noResult }
  addTo(messages, 'user', position, [answer], nth)
  return answer
}

/** Makes the error results final, because real results can no longer come. */
export const settleLate = ({ late, settled, report }: RequestDraft): void => {
  for (const made of late.list()) {
    reportAnswer(made, report)
    settled.add(made)
  }
  late.clear()
}

/** Ends the turn, because someone other than the model and its tools speaks. */
export const endTurn = (page: RequestDraft): void => {
  answerOpen(page)
  settleLate(page)
  dropUses(page, [...page.waiting.values()])
  page.thoughts.clear()
}

/**
 * Adds content from someone other than the model and its tools, after the results that came too late for their calls.
 *
 * @param isWhole false if results of the same message were added before
 */
export const speak = (
  page: RequestDraft,
  said: Pick<Utterance, 'position' | 'content'>,
  isNote: boolean,
  isWhole = true,
): void => {
  endTurn(page)
  if (isWhole) placeFields(page)
  if (page.messages.findLast(({ content }) => content.length > 0)?.role === 'system')
    insert(page, 'assistant', page.told[0]?.position ?? said.position, fillers.noReply)
  for (const { position, content } of page.told) add(page, { role: 'user', position, content })
  page.told.length = 0
  if (said.content.length > 0) add(page, { role: 'user', ...said }, isNote)
}

/**
 * Returns a result in the form in which it is sent; empty if no call waits for the result. If its call already has an error result, the
 * result is shown later as text.
 */
export const answerCall = (
  page: RequestDraft,
  result: KnownBlock<'tool_result'>,
  position: number,
): readonly Block[] => {
  const { open, late, settled, report } = page
  const { tool_use_id: id } = result
  const tooLate = open.has(id) ? undefined : late.find(id)
  if (tooLate) rejoin(page, tooLate)
  const found = open.take(id)
  if (found && result.is_error === true) settled.add(found, result.content)
  const missed = found ? undefined : settled.take(result)
  if (missed) {
    page.told.push({ position, content: asText(missed.id, result, position, report) })
    const why = `an error result stands for the call of ${missed.position}`
    report('result-as-text', position, `tool_result ${id} came late: ${why}`)
    return []
  }
  if (!found) {
    report('result-dropped', position, `tool_result ${id} has no open call before it`)
    return []
  }
  if (found.id === id) return [result]
  report('id-replaced', position, `tool_result ${id} is sent as that of ${found.id}`)
  return [{ ...result, tool_use_id: found.id }]
}

/** Returns a result as user content, because no call waits for it any longer. */
const asText = (
  id: string,
  { content = [], is_error: isError }: KnownBlock<'tool_result'>,
  position: number,
  report: Report,
): readonly Block[] => {
  const blocks = typeof content === 'string' ? (content === '' ? [] : [textBlock(content)]) : content
  const shown = clean(blocks, 'user', position, report)
  return [textBlock(lateResult(id, isError === true, shown.length === 0)), ...shown]
}

/**
 * Removes the error results of a call and of later calls, and joins the messages since that call, because they belong to the same
 * round.
 */
const rejoin = (page: RequestDraft, { message }: Late): void => {
  const { messages, given, late, open, report } = page
  const from = indexOf(messages, message)
  const parts = messages.splice(from).map((draft, index) => (from + index < given ? copyOf(draft) : draft))
  page.given = Math.min(given, from)
  takeFields(page, parts)
  const undone = late.takeFrom(message)
  const [, ...others] = parts.filter(({ role }) => role === 'assistant')
  if (others.some(({ thinks }) => thinks)) silence(page, leaveOut(parts, new Set()))
  for (const draft of joinDrafts(parts, new Set(undone.map((one) => one.answer)), report))
    messages.push(draft)
  open.reopen(undone)
}
