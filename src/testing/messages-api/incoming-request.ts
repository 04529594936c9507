import type { IncomingMessage } from 'node:http'
import { failures } from './failures.ts'
import type { ApiFailure } from './replies.ts'

const messagesPath = '/v1/messages'
/** Maximum size of a request in bytes: 32 MB. */
const maxBytes = 32_000_000
const countPath = `${messagesPath}/count_tokens`

/** A request as received, before its body is interpreted. */
export interface IncomingRequest {
  readonly path: string
  readonly isCount: boolean
  /** Parsed body; undefined if it is not valid JSON. */
  readonly body: unknown
  readonly failure: ApiFailure | undefined
}

/**
 * Reads a request.
 *
 * @param apiKey the only accepted key; undefined to accept any key
 */
export const readRequest = async (
  message: IncomingMessage,
  apiKey: string | undefined,
): Promise<IncomingRequest> => {
  const path = new URL(message.url ?? '/', 'http://localhost').pathname
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk as Buffer)
  const bytes = Buffer.concat(chunks)
  const text = bytes.toString()
  const body = parseOrUndefined(text)
  const failure =
    pathFailure(message, path) ??
    headerFailure(message, apiKey) ??
    (bytes.length > maxBytes ? failures.tooLarge : bodyFailure(text, body))
  return { path, isCount: path === countPath, body, failure }
}

/** Parses a JSON text. Returns undefined if the text is not valid JSON. */
export const parseOrUndefined = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const pathFailure = ({ method }: IncomingMessage, path: string): ApiFailure | undefined =>
  method === 'POST' && (path === messagesPath || path === countPath) ? undefined : failures.notFound

const headerFailure = ({ headers }: IncomingMessage, apiKey: string | undefined): ApiFailure | undefined => {
  const key = headers['x-api-key'] ?? headers.authorization?.replace(/^Bearer /, '')
  if (key === undefined) return { ...failures.unauthorized, message: 'x-api-key header is required' }
  if (apiKey !== undefined && key !== apiKey) return failures.unauthorized
  return headers['anthropic-version'] === undefined
    ? invalid('anthropic-version: header is required')
    : undefined
}

const bodyFailure = (text: string, body: unknown): ApiFailure | undefined => {
  if (body === undefined) return invalid('The request body is not valid JSON')
  return hasLoneSurrogate(text, body)
    ? invalid('The request body is not valid JSON: no low surrogate in string')
    : undefined
}

const invalid = (message: string): ApiFailure => ({ status: 400, type: 'invalid_request_error', message })

/** Reports whether a body contains a lone surrogate, which JSON can escape but UTF-8 cannot encode. */
export const hasLoneSurrogate = (text: string, body: unknown): boolean => {
  if (!/\\u[dD][89a-fA-F]/.test(text)) return false
  // Complete characters may be escaped, too, but `stringify` escapes only lone surrogates.
  return /(?<!\\)(\\\\)*\\ud[89a-f]/.test(JSON.stringify(body))
}
