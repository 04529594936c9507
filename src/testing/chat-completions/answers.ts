import { digest } from '../messages-api/canonical.ts'
import {
  type ChatRequest,
  type ChatFailure,
  type JsonFields,
  first,
  invalidType,
  isFields,
  missingParameter,
  type ChatModel,
  type ChatRefusal,
} from './body.ts'
import { chatFailures } from './failures.ts'
import { messagesProblem } from './message-rules.ts'
import { type ChatCompletionsOptions, modelsOf } from './options.ts'
import { parametersProblem } from './parameter-rules.ts'
import { type ChatReply, type Completion, defaultReply, finish } from './replies.ts'
import { type Prompt, promptCache, promptOf } from './tokens.ts'

interface Failed {
  readonly failure: ChatFailure
  readonly model?: ChatModel | undefined
}
/** Outcome of a request: a failure, or a completion. */
export type ChatAnswer =
  | Failed
  | {
      readonly completion: Completion
      readonly reply: ChatReply
      readonly model: ChatModel
      readonly body: ChatRequest
    }

const refused = ({ status = 400, type = 'invalid_request_error', ...told }: ChatRefusal): Failed => ({
  failure: { status, type, ...told },
})

interface Valid {
  readonly body: ChatRequest
  readonly model: ChatModel
  readonly prompt: Prompt
}

const validate = (body: unknown, models: ReadonlyMap<string, ChatModel>): Valid | ChatRefusal | Failed => {
  if (!isFields(body)) return invalidType('body', 'an object')
  const { model: name } = body
  if (typeof name !== 'string') return missingParameter('model')
  const model = models.get(name)
  if (!model)
    return {
      status: 404,
      message: `The model \`${name}\` does not exist or you do not have access to it.`,
      param: null,
      code: 'model_not_found',
    }
  const found = first(
    () => parametersProblem(body, name, model),
    () => messagesProblem(body['messages'], model),
  )
  if (found) return found
  const prompt = promptOf(body as ChatRequest)
  return prompt.tokens <= model.contextWindow
    ? { body: body as ChatRequest, model, prompt }
    : { failure: exceeded(model, prompt) }
}

const exceeded = ({ contextWindow, tooLong }: ChatModel, { tokens }: Prompt): ChatFailure =>
  tooLong?.(tokens, contextWindow) ?? {
    status: 400,
    type: 'invalid_request_error',
    message: `This model's maximum context length is ${contextWindow} tokens. However, your messages resulted in ${tokens} tokens. Please reduce the length of the messages.`,
    param: 'messages',
    code: 'context_length_exceeded',
  }

/** Returns a function that answers request bodies. It keeps the simulated prompt cache between requests. */
export const createAnswers = (options: ChatCompletionsOptions): ((body: unknown) => Promise<ChatAnswer>) => {
  const models = modelsOf(options)
  const cachedOf = promptCache()
  let replies = 0
  return async (given) => {
    const valid = validate(given, models)
    const named = models.get(String(isFields(given) ? given['model'] : ''))
    if ('failure' in valid) return { ...valid, model: named }
    if ('message' in valid) return { ...refused(valid), model: named }
    const { body, model, prompt } = valid
    const n = replies++
    const asked = digest(JSON.stringify([options.seed ?? 0, body.model, body.messages]))
    const said = options.reply ? await options.reply(body, n) : defaultReply(body, asked)
    if ('status' in said) return { failure: said, model }
    const isStream = body.stream === true && !model.ignoresStream
    if (said.fault?.kind === 'error' && (said.fault.after === undefined || !isStream))
      return { failure: chatFailures.overloaded, model }
    const cached = cachedOf(body.model, prompt, model)
    // The id depends on `n`, because a repeated request may get a different answer.
    const id = digest(`${asked}${n}`).slice(0, 22)
    return { completion: finish(said, { body, model, prompt, cached, id }), reply: said, model, body }
  }
}

/** Returns an error in the form of a response body. */
export const errorBody = ({ message, type, param = null, code = null }: ChatFailure): JsonFields => ({
  error: { message, type, param, code },
})
