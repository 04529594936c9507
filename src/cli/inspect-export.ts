import type { Conversation } from '../index.ts'
import type { ExportOptions } from '../transfer/formats/exporter.ts'
import type { RepeatingPlace } from '../transfer/disclosure/inspect.ts'
import type { CommandSession } from './shell.ts'
import { plural, rangesText } from './text.ts'

/** Options of commands that write a conversation for others. */
export interface DisclosureOptions {
  readonly format: string
  readonly at?: number | undefined
  readonly withhold?: readonly number[]
  readonly redact?: RegExp
  readonly force?: true
}

/** Note for a pattern that redacts nothing, probably by mistake. */
export const nothingMatched = 'nothing matched, so nothing is redacted; patterns are case-sensitive'

/** Looks through the export, warns of words of what it leaves out, and returns the options that leave it out. */
export const inspectExport = async (
  { store, host: { stderr } }: CommandSession,
  chat: Conversation,
  { format, at, withhold, redact, force }: DisclosureOptions,
): Promise<Pick<ExportOptions, 'redact' | 'withheld'>> => {
  const [{ endOf, refuseShared, titleOf }, { prepareExport, placeText }, { patternRedactor }] =
    await Promise.all([
      import('../server/exports.ts'),
      import('../transfer/disclosure/prepare.ts'),
      import('../transfer/disclosure/redact.ts'),
    ])
  const end = await endOf(chat, at)
  if (format === 'palimpsest' && at !== undefined) await refuseShared(chat, at)
  const title = format === 'html' ? await titleOf(store, chat.id) : undefined
  const wishes = { format, at: end, isWhole: at === undefined, withhold, redact, force, title }
  const { withheld, repeated, redacted } = await prepareExport(chat, wishes)
  if (redact && redacted === 0) stderr.write(`note: --redact: ${nothingMatched}\n`)
  for (const line of warningsOf(repeated, placeText)) stderr.write(`${line}\n`)
  return { withheld, ...(redact && { redact: patternRedactor(redact) }) }
}

/** Maximum number of repeated texts that are described. */
const mostDescribed = 5

/** Warns of places that repeat words of what is left out: first all events that may be withheld too, then what they repeat. */
const warningsOf = (
  repeated: readonly RepeatingPlace[],
  placeText: (place: RepeatingPlace['place']) => string,
): readonly string[] => {
  if (repeated.length === 0) return []
  const positions = repeated.flatMap(({ place }) => (place.kind === 'event' ? (place.position ?? []) : []))
  const texts = [...Map.groupBy(repeated, ({ of, excerpt }) => `${rangesText(of)}: ${excerpt}`)]
  const events = [...new Set(positions)].toSorted((one, other) => one - other)
  return [
    `WARNING: ${plural(repeated.length, 'place')} ${repeated.length === 1 ? 'repeats' : 'repeat'} words that are left out${
      events.length > 0
        ? `: look at them, or withhold them too: --withhold ${rangesText(events).replaceAll(' ', '')}`
        : ''
    }`,
    ...texts.slice(0, mostDescribed).map(([text, places]) => {
      const [first = '', ...more] = places.map(({ place }) => placeText(place))
      return `  ${first}${more.length > 0 ? ` and ${plural(more.length, 'other')}` : ''}: words left out at ${text}`
    }),
    ...(texts.length > mostDescribed ? [`  and ${texts.length - mostDescribed} more texts`] : []),
  ]
}
