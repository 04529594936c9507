import { digest } from '../messages-api/canonical.ts'
import {
  type Body,
  type Fields,
  first,
  invalidType,
  isFields,
  missing,
  type Model,
  type Problem,
} from './body.ts'
import { chatFailures } from './failures.ts'
import { messagesProblem } from './message-rules.ts'
import { type ChatCompletionsOptions, modelsOf } from './options.ts'
import { parametersProblem } from './parameter-rules.ts'
import { type ChatFailure, type ChatReply, type Completion, defaultReply, finish } from './replies.ts'
import { type Prompt, promptCache, promptOf } from './tokens.ts'

/** How a request is answered. */
export type Answer =
  | { readonly failure: ChatFailure }
  | {
      readonly completion: Completion
      readonly reply: ChatReply
      readonly model: Model
      readonly body: Body
    }

const refused = ({ status = 400, type = 'invalid_request_error', ...told }: Problem): Answer => ({
  failure: { status, type, ...told },
})

interface Valid {
  readonly body: Body
  readonly model: Model
  readonly prompt: Prompt
}

const validate = (body: unknown, models: ReadonlyMap<string, Model>): Valid | Problem => {
  if (!isFields(body)) return invalidType('body', 'an object')
  const { model: name } = body
  if (typeof name !== 'string') return missing('model')
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
  const prompt = promptOf(body as Body)
  return prompt.tokens <= model.contextWindow
    ? { body: body as Body, model, prompt }
    : exceeded(model, prompt)
}

const exceeded = ({ contextWindow }: Model, { tokens }: Prompt): Problem => ({
  message: `This model's maximum context length is ${contextWindow} tokens. However, your messages resulted in ${tokens} tokens. Please reduce the length of the messages.`,
  param: 'messages',
  code: 'context_length_exceeded',
})

/** Answers the bodies of requests; remembers what it has cached. */
export const answering = (options: ChatCompletionsOptions): ((body: unknown) => Promise<Answer>) => {
  const models = modelsOf(options)
  const cachedOf = promptCache()
  let replies = 0
  return async (given) => {
    const valid = validate(given, models)
    if ('message' in valid) return refused(valid)
    const { body, model, prompt } = valid
    const n = replies++
    const asked = digest(JSON.stringify([options.seed ?? 0, body.model, body.messages]))
    const said = options.reply ? await options.reply(body, n) : defaultReply(body, asked)
    if ('status' in said) return { failure: said }
    const isStream = body.stream === true
    if (said.fault?.kind === 'error' && (said.fault.after === undefined || !isStream))
      return { failure: chatFailures.overloaded }
    const cached = cachedOf(body.model, prompt, model)
    // The same request may be sent again, and get another answer.
    const id = digest(`${asked}${n}`).slice(0, 22)
    return { completion: finish(said, { body, model, prompt, cached, id }), reply: said, model, body }
  }
}

/** An error as the body of an answer. */
export const errorBody = ({ message, type, param = null, code = null }: ChatFailure): Fields => ({
  error: { message, type, param, code },
})
