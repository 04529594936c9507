import type { Output } from '../output.ts'
import { visible } from '../../transfer/formats/visible.ts'
import { linesOf, type TextSpan, widthOf } from '../text.ts'

export type FindingParts = readonly [label: TextSpan, subject: TextSpan, message: TextSpan]

/** Writes a finding on one line if it fits, otherwise with the message on the lines below. The text is never cut off. */
export const writeFinding = async (out: Output, [label, subject, message]: FindingParts): Promise<void> => {
  const whole: readonly TextSpan[] = [label, ['  '], subject, ['  '], message]
  if (widthOf(whole.map(([text]) => visible(text)).join('')) <= out.columns) return out.parts(whole)
  await out.line(label, ['  '], subject)
  await writeMessage(out, message[0])
}

/** Indent of a message that is written below its finding, in columns. */
export const messageIndent = 9

/** Writes a message on separate lines, wrapped but not cut, because it says how to fix the problem. */
export const writeMessage = async (out: Output, message: string): Promise<void> => {
  for (const line of linesOf(message, out.columns - messageIndent))
    await out.line([' '.repeat(messageIndent) + line])
}
