import { z } from 'zod'
import { blocksOf } from '../../core.ts'
import { ofConversation, whole } from '../parameters.ts'
import { requestError } from '../problem.ts'
import { route } from '../route.ts'
import { eventAt } from './event-at.ts'

// Content blocks and blobs of any length, as bytes.

type Fields = Readonly<Record<string, unknown>>

/** Media types of images that browsers display. */
const pictures = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

/**
 * Returns the content of a block and its media type. A block that is neither text nor an image, or whose text cannot be encoded as
 * UTF-8, is returned as JSON.
 */
const contentOf = (block: Fields): { readonly type: string; readonly bytes: Uint8Array } => {
  const { type, text, source } = block
  if (type === 'text' && typeof text === 'string' && text.isWellFormed())
    return { type: 'text/plain; charset=utf-8', bytes: Buffer.from(text) }
  return (type === 'image' ? pictureIn(source) : undefined) ?? jsonOf(block)
}

const jsonOf = (block: Fields) => ({ type: 'application/json', bytes: Buffer.from(JSON.stringify(block)) })

const pictureIn = (source: unknown) => {
  const { type, media_type: media, data } = (source ?? {}) as Fields
  if (type !== 'base64' || typeof data !== 'string') return undefined
  const bytes = Buffer.from(data, 'base64')
  const isShown = typeof media === 'string' && pictures.has(media)
  // If the base64 is not canonical, it could not be restored from the bytes.
  if (bytes.toString('base64') !== data) return undefined
  return { type: isShown ? media : 'application/octet-stream', bytes }
}

export const block = route({
  method: 'get',
  path: '/conversations/{id}/events/{position}/blocks/{index}',
  name: 'block',
  summary:
    'Returns a whole content block: the bytes of a text or an image, or the JSON of any other block. Accepts `Range`',
  scope: 'read',
  params: ofConversation.extend({ position: whole(0), index: whole(0) }),
  query: z.strictObject({
    as: z.literal('json').optional().describe('The JSON of the block, of any type'),
  }),
  answers: {},
  media: [
    'text/plain',
    'application/json',
    'image/png',
    'image/jpeg',
    'image/gif',
    'image/webp',
    'application/octet-stream',
  ],
  isRanged: true,
  sends: ['ETag'],
  errors: ['ConversationNotFound', 'RangeNotSatisfiable'],
  handle: async ({ params: { id, position, index }, query, store }) => {
    const event = await eventAt(store.conversation(id), position)
    if (!event) throw requestError('NotFound', `conversation ${id} has no position ${position}`)
    const blocks = blocksOf(event)
    const found = blocks[index]
    if (!found)
      throw requestError(
        'NotFound',
        `position ${position} of conversation ${id} has ${blocks.length === 1 ? '1 content block' : `${blocks.length} content blocks`}: there is no block ${index}`,
      )
    const content = query.as === 'json' ? jsonOf(found) : contentOf(found)
    const state = event.metadata.erased ? '.erased' : ''
    return { headers: { etag: `"${event.id}.${index}${query.as ?? ''}${state}"` }, ...content }
  },
})

const sha256 = z.string().regex(/^[0-9a-f]{64}$/, { error: 'must be a SHA-256 in hex' })

export const blob = route({
  method: 'get',
  path: '/blobs/{sha256}',
  name: 'blob',
  summary: 'Returns large content that is stored outside events, by the SHA-256 of its bytes',
  scope: 'read',
  params: z.strictObject({ sha256 }),
  answers: {},
  media: ['application/octet-stream'],
  sends: ['ETag'],
  errors: ['NotFound'],
  handle: async ({ params, store }) => {
    const chunks = store.blob(params.sha256)[Symbol.asyncIterator]()
    const first = await chunks.next()
    if (first.done) throw requestError('NotFound', `the store has no content ${params.sha256}`)
    return {
      headers: { etag: `"${params.sha256}"` },
      type: 'application/octet-stream',
      flow: after(first.value, chunks),
    }
  },
})

async function* after(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  yield first
  try {
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value
  } finally {
    await rest.return?.()
  }
}
