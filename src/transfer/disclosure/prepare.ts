import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import type { ConversationEvent } from '../../events/events.ts'
import { configurationOf, type Effective } from '../../projections/effective.ts'
import { invalidInput } from '../../events/errors.ts'
import { rangesOf } from '../../events/ranges.ts'
import { isTyped, toError } from '../../result/typed-error.ts'
import { redactMatches } from './redact.ts'
import type { ReadableConversation } from '../formats/readable-conversation.ts'
import { isSessionFormat } from '../formats/plan.ts'
import {
  type ExportPart,
  type ExportPlace,
  inspectParts,
  type LeftOut,
  type RepeatingPlace,
} from './inspect.ts'
import { exportedTitle, readWithheld, withStubs, type StubbedEvents } from './withheld.ts'

/** The content of an export contains credentials. Nothing was written. */
export interface SecretsFound {
  readonly _tag: 'SecretsFound'
  readonly message: string
  readonly conversation: string
  /** Findings, at most 1,000: each with its place, the kind of credential, and a masked excerpt. */
  readonly secrets: readonly FoundSecret[]
}
interface FoundSecret {
  readonly in: ExportPlace['kind']
  readonly position?: number
  readonly kind: string
  readonly excerpt: string
}

/** A conversation of which an export is to be made. */
export interface PreparedConversation extends ReadableConversation {
  readonly notes: () => Promise<readonly PlacedNote[]>
  readonly links: () => Promise<readonly PlacedNote[]>
}
interface PlacedNote {
  readonly at: number
}

export interface ExportWishes {
  /** Name of the format. */
  readonly format: string
  /** Last position of the export. */
  readonly at: number
  /** True if the whole conversation is exported. */
  readonly isWhole: boolean
  /** Positions of the events to withhold. */
  readonly withhold?: readonly number[] | undefined
  readonly redact?: RegExp | undefined
  /** True to export although there are credentials. */
  readonly force?: boolean | undefined
  /** Title of the conversation, if the export contains it. */
  readonly title?: string | undefined
}

/** Result of the preparation of an export. */
export interface PreparedExport {
  readonly withheld: StubbedEvents
  /** Places in the export that repeat words of what it leaves out. */
  readonly repeated: readonly RepeatingPlace[]
  /** Number of matches that are redacted; 0 without a pattern. */
  readonly redacted: number
}

/**
 * Reads the events to withhold, and looks through everything that an export will contain before it is written. Throws `InvalidInput` if
 * the format cannot leave anything out or an event cannot be withheld; `SecretsFound` unless `force` is set; a `ReadError`.
 */
export const prepareExport = async (
  chat: PreparedConversation,
  { withhold = [], redact, force, title, ...rest }: ExportWishes,
): Promise<PreparedExport> => {
  const { format, at } = rest
  if ((format === 'palimpsest' || format === 'original') && (withhold.length > 0 || redact))
    throw toError(invalidInput(redact ? 'redact' : 'withhold', verbatim[format]))
  const withheld = await readWithheld(chat, withhold, at)
  // Nothing is looked for, so a forced export is read only once.
  if (force && withheld.size === 0 && !redact) return { withheld, repeated: [], redacted: 0 }
  const shown = withStubs(chat, withheld)
  const wishes = { ...rest, title: title === undefined ? undefined : exportedTitle(title, withheld) }
  const { secrets, ...found } = await inspectParts(() => partsOf(shown, wishes), { withheld, redact })
  if (!force) refuseSecrets(chat.id, secrets)
  return { withheld, ...found }
}

const verbatim = {
  palimpsest:
    'a palimpsest export is verbatim, because its events are hashed: choose another format, or a bundle, which can withhold events',
  original: 'the original file is exported to the byte: choose another format',
}

