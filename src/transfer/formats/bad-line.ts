import * as E from 'fp-ts/lib/Either.js'
import { parseJson } from './source.ts'

/**
 * Returns the number (1-based) of the line at which a text stops being valid JSON. For a text that is cut off, this is the last line.
 * The parser's message does not always name the line.
 */
export const badLineOf = (text: string, complaint: string): number => {
  const named = /line (\d+)/.exec(complaint)?.[1]
  if (named !== undefined) return Number(named)
  const lines = text.trimEnd().split('\n')
  // Search for the shortest invalid prefix. No JSON token spans two lines, so each cut is between tokens.
  let [good, wrong] = [0, lines.length]
  while (wrong - good > 1) {
    const middle = Math.floor((good + wrong) / 2)
    if (breaksOff(lines.slice(0, middle).join('\n'))) good = middle
    else wrong = middle
  }
  return wrong
}

const breaksOff = (text: string): boolean => {
  const parsed = parseJson(text)
  if (E.isRight(parsed)) return true
  const position = /position (\d+)/.exec(parsed.left)?.[1]
  return parsed.left.startsWith('Unexpected end') || Number(position ?? -1) >= text.trimEnd().length
}
