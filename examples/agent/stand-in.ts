import type { AnyBlock } from '../../src/events/blocks.ts'
import type { ApiFailure, ApiReply } from '../../src/testing/messages-api/replies.ts'
import type { ApiRequest } from '../../src/testing/messages-api/request.ts'
import { messagesApi, type MessagesApi } from '../../src/testing/messages-api/server.ts'
import { workOn } from './script.ts'

/**
 * The strict stand-in for the API, with a model that plays a script: the same prompts, the same work, with a failure now and then.
 *
 * @param model  the name of the model whose window is small; every other one summarizes
 * @param window in tokens
 */
export const standIn = (model: string, window: number): Promise<MessagesApi> => {
  const worker = scriptedWorker()
  const summarizer = scriptedSummarizer()
  return messagesApi({
    models: { [model]: { contextWindow: window } },
    reply: (body) => (body.model === model ? worker(body) : summarizer(body)),
  })
}

// Seconds; a real API says more.
const overloaded: ApiFailure = {
  status: 529,
  type: 'overloaded_error',
  message: 'Overloaded',
  retryAfter: 0.001,
}

/** Every so many requests the API is overloaded; asked again, it is not. */
const overloadedEvery = 50

const scriptedWorker = (): ((body: ApiRequest) => ApiReply | ApiFailure) => {
  let asked = 0
  let work: ReturnType<typeof workOn> | undefined
  return ({ messages }) => {
    if (++asked % overloadedEvery === 0) return overloaded
    const content = blocksOf(messages.at(-1)?.content)
    const results = content
      .filter(({ type }) => type === 'tool_result')
      .map((block) => String(block['content']))
    if (results.length === 0) work = workOn(String(content.at(-1)?.['text']))
    return { content: work?.next(results).value ?? [{ type: 'text', text: 'Done.' }] }
  }
}

/** What becomes of summaries, again and again: every other one fails, and the SDK asks three times where the API is overloaded. */
const fates = ['summary', 'refusal', 'summary', 'overloaded', 'overloaded', 'overloaded'] as const

const scriptedSummarizer = (): ((body: ApiRequest) => ApiReply | ApiFailure) => {
  let asked = 0
  return ({ messages }) => {
    const fate = fates[asked++ % fates.length]
    if (fate === 'overloaded') return overloaded
    if (fate === 'refusal') return { content: [{ type: 'text', text: 'I can’t' }], stop_reason: 'refusal' }
    return {
      content: [{ type: 'text', text: summaryOf(messages.flatMap(({ content }) => blocksOf(content))) }],
    }
  }
}

const most = 12
const list = (title: string, lines: readonly string[]): string =>
  [`${title}:`, ...[...new Set(lines)].slice(-most).map((line) => `- ${line}`)].join('\n')

/** What was asked for and what was changed lately, as far as the slice or the summary at its beginning says. */
const summaryOf = (blocks: readonly AnyBlock[]): string => {
  const lines = blocks
    .slice(0, -1)
    .flatMap(({ type, text }) => (type === 'text' ? String(text).split('\n') : []))
  const said = lines.map((line) => line.replace(/^- /, ''))
  const calls = blocks.flatMap(({ name, input }) =>
    name === 'edit_file' || name === 'write_file' ? [(input as { readonly path?: string }).path ?? ''] : [],
  )
  return [
    list(
      'Asked for',
      said.filter((line) => /^(Do the|Who uses|Write a|Note in) /.test(line)),
    ),
    list('Files changed', [...said.filter((line) => /^(src|test)\/\S+$|^CHANGES\.md$/.test(line)), ...calls]),
    'Open: the TODOs that are left.',
  ].join('\n\n')
}

const blocksOf = (content: string | readonly AnyBlock[] | undefined): readonly AnyBlock[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? [])
