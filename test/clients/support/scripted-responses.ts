import {
  responsesApi,
  type ResponsesApi,
  type ResponsesReply,
  type ResponsesRequest,
} from '../../../src/testing/index.ts'
import { atEnd } from '../../support/at-end.ts'
import { callsIn, usageIn } from './scripted-model.ts'

type Item = Readonly<Record<string, unknown>>

/** Returns the text of an item of a request. */
const textIn = (item: Item | undefined): string =>
  Array.isArray(item?.['content'])
    ? (item['content'] as readonly Item[])
        .map(({ text }) => (typeof text === 'string' ? text : ''))
        .join('\n')
    : ''

/** Answers as `scriptedModel` does, for the Responses API. */
const reply = ({ input }: ResponsesRequest, n: number): ResponsesReply => {
  const last = typeof input === 'string' ? undefined : input.at(-1)
  const prompt = last?.['role'] === 'user' ? textIn(last) : ''
  if (/CONTEXT CHECKPOINT/.test(prompt)) return { text: `Summary ${n} of what was said.` }
  const tokens = usageIn(prompt)
  const calls = callsIn(prompt).map(({ name, input: given }) => ({ name, arguments: given }))
  return {
    reasoning: `Thought ${n}.`,
    ...(calls.length > 0 ? { calls } : { text: `Reply ${n}.` }),
    ...(tokens !== undefined && { usage: { input_tokens: tokens, total_tokens: tokens } }),
  }
}

/** Starts a strict Responses API with a scripted model, until the end of the test. */
export const scriptedResponses = async (): Promise<ResponsesApi> => {
  const api = await responsesApi({ reply })
  atEnd(() => api.close())
  return api
}
