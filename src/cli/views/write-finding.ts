import type { Output } from '../output.ts'
import { visible } from '../../transfer/formats/visible.ts'
import { linesOf, type TextSpan, widthOf } from '../text.ts'

/** The parts of a finding: its label, its subject, and the message. */
export type FindingParts = readonly [label: TextSpan, subject: TextSpan, message: TextSpan]

/** Writes a finding on one line if it fits, else with the message below it. Nothing is cut. */
export const writeFinding = async (out: Output, [label, subject, message]: FindingParts): Promise<void> => {
  const whole: readonly TextSpan[] = [label, ['  '], subject, ['  '], message]
  if (widthOf(whole.map(([text]) => visible(text)).join('')) <= out.columns) return out.parts(whole)
  await out.line(label, ['  '], subject)
  await writeMessage(out, message[0])
}

/** Indent of a message on its own lines: the width of `problem`. */
export const messageIndent = 9

/** Writes a message on its own lines, wrapped but not cut, as it says what to do. */
export const writeMessage = async (out: Output, message: string): Promise<void> => {
  for (const line of linesOf(message, out.columns - messageIndent))
    await out.line([' '.repeat(messageIndent) + line])
}
