import { atEnd } from '../../support/at-end.ts'
import { messagesApi, type ApiExchange, type MessagesApi } from '../../../src/testing/index.ts'
import { scriptedModel } from './scripted-model.ts'

/** Name of the model that the clients ask, with the limits that they assume. */
export const model = 'claude-opus-5-5'

/** Starts a strict Messages API with a scripted model, until the end of the test. */
export const scriptedApi = async (thinks = false): Promise<MessagesApi> => {
  const api = await messagesApi({
    reply: scriptedModel(thinks),
    models: { [model]: { contextWindow: 1_000_000, maxOutput: 128_000 } },
  })
  atEnd(() => api.close())
  return api
}

/** Returns the requests that were refused, with the reason; a scripted 529 is none. */
export const refusedIn = (requests: readonly ApiExchange[]): readonly unknown[] =>
  requests.flatMap(({ path, status, answer }) =>
    status === 200 || status === 529 ? [] : [{ path, status, answer }],
  )

/** Returns the effort that each message of a request sets. */
export const effortsIn = (request: ApiExchange | undefined): readonly unknown[] =>
  (request?.body?.messages ?? []).flatMap(({ output_config: settings }) => settings?.['effort'] ?? [])

/** Returns the text of a request's messages. */
export const textOf = (request: ApiExchange | undefined): string => JSON.stringify(request?.body?.messages)

/** Returns the number of requests for a summary that have a system prompt of their own. */
export const summariesIn = (requests: readonly ApiExchange[]): number =>
  requests.filter(({ body }) => JSON.stringify(body?.system ?? '').includes('context summarization')).length
