import { namedError, requireThat, optional, parse } from './bundle-errors.ts'
import { type ChainedEvent, chainIn } from './check-chain.ts'
import { files } from './manifest.ts'
import type { ProvenEvents } from './verify.ts'

// Transcript of the events that a bundle proves. The program in the bundle prints the same lines.

/** Control characters and characters that reorder or hide terminal text, except newlines and tabs. */
const controls =
  // oxlint-disable-next-line no-control-regex -- it matches control characters
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g
const clear = (text: string): string => text.replace(controls, '\ufffd').toWellFormed()

/** Maximum number of characters shown for a non-text block. */
const longest = 2_000

/**
 * Yields the transcript of the events that the ledger proves, in order: first the conversation's events, then the events recorded by
 * its turns. Each event is one line followed by its indented content. Every event is read again and must match the hash that was
 * checked; if it does not, throws an error that `verifyEvidence` reports as broken.
 */
export async function* transcriptOf(
  folder: string,
  { hashes, proven }: ProvenEvents,
): AsyncGenerator<string, void> {
  for (const [name, mark, known, count] of [
    [files.events, '#', hashes.events, proven.events],
    [files.turns, 'T', hashes.turns, proven.turns],
  ] as const) {
    if (count === 0) continue
    try {
      for await (const event of chainIn(folder, name, 'event')) {
        if (event.position === count) break
        requireThat(event.hash === known[event.position], `${name} was changed while it was read`)
        yield* linesOf(event, mark)
      }
    } catch (error) {
      throw namedError(name, error)
    }
  }
}

function* linesOf(event: ChainedEvent, mark: string): Generator<string, void> {
  const { position, time, type, data, isWithheld } = event
  const role = isWithheld || type !== 'MessageAppended' ? undefined : optional(parse(data), 'role')
  const words = [`${mark}${position}`, time, isWithheld ? 'withheld' : type, role]
  yield clear(
    words
      .filter((word) => word !== undefined && word !== '')
      .map(String)
      .join(' '),
  )
  if (isWithheld) return
  for (const text of textsIn(type, data)) for (const line of clear(text).split('\n')) yield `    ${line}`
}

/** Returns the texts of a message, or the JSON of any other event. */
const textsIn = (type: string, data: Buffer): readonly string[] => {
  const content = type === 'MessageAppended' ? optional(parse(data), 'content') : undefined
  if (typeof content === 'string') return [content]
  if (!Array.isArray(content)) return [data.toString()]
  return content.map((block: unknown) => {
    const text = typeof block === 'object' && block !== null && 'text' in block ? block.text : undefined
    return typeof text === 'string' ? text : cut(JSON.stringify(block, wellFormed))
  })
}

const wellFormed = (_: string, value: unknown): unknown =>
  typeof value === 'string' ? value.toWellFormed() : value

const cut = (text: string): string => {
  const characters = Array.from(text)
  return characters.length > longest ? `${characters.slice(0, longest).join('')}…` : text
}
