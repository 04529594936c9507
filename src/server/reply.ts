import { hash } from 'node:crypto'
import { isTyped } from '../result/typed-error.ts'
import { type RequestHead, isKnown } from './request-input.ts'
import { safeHeaders } from './guard.ts'
import { problemOf } from './problem.ts'
import type { JsonResponse } from './route.ts'

// JSON responses, independent of how they are sent.

export const basePath = '/api/v1'

export interface HttpResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Body of the response, or null if the response has no body. */
  readonly text: string | null
}

/** Headers of every response except those with files of the page. */
export const everyHeader: Readonly<Record<string, string>> = {
  ...safeHeaders,
  'cache-control': 'private, no-cache',
}

/** Makes the ETag of a response from its text: erasing content changes responses that nothing else changes. */
export const entityTag = (text: string): string => `"${hash('sha256', text, 'base64url').slice(0, 27)}"`

/**
 * Converts the JSON response of a route to an HTTP response.
 *
 * @param access the caller's access, for a header
 */
export const replyOf = (
  asked: RequestHead,
  { status = 200, headers = {}, isTagged, body }: JsonResponse,
  access: string,
): HttpResponse => {
  const all: Record<string, string> = { ...everyHeader, ...headers, 'palimpsest-access': access }
  if (headers['location'] !== undefined) all['location'] = `${basePath}${headers['location']}`
  const text = JSON.stringify(body)
  if (isTagged) all['etag'] = entityTag(text)
  if (isKnown(asked, all['etag'])) return { status: 304, headers: all, text: null }
  all['content-type'] = 'application/json'
  all['content-length'] = String(Buffer.byteLength(text))
  return { status, headers: all, text }
}

/**
 * Converts an error to an HTTP response.
 *
 * @param onFault called with errors that are not the caller's fault
 */
export const problemReply = (
  error: unknown,
  onFault: ((error: unknown) => void) | undefined,
  more: Readonly<Record<string, string>> = {},
): HttpResponse => {
  const known = isTyped(error) ? error : undefined
  const problem = problemOf(known ?? { _tag: 'Internal', message: "internal error: see the server's log" })
  if (problem.status >= 500) onFault?.(error)
  const { status, conversation, after, last, size } = problem
  const isStale = status === 412 && Number(after) < Number(last)
  const diff = `${basePath}/conversations/${String(conversation)}/diff?from=${String(after)}&to=${String(last)}`
  const text = JSON.stringify(isStale ? { ...problem, diff } : problem)
  const headers = {
    ...everyHeader,
    ...more,
    'content-type': 'application/problem+json',
    'content-length': String(Buffer.byteLength(text)),
    ...(status === 401 && { 'www-authenticate': 'Bearer' }),
    ...(status === 503 && { 'retry-after': '1' }),
    ...(status === 416 && { 'content-range': `bytes */${String(size)}` }),
  }
  return { status, headers, text }
}
