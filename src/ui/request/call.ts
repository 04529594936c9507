import type { CallListResponse, CallResponse } from '../source/answers.ts'
import type { ApiRequestBody } from './parts.ts'

/** Names a call as addresses do: by its number, or by the position of a reply that has no receipt. */
export const nameOf = ({
  number,
  position,
}: Pick<CallListResponse['items'][number], 'number' | 'position'>): string =>
  number === undefined ? `p${position}` : String(number)

/** Gives the body as it was sent. */
export const bodyOf = ({ request, body }: Pick<CallResponse, 'request' | 'body'>): ApiRequestBody => {
  if (body) return body
  const { parameters = {}, model, ...rest } = request
  return { model, ...parameters, ...rest }
}
