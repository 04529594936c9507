import { currentRenderer, type RequestOptions } from '../receipts/request.ts'
import type { ResolvedTurnOptions } from './options.ts'

export const requestOptionsOf = ({
  cache,
  client: { form },
  systemMessages,
}: ResolvedTurnOptions): RequestOptions => ({
  renderer: currentRenderer,
  // Only the Messages API has breakpoints.
  ...(form ? { form } : cache && { cache }),
  ...(systemMessages && { systemMessages }),
})
