import * as E from 'fp-ts/lib/Either.js'
import { isFields } from '../../events/json.ts'
import type { Origin } from '../../events/events.ts'
import { count, measureCall } from '../telemetry/metrics.ts'
import { type Attributes, showsContent } from '../telemetry/open-telemetry.ts'
import { inSpan, type SpanHandle } from '../telemetry/spans.ts'
import type { CallOptions, Model, ModelError, ModelRequest, Reply } from './model.ts'
import { inputContent, outputContent } from './span-content.ts'

type Answer = E.Either<ModelError, Reply>

/** Calls a model in a trace span that follows OpenTelemetry's GenAI conventions. */
export const traceCall = (model: Model, request: ModelRequest, options: CallOptions): Promise<Answer> =>
  inSpan(
    `chat ${request.model}`,
    () => ({ attributes: { ...asked(model, request), ...askedMore(request) }, kind: 'client' }),
    async (span) => {
      const began = performance.now()
      const answer = await model.call(request, options)
      if (span) tell(span, answer)
      if (span) measure(answer, performance.now() - began, asked(model, request))
      return answer
    },
  )

/**
 * Returns the span attributes of a request. The provider is derived from the form of the model's requests, because a compatible
 * endpoint cannot be distinguished from the original.
 */
const asked = ({ form }: Model, { model }: ModelRequest): Attributes => ({
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': form ? 'openai' : 'anthropic',
  'gen_ai.request.model': model,
})

const askedMore = (request: ModelRequest): Attributes => {
  const { parameters } = request
  const number = (name: string): number | undefined => {
    const { [name]: value } = parameters
    return typeof value === 'number' ? value : undefined
  }
  return {
    'gen_ai.request.max_tokens': number('max_tokens'),
    'gen_ai.request.temperature': number('temperature'),
    'gen_ai.request.top_p': number('top_p'),
    'gen_ai.request.top_k': number('top_k'),
    ...(showsContent() && inputContent(request)),
  }
}

const tell = (span: SpanHandle, answer: Answer): void => {
  if (E.isRight(answer)) {
    const { origin } = answer.right
    const { message, model, stopReason } = origin
    const id = isFields(message) ? message['id'] : undefined
    return span.set({
      ...used(origin.usage),
      'gen_ai.response.id': typeof id === 'string' ? id : undefined,
      'gen_ai.response.model': model,
      'gen_ai.response.finish_reasons': typeof stopReason === 'string' ? [stopReason] : undefined,
      ...(showsContent() && outputContent(answer.right)),
    })
  }
  const error = answer.left
  span.set(used(error.usage))
  // An abort is intentional, so the span does not count as failed.
  if (error._tag === 'ModelAborted') span.set({ 'error.type': error._tag })
  else span.failed(errorType(error))
}

/**
 * Returns the API's type of an error, else its HTTP status, else our own `_tag`. Messages are not used, because they may repeat
 * content.
 */
const errorType = (error: ModelError): string => {
  const { status, type } = 'status' in error || 'type' in error ? error : {}
  return type ?? (status === undefined ? error._tag : String(status))
}

const tokensOf = (usage: Origin['usage'] = {}) => {
  const tokens = (field: string): number => {
    const { [field]: value } = usage
    return typeof value === 'number' ? value : 0
  }
  const [read, written] = [tokens('cache_read_input_tokens'), tokens('cache_creation_input_tokens')]
  // The conventions count what was read from the cache, and written to it, as input; the Messages API does not.
  return { read, written, input: tokens('input_tokens') + read + written, output: tokens('output_tokens') }
}

const used = (usage: Origin['usage']): Attributes => {
  if (!usage) return {}
  const { input, output, read, written } = tokensOf(usage)
  return {
    'gen_ai.usage.input_tokens': input,
    'gen_ai.usage.output_tokens': output,
    'gen_ai.usage.cache_read.input_tokens': read,
    'gen_ai.usage.cache_creation.input_tokens': written,
  }
}

const measure = (answer: Answer, ms: number, attributes: Attributes): void => {
  const { usage } = E.isRight(answer) ? answer.right.origin : answer.left
  const error = E.isLeft(answer) ? { 'error.type': errorType(answer.left) } : {}
  measureCall(ms, tokensOf(usage), { ...attributes, ...error })
  if (E.isRight(answer)) return
  countWasted(usage)
  if (answer.left._tag === 'ModelAborted') count('palimpsest.calls.aborted')
}

/** Adds the tokens of a call without a usable result to the metric `palimpsest.tokens.wasted`. */
const countWasted = (usage: Origin['usage']): void => {
  const { input, output } = tokensOf(usage)
  count('palimpsest.tokens.wasted', input + output)
}

/** Counts a reply that was refused as stale, and its tokens as wasted. */
export const countStale = (usage: Origin['usage']): void => {
  count('palimpsest.replies.stale')
  countWasted(usage)
}