/** Looks for credentials in the events of a document. Throws `SecretsFound` unless there are none. */
export const refuseSecretsInDocument = async (
  chat: Pick<ReadableConversation, 'id' | 'events'>,
  last: number,
  { withheld, redact }: { readonly withheld: ReadonlySet<number>; readonly redact: RegExp | undefined },
): Promise<void> => {
  const parts = async function* (): AsyncGenerator<ExportPart, void> {
    for await (const event of chat.events({ to: last }))
      if (!withheld.has(event.position)) yield eventPart(event)
  }
  refuseSecrets(chat.id, (await inspectParts(parts, { withheld: new Map(), redact })).secrets)
}

/** A conversation of which a bundle is to be made. */
interface BundledConversation {
  readonly id: string
  readonly stored: (options: {
    readonly to?: number
    readonly turns?: true
  }) => AsyncIterable<{ readonly data: string }>
}

/**
 * Looks for credentials in the parts of a bundle. Throws `SecretsFound` unless there are none; its message names the positions to
 * withhold, because no text in a bundle can be redacted.
 *
 * @param withheld positions that the export already withholds
 */
export const refuseSecretsInBundle = async (
  { id, stored }: BundledConversation,
  last: number,
  withheld: ReadonlySet<number>,
): Promise<void> => {
  const nothing: LeftOut = { withheld: new Map() }
  const { secrets } = await inspectParts(() => bundleParts(stored, withheld, last), nothing)
  const positions = new Set(withheld)
  for (const { place } of secrets) if (place.kind === 'event') positions.add(place.position ?? 0)
  const all = rangesText([...positions].toSorted((one, other) => one - other))
  refuseSecrets(id, secrets, all === '' ? 'export' : `withhold ${all}, or export`)
}

/**
 * Throws `InvalidInput`, which names the events of a bundle that contain a text to redact: they are hashed, so that no text in them can
 * be replaced.
 */
export const refuseRedaction = async (
  chat: Pick<ReadableConversation, 'events'>,
  redact: RegExp,
  withhold: ReadonlySet<number>,
): Promise<never> => {
  const matching: number[] = []
  for await (const event of chat.events({}))
    if (!withhold.has(event.position) && redactMatches(event, redact).places > 0)
      matching.push(event.position)
  const advice =
    matching.length > 0 ? `withhold the events that match: ${rangesText(matching)}` : 'no event matches'
  throw toError(
    invalidInput('redact', `the events of a bundle are hashed, so their texts cannot be replaced: ${advice}`),
  )
}

const rangesText = (positions: readonly number[]): string =>
  rangesOf(positions)
    .map(({ first, last }) => (first === last ? String(first) : `${first}-${last}`))
    .join(',')

type Secrets = Awaited<ReturnType<typeof inspectParts>>['secrets']

/** Maximum number of findings in a message. */
const mostListed = 20

/** @param advice what can be done, up to `export anyway` */
const refuseSecrets = (
  conversation: string,
  found: Secrets,
  advice = 'withhold these events or redact these texts, or export',
): void => {
  if (found.length === 0) return
  const secrets = found.map(({ place: { kind: place, ...at }, kind, excerpt }) => ({
    in: place,
    ...at,
    kind,
    excerpt,
  }))
  const lines = found
    .slice(0, mostListed)
    .map(({ place, kind, excerpt }) => `  ${placeText(place)}: ${kind} ${excerpt}`)
  const more = found.length > mostListed ? [`  and ${found.length - mostListed} more`] : []
  const error: SecretsFound = {
    _tag: 'SecretsFound',
    message: [
      `${conversation} contains what looks like ${found.length === 1 ? 'a secret' : `${found.length} secrets`}:`,
      ...lines,
      ...more,
      `Nothing was exported: ${advice} anyway with force`,
    ].join('\n'),
    conversation,
    secrets,
  }
  throw toError(error)
}

/** Returns the name of a place for a message: the position of an event, or what else it is. */
export const placeText = ({ kind, position }: ExportPlace): string => {
  switch (kind) {
    case 'event':
      return String(position)
    case 'note':
    case 'link':
      return `${kind} at ${position}`
    case 'title':
      return 'title'
    case 'turn':
      return `turn event ${position}`
    case 'line':
      return `line ${position}`
  }
}

