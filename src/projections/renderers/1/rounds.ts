import type { Block, KnownBlock } from '../../../events/blocks.ts'
import { addTo, copyOf, type Draft, indexOf, joined, leaveOut } from './drafts.ts'
import { dropUses, silence } from './omitting.ts'
import { fillers, type Page } from './page.ts'
import { type Call, type Late, reportAnswer } from './waiting.ts'

/** Answers the open calls with error results. Until the turn ends, their real results may still come. */
export const answerOpen = ({ messages, count, open, late }: Page): void => {
  const message = messages.findLast(({ role }) => role === 'assistant')?.nth ?? 0
  for (const made of open.list())
    late.add({ ...made, message, answer: addError(messages, made, ++count.messages) })
  open.clear()
}

/** Adds an error result for a call and returns the result. */
export const addError = (messages: Draft[], { id, position }: Call, nth: number): Block => {
  const answer: Block = { type: 'tool_result', tool_use_id: id, is_error: true, content: fillers.noResult }
  addTo(messages, 'user', position, [answer], nth)
  return answer
}

/** Makes the error results final, because real results can no longer come. */
export const settleLate = ({ late, report }: Page): void => {
  for (const made of late.list()) reportAnswer(made, report)
  late.clear()
}

/** Ends the turn, because someone other than the model and its tools speaks. */
export const endTurn = (page: Page): void => {
  answerOpen(page)
  settleLate(page)
  dropUses(page, [...page.waiting.values()])
  page.thoughts.clear()
}

/** Returns a result in the form in which it is sent; empty if no call waits for the result. */
export const answered = (
  page: Page,
  result: KnownBlock<'tool_result'>,
  position: number,
): readonly Block[] => {
  const { open, late, report } = page
  const { tool_use_id: id } = result
  const tooLate = open.has(id) ? undefined : late.find(id)
  if (tooLate) rejoin(page, tooLate)
  const found = open.take(id)
  if (!found) {
    report('result-dropped', position, `tool_result ${id} has no open call before it`)
    return []
  }
  if (found.id === id) return [result]
  report('id-replaced', position, `tool_result ${id} is sent as that of ${found.id}`)
  return [{ ...result, tool_use_id: found.id }]
}

/**
 * Reopens a call and the calls after it: removes their error results and joins the messages since the call, because they belong to the
 * same round.
 */
const rejoin = (page: Page, { message }: Late): void => {
  const { messages, given, late, open, report } = page
  const from = indexOf(messages, message)
  const parts = messages.splice(from).map((draft, index) => (from + index < given ? copyOf(draft) : draft))
  page.given = Math.min(given, from)
  const undone = late.takeFrom(message)
  const [, ...others] = parts.filter(({ role }) => role === 'assistant')
  if (others.some(({ thinks }) => thinks)) silence(page, leaveOut(parts, new Set()))
  for (const draft of joined(parts, new Set(undone.map((one) => one.answer)), report)) messages.push(draft)
  open.reopen(undone)
}
