import { createHash } from 'node:crypto'
import { isBlock } from '../../../events/blocks.ts'
import { type ConversationEvent, contentOf } from '../../../events/events.ts'
import type { Log } from '../../../projections/path.ts'
import { jsonPieces } from '../json-pieces.ts'
import { entriesOf, type WithheldHashes } from './trace.ts'

// A vCon (draft-ietf-vcon-vcon-core-03, syntax 0.4.0) with the extension draft-howe-vcon-agent-session-00, whose trace is a record as
// in draft-birkholz-verifiable-agent-conversations-00. docs/interchange.md lists the parts of these drafts that are used;
// docs/vcon.schema.json checks the output.

const traceSchema = 'https://datatracker.ietf.org/doc/draft-birkholz-verifiable-agent-conversations/00/'
const recorder = 'palimpsest'
const unknown = 'unknown'

/** A message with text, which is part of the readable conversation, or a reply without text. */
interface Turn {
  readonly event: ConversationEvent<'MessageAppended'>
  /**
   * Text of the message; empty for a reply that only thinks or calls tools. The model of such a reply is still a party to the
   * conversation.
   */
  readonly text: string
  readonly isShown: boolean
}

/**
 * Yields a conversation as a vCon. The output depends only on the log, so two exports of the same log are equal. Withheld content is
 * replaced by a placeholder and, in the trace, by its hash. Erased content is shown as such.
 */
export function* vcon(
  log: Log,
  conversation: string,
  withheld: WithheldHashes = new Map(),
): Generator<string> {
  const all = log.flatMap((event) => turnOf(event, withheld))
  const turns = all.filter(({ text }) => text !== '')
  const parties = partiesOf(all)
  const models = [...new Set(all.filter(({ isShown }) => isShown).flatMap(({ event }) => modelsOf(event)))]
  const shown = log.filter(({ position }) => !withheld.has(position))
  const times = shown.map(({ metadata }) => metadata.time)
  const newest = times.at(-1) ?? new Date(0).toISOString()
  const model = models.at(-1) ?? unknown
  const trace = {
    version: '3.0.0-draft',
    id: uuidOf(conversation, log, withheld),
    created: newest,
    'recording-agent': { name: recorder },
    session: {
      'session-id': conversation,
      ...(times[0] !== undefined && { 'session-start': times[0], 'session-end': newest }),
      'agent-meta': { 'model-id': model, 'model-provider': unknown, models },
      entries: entriesOf(log, withheld),
    },
  }
  const document = {
    vcon: '0.4.0',
    uuid: uuidOf(conversation, log, withheld),
    extensions: ['agent_session'],
    created_at: newest,
    ...redactedIn(conversation, log, withheld),
    parties: parties.list,
    dialog: turns.map((turn) => (turn.isShown ? dialogOf(turn, parties.indexOf(turn)) : {})),
    analysis: [
      {
        type: 'agent_trace',
        dialog: [...turns.keys()],
        vendor: unknown,
        product: model,
        schema: traceSchema,
        encoding: 'json',
        body: trace,
      },
    ],
  }
  // This depth reaches the entries of the trace.
  yield* jsonPieces(document, true, 6)
  yield '\n'
}

/** Returns what the export lacks: withheld events, which another vCon has; or erased content, which none has any more. */
const redactedIn = (conversation: string, log: Log, withheld: WithheldHashes): object => {
  if (withheld.size > 0) return { redacted: { uuid: uuidOf(conversation, log, new Map()), type: 'events' } }
  return log.some(({ metadata }) => metadata.erased) ? { redacted: { type: 'erased' } } : {}
}

const turnOf = (event: ConversationEvent, withheld: WithheldHashes): readonly Turn[] => {
  if (event.type !== 'MessageAppended' || event.data.role === 'system') return []
  const blocks = contentOf(event)[0]?.content ?? []
  const said = blocks
    .flatMap((block) => (isBlock(block, 'text') ? [block.text] : []))
    .join('\n\n')
    .toWellFormed()
  const text = said.trim() === '' ? '' : said
  if (text === '' && event.data.role !== 'assistant') return []
  return [{ event, text, isShown: !withheld.has(event.position) }]
}

const modelsOf = ({ data: { origin } }: Turn['event']): readonly string[] =>
  origin?.model === undefined ? [] : [origin.model]

const dialogOf = ({ event, text }: Turn, party: number): object => ({
  type: 'text',
  start: event.metadata.time,
  parties: [party],
  mediatype: 'text/plain',
  encoding: 'none',
  body: text,
})

/** Returns the speakers in the order in which they first spoke. A speaker without shown messages is an empty object. */
const partiesOf = (
  turns: readonly Turn[],
): { readonly list: readonly object[]; readonly indexOf: (turn: Turn) => number } => {
  const names = [...new Set(turns.map(partyName))]
  const shown = new Map(turns.filter(({ isShown }) => isShown).map((turn) => [partyName(turn), turn]))
  const list = names.map((name) => {
    const turn = shown.get(name)
    return turn ? partyOf(turn.event) : {}
  })
  return { list, indexOf: (turn) => names.indexOf(partyName(turn)) }
}

const partyName = ({ event }: Turn): string => JSON.stringify(partyOf(event))

const partyOf = (event: Turn['event']): object => {
  const { role, origin } = event.data
  const { kind, id } = event.metadata.actor
  // For an import, only the recording program is known, not the speaker.
  const type = kind === 'import' ? {} : { type: kind === 'user' ? 'person' : 'bot' }
  if (role === 'user') return { name: id ?? kind, ...type, validation: 'none' }
  const model = origin?.model ?? unknown
  const session = { model_id: model, provider: unknown, recording_agent: recorder }
  return { name: model, type: 'bot', role: 'agent', validation: 'none', meta: { agent_session: session } }
}

/** Returns a version 8 UUID computed from the whole export. A log with redacted texts gives a different UUID. */
const uuidOf = (conversation: string, log: Log, withheld: WithheldHashes): string => {
  const hashing = createHash('sha256').update(JSON.stringify([conversation, [...withheld]]))
  for (const event of log) hashing.update(JSON.stringify(event))
  const hex = hashing.digest('hex')
  const variant = '89ab'.charAt(Number.parseInt(hex.charAt(16), 16) % 4)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
