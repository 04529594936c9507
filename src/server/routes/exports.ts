import { setImmediate as turn } from 'node:timers/promises'
import { z } from 'zod'
import { fileNameOf } from '../../transfer/formats/file-name.ts'
import { writableFormats } from '../../transfer/formats/registry.ts'
import type { PreparedExport } from '../../transfer/disclosure/prepare.ts'
import { endOf, type ExportSource, prepare, writerOf } from '../exports.ts'
import { flowInTurn, lane, untilLeft } from '../bounded.ts'
import { flag, ofConversation, whole } from '../parameters.ts'
import { requestError } from '../problem.ts'
import { type Flow, route } from '../route.ts'

const inTurn = lane()
/** Number of characters of an export that are written before other work gets a turn of the event loop. */
const slice = 64 * 1024

const format = z
  .string()
  .max(100)
  .meta({ id: 'ExportFormat' })
  .describe(
    'palimpsest, anthropic, markdown (or md), html, atif, vcon, prov, original, claude-code, codex, pi, opencode, or a registered one',
  )
const withCalls = 'html: include the request of every call, as it was sent'
const withForce = 'Export even if the content contains what looks like secrets'
const redactedText = z.string().min(1).max(1_000)

export const exported = route({
  method: 'post',
  path: '/conversations/{id}/exports',
  name: 'export',
  summary: 'Exports the conversation as a file in any supported format',
  scope: 'read',
  params: ofConversation,
  body: z.strictObject({
    format,
    calls: z.boolean().default(false).describe(withCalls),
    at: z.int().min(0).optional().describe('Last position to include. Default: the last one'),
    withhold: z
      .array(z.int().min(0))
      .max(10_000)
      .default([])
      .describe('Positions of events whose content is left out; not for the formats palimpsest and original'),
    redact: z
      .array(redactedText)
      .max(100)
      .default([])
      .describe('Texts to replace with [redacted]; not for the formats palimpsest and original'),
    force: z.boolean().default(false).describe(withForce),
  }),
  answers: {},
  media: ['application/octet-stream'],
  sends: ['Content-Disposition', 'Palimpsest-Export'],
  errors: ['ConversationNotFound', 'OriginalNotKept', 'OutOfRange', 'SecretsFound', 'TooLong', 'Overloaded'],
  handle: ({ params: { id }, body, leaving, ...source }) => fileOf(id, body, source, leaving),
})

export const download = route({
  method: 'get',
  path: '/conversations/{id}/export',
  name: 'download',
  summary: 'Exports the conversation as `export` does, but as a GET request that a link can point to',
  scope: 'read',
  params: ofConversation,
  query: z.strictObject({
    format,
    calls: flag.default(false).describe(withCalls),
    at: whole(0).optional().describe('Last position to include. Default: the last one'),
    withhold: z
      .string()
      .max(1_000)
      .regex(/^\d{1,15}(-\d{1,15})?(,\d{1,15}(-\d{1,15})?)*$/)
      .optional()
      .describe(
        'Positions of events whose content is left out, such as 12,15-18; not for the formats palimpsest and original',
      ),
    redact: redactedText
      .optional()
      .describe('Text to replace with [redacted]; not for the formats palimpsest and original'),
    force: flag.default(false).describe(withForce),
  }),
  answers: {},
  media: ['application/octet-stream'],
  sends: ['Content-Disposition', 'Palimpsest-Export'],
  errors: ['ConversationNotFound', 'OriginalNotKept', 'OutOfRange', 'SecretsFound', 'TooLong', 'Overloaded'],
  handle: ({ params: { id }, query: { redact, withhold, ...query }, leaving, ...source }) =>
    fileOf(
      id,
      {
        ...query,
        redact: redact === undefined ? [] : [redact],
        withhold: withhold === undefined ? [] : positionsIn(withhold),
      },
      source,
      leaving,
    ),
})

/** Maximum number of positions that a request may name. */
const mostPositions = 10_000

const positionsIn = (text: string): readonly number[] => {
  const positions: number[] = []
  for (const part of text.split(',')) {
    const [first = 0, last = first] = part.split('-').map(Number)
    if (positions.length + last - first >= mostPositions)
      throw requestError('InvalidRequest', `withhold names more than ${mostPositions} positions`, {
        path: 'withhold',
      })
    for (let position = first; position <= last; position++) positions.push(position)
  }
  return positions
}

interface Wanted {
  readonly format: string
  readonly at?: number | undefined
  readonly calls: boolean
  readonly redact: readonly string[]
  readonly withhold: readonly number[]
  readonly force: boolean
}

const fileOf = async (
  id: string,
  wanted: Wanted,
  source: ExportSource,
  leaving: () => AbortSignal,
): Promise<Flow> => {
  const writer = await writerOf(wanted.format, source)
  if (!writer) {
    const formats = ['html', 'original', ...writableFormats()].join(', ')
    throw requestError('InvalidRequest', `format must be one of ${formats}`, { path: 'format' })
  }
  if (wanted.format === 'original' && wanted.at !== undefined)
    throw requestError('InvalidRequest', 'the original file is exported whole: omit at', { path: 'at' })
  const chat = untilLeft(source.store.conversation(id), leaving())
  const at = await endOf(chat, wanted.at)
  const name = fileNameOf(id, writer.extension)
  let found: Omit<PreparedExport, 'withheld'> = { repeated: [], redacted: 0 }
  const flow = await flowInTurn(inTurn, leaving, async () => {
    const left = await prepare(source.store, chat, { ...wanted, at, isWhole: wanted.at === undefined })
    found = left
    return begun(writer.write(chat, { ...wanted, at, withheld: left.withheld }))
  })
  const told = {
    withheld: wanted.withhold.length,
    repeated: found.repeated.slice(0, mostTold).map(({ place }) => place),
    ...(wanted.redact.length > 0 && { redacted: found.redacted }),
  }
  return {
    headers: {
      'content-disposition': `attachment; filename="${name}"`,
      'palimpsest-export': JSON.stringify(told),
    },
    type: 'application/octet-stream',
    flow,
  }
}

/** Maximum number of places in the response header, to keep the header short. */
const mostTold = 50

/** Reads the first piece of a stream, so that an error is returned before the response begins. */
const begun = async <A extends string | Uint8Array>(
  flow: AsyncGenerator<A, void>,
): Promise<AsyncGenerator<A, void>> => {
  const first = await flow.next()
  return (async function* () {
    if (first.done) return
    try {
      yield first.value
      let length = 0
      for await (const piece of flow) {
        yield piece
        length += piece.length
        if (length < slice) continue
        length = 0
        // Lets other work run, even if the client reads without a pause.
        await turn()
      }
    } finally {
      await flow.return()
    }
  })()
}
