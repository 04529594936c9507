import { setImmediate as turn } from 'node:timers/promises'
import { z } from 'zod'
import { fileNameOf } from '../../transfer/formats/file-name.ts'
import { writableFormats } from '../../transfer/formats/registry.ts'
import { endOf, type ExportSource, writerOf } from '../exports.ts'
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
  .describe('palimpsest, anthropic, markdown, html, vcon, prov, or a registered one')
const withCalls = 'html: include the request of every call, as it was sent'
const text = z.string().min(1).max(1_000)

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
    redact: z
      .array(text)
      .max(100)
      .default([])
      .describe('Texts to replace with [redacted]; not for the palimpsest format'),
  }),
  answers: {},
  media: ['application/octet-stream'],
  errors: ['ConversationNotFound', 'OutOfRange', 'TooLong', 'Overloaded'],
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
    redact: text.optional().describe('Text to replace with [redacted]; not for the palimpsest format'),
  }),
  answers: {},
  media: ['application/octet-stream'],
  errors: ['ConversationNotFound', 'OutOfRange', 'TooLong', 'Overloaded'],
  handle: ({ params: { id }, query: { redact, ...query }, leaving, ...source }) =>
    fileOf(id, { ...query, redact: redact === undefined ? [] : [redact] }, source, leaving),
})

interface Wanted {
  readonly format: string
  readonly at?: number | undefined
  readonly calls: boolean
  readonly redact: readonly string[]
}

const fileOf = async (
  id: string,
  wanted: Wanted,
  source: ExportSource,
  leaving: () => AbortSignal,
): Promise<Flow> => {
  const writer = await writerOf(wanted.format, source)
  if (!writer) {
    const formats = ['html', ...writableFormats()].join(', ')
    throw requestError('InvalidRequest', `format must be one of ${formats}`, { path: 'format' })
  }
  const chat = untilLeft(source.store.conversation(id), leaving())
  const at = await endOf(chat, wanted.at)
  const name = fileNameOf(id, writer.extension)
  return {
    headers: { 'content-disposition': `attachment; filename="${name}"` },
    type: 'application/octet-stream',
    flow: await flowInTurn(inTurn, leaving, () => begun(writer.write(chat, { ...wanted, at }))),
  }
}

/** Reads the first piece of a stream, so that an error is returned before the response begins. */
const begun = async (flow: AsyncGenerator<string, void>): Promise<AsyncGenerator<string, void>> => {
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
