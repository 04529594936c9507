import { createNeedleFinder, type LeftOutTexts, type WordRepetition } from './needles.ts'
import { redactMatches } from './redact.ts'
import { createSecretScanner, type PlacedSecret } from './secrets.ts'
import { textListOf } from './texts.ts'
import type { StubbedEvents } from './withheld.ts'

/** A part of what an export contains. */
export interface ExportPlace {
  readonly kind: 'event' | 'note' | 'link' | 'title' | 'turn' | 'line'
  /** Position of the event or note, revision of the event in the stream of turns, or number of the line of a file. */
  readonly position?: number
}
export interface ExportPart {
  readonly place: ExportPlace
  readonly value: unknown
}

/** Credentials and repeated words in the parts of an export. */
export interface ExportInspection {
  readonly secrets: readonly PlacedSecret<ExportPlace>[]
  /** Places that repeat words of what is withheld or redacted. */
  readonly repeated: readonly RepeatingPlace[]
  /** Number of matches that are redacted. */
  readonly redacted: number
}
export interface RepeatingPlace extends WordRepetition {
  readonly place: ExportPlace
}

export interface LeftOut {
  readonly withheld: StubbedEvents
  /** Pattern of the texts that are redacted. */
  readonly redact?: RegExp | undefined
}

/** Names of fields whose data has a schema of its own, in notes. */
const ofNotes = ['data']

/** Returns the part as it is exported. */
const cleaned = (
  { place, value }: ExportPart,
  redact: RegExp | undefined,
  onMatch?: (text: string) => void,
) => (redact ? redactMatches(value, redact, place.kind === 'note' ? ofNotes : [], onMatch).value : value)

/**
 * Looks for credentials in the parts of an export, and for words of what it leaves out.
 *
 * @param parts yields the parts without withheld content, each time that it is called
 */
export const inspectParts = async (
  parts: () => AsyncIterable<ExportPart>,
  { withheld, redact }: LeftOut,
): Promise<ExportInspection> => {
  const leftOut: LeftOutTexts[] = []
  for (const [position, { event }] of withheld) leftOut.push({ position, texts: textListOf(event.data) })
  const redacted = redact ? await redactedTexts(parts(), redact) : { texts: [], matches: 0 }
  leftOut.push(...redacted.texts)
  const find = leftOut.length > 0 ? createNeedleFinder(leftOut) : undefined
  const scanner = await createSecretScanner<ExportPlace>()
  const repeated: RepeatingPlace[] = []
  for await (const part of parts()) {
    const value = cleaned(part, redact)
    await scanner.pass(part.place, value)
    const found = find?.(textListOf(value))
    if (found) repeated.push({ place: part.place, ...found })
  }
  return { secrets: await scanner.end(), repeated, redacted: redacted.matches }
}

/** Maximum number of distinct redacted texts that are looked for elsewhere. */
const mostTexts = 10_000
/** Minimum length of a redacted text that is looked for as a whole, in characters. */
const leastRedacted = 4

const redactedTexts = async (
  parts: AsyncIterable<ExportPart>,
  redact: RegExp,
): Promise<{ readonly texts: readonly LeftOutTexts[]; readonly matches: number }> => {
  const known = new Map<string, number>()
  let matches = 0
  for await (const part of parts)
    cleaned(part, redact, (text) => {
      matches++
      if (known.size < mostTexts && !known.has(text)) known.set(text, part.place.position ?? 0)
    })
  const texts = [...known].map(([text, position]) => ({
    position,
    texts: [text],
    leastWhole: leastRedacted,
  }))
  return { texts, matches }
}
