import type { RetryOptions } from '../models/asking.ts'
import { currentRenderer, type RequestOptions } from '../receipts/request.ts'
import { deltas } from './stream/deltas.ts'
import type { ResolvedTurnOptions } from './options.ts'
import { unheard } from './stream/turn-event.ts'

/** How a turn calls its model. */
export const askOptionsOf = (options: ResolvedTurnOptions): RetryOptions => {
  const { signal, stallTimeout, maxRetries } = options
  const onEvent = hearing(options)
  return {
    ...(signal && { signal }),
    ...(onEvent && { onEvent }),
    ...(stallTimeout !== undefined && { stallTimeout }),
    ...(maxRetries !== undefined && { maxRetries }),
  }
}

/** @returns what is told of each event of a reply's stream: the caller, and who listens to the turn */
const hearing = ({ emit, onEvent }: ResolvedTurnOptions): RetryOptions['onEvent'] => {
  if (emit === unheard) return onEvent
  const grow = deltas(emit)
  return (event) => {
    onEvent?.(event)
    grow(event)
  }
}

/** How a turn makes its requests. */
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
