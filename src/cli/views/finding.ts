import type { Output } from '../output.ts'
import { visible } from '../../formats/visible.ts'
import { linesOf, type Part, widthOf } from '../text.ts'

/** What was found, of what it is said, and the message. */
export type FindingParts = readonly [label: Part, subject: Part, message: Part]

/** On one line where there is room, else with the message below: none of that is cut. */
export const writeFinding = async (out: Output, [label, subject, message]: FindingParts): Promise<void> => {
  const whole: readonly Part[] = [label, ['  '], subject, ['  '], message]
  if (widthOf(whole.map(([text]) => visible(text)).join('')) <= out.columns) return out.parts(whole)
  await out.line(label, ['  '], subject)
  await writeMessage(out, message[0])
}

/** Columns before a message on lines of its own: as many as `problem` takes. */
export const messageIndent = 9

/** A message on lines of its own: it says what to do, so it is broken, not cut. */
export const writeMessage = async (out: Output, message: string): Promise<void> => {
  for (const line of linesOf(message, out.columns - messageIndent))
    await out.line([' '.repeat(messageIndent) + line])
}
