import { z } from 'zod'
import { fileNameOf } from '../../formats/file-name.ts'
import { writableFormats } from '../../formats/registry.ts'
import { endOf, writerOf } from '../exports.ts'
import { ofConversation } from '../parameters.ts'
import { refused } from '../problem.ts'
import { route } from '../route.ts'

export const exported = route({
  method: 'post',
  path: '/conversations/{id}/exports',
  name: 'export',
  summary: 'The conversation as a file, in any format that can be written',
  scope: 'read',
  params: ofConversation,
  body: z.strictObject({
    format: z.string().max(100).describe('palimpsest, anthropic, markdown, or a registered one'),
    at: z.int().min(0).optional().describe('The last position that it has. Default: the last one'),
    redact: z
      .array(z.string().min(1).max(1_000))
      .max(100)
      .default([])
      .describe('Texts for each of which it has [redacted]; not of palimpsest'),
  }),
  answers: {},
  media: ['application/octet-stream'],
  errors: ['ConversationNotFound', 'OutOfRange'],
  handle: async ({ params, body: { format, at, redact }, store }) => {
    const writer = writerOf(format)
    if (!writer)
      throw refused('InvalidRequest', `format must be one of ${writableFormats().join(', ')}`, {
        path: 'format',
      })
    const chat = store.conversation(params.id)
    const flow = writer.write(chat, { at: await endOf(chat, at), redact })
    const name = fileNameOf(params.id, writer.extension)
    return {
      headers: { 'content-disposition': `attachment; filename="${name}"` },
      type: 'application/octet-stream',
      flow: await begun(flow),
    }
  },
})

/** What it has to refuse is refused before an answer begins. */
const begun = async (flow: AsyncGenerator<string, void>): Promise<AsyncGenerator<string, void>> => {
  const first = await flow.next()
  return (async function* () {
    if (first.done) return
    try {
      yield first.value
      yield* flow
    } finally {
      await flow.return()
    }
  })()
}
