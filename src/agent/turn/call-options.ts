import type { ModelRetryOptions } from '../models/call-model.ts'
import { currentRenderer, type RequestOptions } from '../receipts/request.ts'
import { deltas } from './stream/deltas.ts'
import type { ResolvedTurnOptions } from './options.ts'
import { unheard } from './stream/turn-event.ts'

export const askOptionsOf = (options: ResolvedTurnOptions): ModelRetryOptions => {
  const { signal, stallTimeout, maxRetries } = options
  const onEvent = hearing(options)
  return {
    ...(signal && { signal }),
    ...(onEvent && { onEvent }),
    ...(stallTimeout !== undefined && { stallTimeout }),
    ...(maxRetries !== undefined && { maxRetries }),
  }
}

/** Returns a listener for a reply's stream events that passes each event to the caller's listener and to the turn's listeners. */
const hearing = ({ emit, onEvent }: ResolvedTurnOptions): ModelRetryOptions['onEvent'] => {
  if (emit === unheard) return onEvent
  const grow = deltas(emit)
  return (event) => {
    onEvent?.(event)
    grow(event)
  }
}

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
