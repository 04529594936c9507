import type { CallListResponse, CallResponse } from '../source/answers.ts'
import type { ApiRequestBody } from './parts.ts'

/** Returns the name of a model call in addresses: its number, or `p` and the position of a reply without a receipt. */
export const nameOf = ({
  number,
  position,
}: Pick<CallListResponse['items'][number], 'number' | 'position'>): string =>
  number === undefined ? `p${position}` : String(number)

/** Returns the request body as it was sent. */
export const bodyOf = ({ request, body }: Pick<CallResponse, 'request' | 'body'>): ApiRequestBody => {
  if (body) return body
  const { parameters = {}, model, ...rest } = request
  return { model, ...parameters, ...rest }
}