async function* partsOf(
  chat: PreparedConversation,
  { format, at, isWhole, title }: Pick<ExportWishes, 'format' | 'at' | 'isWhole' | 'title'>,
): AsyncGenerator<ExportPart, void> {
  if (format === 'palimpsest' && isWhole) return yield* storedParts(chat)
  if (format === 'anthropic' || format === 'atif') return yield* contextParts(await chat.context({ at }))
  if (format === 'original') return yield* originalParts(chat)
  // A session that is copied from the original file has what a compaction hides, too.
  const isCopied = isSessionFormat(format) && (await formatOfOriginal(chat)) === format
  if (isSessionFormat(format) && !isCopied) return yield* itemParts(await chat.context({ at }))
  for await (const event of chat.events({ to: at })) yield eventPart(event)
  if (format !== 'html' && format !== 'palimpsest') return
  const isIn = (noted: PlacedNote): boolean => noted.at <= at
  for (const note of (await chat.notes()).filter(isIn)) yield notePart('note', note)
  for (const link of (await chat.links()).filter(isIn)) yield notePart('link', link)
  if (title !== undefined) yield { place: { kind: 'title' }, value: { title } }
}

const eventPart = (event: ConversationEvent): ExportPart => ({
  place: { kind: 'event', position: event.position },
  value: event,
})

const notePart = (kind: 'note' | 'link', note: PlacedNote): ExportPart => ({
  place: { kind, position: note.at },
  value: note,
})

function* contextParts(effective: Effective): Generator<ExportPart, void> {
  const { configured = 0, formerTools } = effective.layout
  const value = { ...configurationOf(effective), ...(formerTools && { tools: formerTools }) }
  yield { place: { kind: 'event', position: configured }, value }
  yield* itemParts(effective)
}

function* itemParts({ items }: Effective): Generator<ExportPart, void> {
  for (const item of items) yield { place: { kind: 'event', position: item.position }, value: item }
}

/** Yields the stored events and notes of a conversation, including events that cannot be decoded. */
async function* storedParts({
  stored,
}: Pick<ReadableConversation, 'stored'>): AsyncGenerator<ExportPart, void> {
  let position = 0
  for await (const { type, data } of stored()) {
    const value = parsed(data)
    const kind = type === 'Noted' ? 'note' : type === 'Linked' ? 'link' : 'event'
    const at = Number(Reflect.get(Object(value), 'at') ?? 0)
    yield { place: { kind, position: kind === 'event' ? position++ : at }, value }
  }
}

const formatOfOriginal = async ({
  original,
}: Pick<PreparedConversation, 'original'>): Promise<string | undefined> => {
  try {
    return (await original()).format
  } catch (error) {
    if (isTyped(error) && error._tag === 'OriginalNotKept') return undefined
    throw error
  }
}

/** Yields the lines of the original file. */
async function* originalParts({
  original,
}: Pick<PreparedConversation, 'original'>): AsyncGenerator<ExportPart, void> {
  const lines = createInterface({ input: Readable.from((await original()).pieces), crlfDelay: Infinity })
  let line = 0
  for await (const text of lines)
    yield { place: { kind: 'line', position: ++line }, value: parsed(text) ?? text }
}

/** Yields the parts of a bundle: the stored events that are not withheld, and those that turns recorded. */
async function* bundleParts(
  stored: BundledConversation['stored'],
  withhold: ReadonlySet<number>,
  last: number,
): AsyncGenerator<ExportPart, void> {
  let position = 0
  for await (const { data } of stored({ to: last })) {
    if (!withhold.has(position)) yield { place: { kind: 'event', position }, value: parsed(data) }
    position++
  }
  let revision = 0
  for await (const { data } of stored({ turns: true }))
    yield { place: { kind: 'turn', position: revision++ }, value: parsed(data) }
}

const parsed = (json: string): unknown => {
  try {
    return JSON.parse(json)
  } catch {
    return json
  }
}
