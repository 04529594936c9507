import type { Context } from 'hono'
import { isKnown } from './request-input.ts'
import { requestError } from './problem.ts'
import type { ByteResponse, Flow } from './route.ts'

// Responses other than the API's JSON: unmodified content, whole or as a range of bytes (RFC 9110, sections 13 and 14).

/** A range of bytes, both ends included. */
interface Span {
  readonly first: number
  readonly last: number
}

/**
 * Parses a `Range` header for content of `size` bytes. Returns undefined, which means all bytes, unless the header is a single range of
 * bytes. Throws `RangeNotSatisfiable` if the range contains no bytes.
 */
export const spanOf = (range: string | undefined, size: number): Span | undefined => {
  const [, from = '', to = ''] = /^bytes=(\d*)-(\d*)$/i.exec(range ?? '') ?? []
  if (from === '' && to === '') return undefined
  const first = from === '' ? Math.max(0, size - Number(to)) : Number(from)
  const last = from === '' || to === '' ? size - 1 : Math.min(size - 1, Number(to))
  if (from !== '' && to !== '' && Number(to) < first) return undefined
  if (first > last)
    throw requestError('RangeNotSatisfiable', `the content has ${size} bytes: request a smaller range`, {
      size,
    })
  return { first, last }
}

/** Responds with all the bytes, or with the requested range unless `If-Range` names another ETag. */
export const bytesAnswered = (c: Context, { headers, bytes, type }: ByteResponse): Response => {
  const { etag } = headers
  c.header('accept-ranges', 'bytes')
  for (const [name, value] of Object.entries(headers)) c.header(name, value)
  if (isKnown(c.req, etag)) return c.body(null, 304)
  const ifRange = c.req.header('if-range')
  const isThese = ifRange === undefined || ifRange === etag
  const isRanged = c.req.method === 'GET' && isThese
  const span = isRanged ? spanOf(c.req.header('range'), bytes.length) : undefined
  if (!span) return c.body(Uint8Array.from(bytes), 200, { 'content-type': type })
  const { first, last } = span
  return c.body(Uint8Array.from(bytes.subarray(first, last + 1)), 206, {
    'content-type': type,
    'content-range': `bytes ${first}-${last}/${bytes.length}`,
  })
}

/**
 * Streams a response at the client's pace, without buffering for a slow client. On an error, the connection is cut, so that the client
 * does not mistake the response for a complete one.
 *
 * @param onFault called with the error
 */
export const streamResponse = (
  c: Context,
  { headers, type, flow }: Flow,
  onFault: (error: unknown) => void,
): Response => {
  const isUnasked = isKnown(c.req, headers['etag'])
  if (isUnasked || c.req.method === 'HEAD') {
    // The stream will not be read, so its resources are released.
    flow.return().catch(onFault)
    return c.body(null, isUnasked ? 304 : 200, { ...headers, ...(!isUnasked && { 'content-type': type }) })
  }
  const encoder = new TextEncoder()
  let isLeft = false
  const source = {
    pull: async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
      try {
        const { done, value } = await flow.next()
        // The client disconnected while the next piece was awaited: the controller is closed already.
        if (isLeft) return
        if (done) controller.close()
        else controller.enqueue(typeof value === 'string' ? encoder.encode(value) : value)
      } catch (error) {
        onFault(error)
        // The adapter would write the error to the standard error and, if possible, into the response.
        const { outgoing } = c.env as { readonly outgoing?: { readonly destroy: () => void } }
        if (!outgoing) throw error
        outgoing.destroy()
      }
    },
    cancel: async (): Promise<void> => {
      isLeft = true
      await flow.return()
    },
  }
  // No piece is made before the connection takes it.
  const bytes = new ReadableStream(source, { highWaterMark: 0 })
  return c.body(bytes, 200, { ...headers, 'content-type': type })
}
