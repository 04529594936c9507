import { apiPathOf } from '../../server/client/api-path.ts'
import { bodyOf, nameOf } from '../request/call.ts'
import type { ApiRequestBody } from '../request/parts.ts'
import type { ReceiptState } from '../source/answers.ts'
import { problemOf, type ApiSource } from '../source/source.ts'
import type { DiffEnd } from './ends.ts'
import { apiOf } from '../url.ts'

/** Request that was sent at a position, or that would be sent there. */
export interface DiffRequest {
  /** Request in the format of the Messages API. */
  readonly request: ApiRequestBody
  /** Request body as sent, if it was sent in another format. */
  readonly body?: ApiRequestBody | undefined
  /** Call that sent the request; undefined if no request was sent at the position. */
  readonly call?: { readonly name: string; readonly state: ReceiptState } | undefined
}

/** Number of calls that are searched after a position. Few are enough, because a reply closely follows its request. */
const few = 10

/**
 * Fetches the request at a position: the request as sent if a model call with a receipt was made there, otherwise the request that
 * would be sent.
 */
export const requestAt = async (
  source: ApiSource,
  { id, at }: DiffEnd,
  signal: AbortSignal,
): Promise<DiffRequest> => {
  if (at < 0) return { request: { messages: [] } }
  const sent = await sentFrom(source, { id, at }, signal)
  if (sent) return sent
  const path = apiOf(id, '/request', { at })
  const { system, tools, messages } = await source.get(path, { signal })
  return {
    request: { ...(system !== undefined && { system }), ...(tools !== undefined && { tools }), messages },
  }
}

const sentFrom = async (
  source: ApiSource,
  { id, at }: DiffEnd,
  signal: AbortSignal,
): Promise<DiffRequest | undefined> => {
  const path = apiOf(id, '/calls', { from: at + 1, limit: few })
  const { items } = await source.get(path, { signal })
  const found = items.find(({ receipt, kind }) => receipt?.position === at && kind !== 'summary')
  if (!found) return undefined
  try {
    const sent = apiPathOf('/conversations/{id}/calls/{call}', { id, call: nameOf(found) })
    const call = await source.get(sent, { signal })
    const { body: _, ...plain } = call
    return { request: bodyOf(plain), body: call.body, call: { name: nameOf(found), state: call.state } }
  } catch (error) {
    // A saved file may not contain the calls.
    if (problemOf(error).status === 404) return undefined
    throw error
  }
}
