import type { Block } from '../../../events/blocks.ts'
import { START } from '../../../events/events.ts'
import { copyOf, indexOf, leaveOut } from './drafts.ts'
import { type Page, reportDropped } from './page.ts'
import type { Report } from './repairs.ts'
import { thinkingProblem } from './thinking.ts'
import { blocksOf, reportUse, type Waiting } from './waiting.ts'

/** Reports removed thinking. The rest of the same reply is then shown without thinking, too. */
export const silence = (page: Page, thinking: readonly Block[]): void => {
  for (const position of new Set(thinking.map((block) => page.thoughts.get(block) ?? START)))
    page.report('thinking-dropped', position, 'its message is not what it was when it was produced')
  if (thinking.length > 0) page.isMuted = true
}

/** Removes server tool uses whose results can no longer come, and the thinking in their messages and in later ones. */
export const dropUses = (page: Page, uses: readonly Waiting[]): void => {
  if (uses.length === 0) return
  const { messages, report } = page
  for (const use of uses) {
    page.ids.free(use.id)
    page.waiting.delete(use.id)
    reportUse(use, report)
  }
  silence(page, leaveOut(messages.slice(firstOf(page, uses)), blocksOf(uses)))
  // Every one of these messages except the last has calls, so only the last can be empty now.
  if (messages.at(-1)?.content.length !== 0) return
  reportDropped(report, messages.pop()?.position ?? START)
  const last = messages.at(-1)
  if (!last || messages.length > page.given) return
  messages[messages.length - 1] = copyOf(last)
  page.given = messages.length - 1
}

/** Returns the index of the message with the first of these uses; the number of messages if no uses are given. */
export const firstOf = ({ messages }: Page, [first]: readonly Waiting[]): number =>
  first ? indexOf(messages, first.message) : messages.length

/** Reports that the thinking of a reply that was held back is left out. */
export const leaveHeld = ({ held }: Page, report: Report, problem?: string): void => {
  for (const { said, content } of held) {
    const { position, unchanged } = said
    report('thinking-dropped', position, problem ?? thinkingProblem(content, said.content, unchanged) ?? '')
    reportDropped(report, position)
  }
}
