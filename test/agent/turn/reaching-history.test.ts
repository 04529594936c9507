import { describe, expect, it } from 'vitest'
import { historyTools } from '../../../src/index.ts'
import type { NewMessage } from '../../../src/index.ts'
import type { ApiReply } from '../../../src/testing/messages-api/replies.ts'
import type { ApiRequest } from '../../../src/testing/messages-api/request.ts'
import { text, toolResult, toolUse } from '../../support/log.ts'
import { scene } from '../../support/turn-scene.ts'

// Thirty conversations, in each of which somebody said a fact that the turn's own summary then hides: can the model reach it?

/** Ways in which something is said in a conversation. */
const ways: readonly ((fact: string, n: number) => readonly NewMessage[])[] = [
  (fact) => [assistant(fact)],
  (fact) => [assistant('Tell me more.'), { role: 'user', content: fact }],
  (fact, n) => [
    { role: 'assistant', content: [toolUse(`toolu_${n}`, { path: 'notes.txt' })] },
    { role: 'user', content: [toolResult(`toolu_${n}`, `1: header\n2: ${fact}\n3: end`)] },
  ],
  (fact, n) => [
    { role: 'assistant', content: [toolUse(`toolu_${n}`, { path: 'notes.txt', text: fact })] },
    { role: 'user', content: [toolResult(`toolu_${n}`, 'written')] },
  ],
  (fact) => [assistant(`${'It was long ago. '.repeat(400)}${fact} ${'And so on. '.repeat(400)}`)],
]
const facts: readonly ((n: number) => readonly [question: string, key: string, value: string])[] = [
  (n) => [`Which port has the database of stage ${n}?`, `database of stage ${n}`, `${54_000 + n}`],
  (n) => [`Where is the lexer of language ${n}?`, `lexer of language ${n}`, `src/lang-${n}/lex.ts`],
  (n) => [`Who decides about release ${n}?`, `release ${n}`, `Ann-${n}`],
]
const conversations = Array.from({ length: 30 }, (_, n) => ({
  n,
  way: ways[n % ways.length] ?? (() => []),
  fact: facts[n % facts.length]?.(n) ?? (['', '', ''] as const),
  /** Number of messages said before and after the fact. */
  before: n % 4,
  after: 4 + (n % 5),
}))

const padding = 'word '.repeat(800)
const padded = (count: number): readonly NewMessage[] =>
  Array.from({ length: count }, (_, index) => [
    assistant(`${index} ${padding}`),
    { role: 'user' as const, content: `Go on ${index}.` },
  ]).flat()
const assistant = (content: string): NewMessage => ({ role: 'assistant', content })

const textsOf = ({ messages }: ApiRequest): string => JSON.stringify(messages)
const answer = (said: string): ApiReply => ({ content: [text(said)] })

/**
 * Plays a model that knows only what it is shown: it answers if it sees the fact, and looks for it if it is told that there is more; it
 * reads a hit whose excerpt does not have the value.
 */
const player = (key: string) => {
  const pattern = new RegExp(`${key} is ([\\w./-]*\\w)`)
  let calls = 0
  const call = (name: string, input: object): ApiReply => ({
    content: [{ ...toolUse(`toolu_own_${calls++}`, input), name }],
  })
  return (request: ApiRequest): ApiReply => {
    if (JSON.stringify(request).includes('"tool_choice":{"type":"none"}')) return answer('Work was done.')
    const seen = textsOf(request)
    const [, value] = pattern.exec(seen) ?? []
    if (value !== undefined) return answer(`It is ${value}.`)
    const isTold =
      seen.includes('search_history finds') && JSON.stringify(request.tools ?? []).includes('search_history')
    if (!isTold || calls > 2) return answer('I do not know.')
    const [, position] = /position (\d+), [^:]*hidden by/.exec(seen) ?? []
    return position === undefined
      ? call('search_history', { text: key })
      : call('read_history', { from: Number(position) })
  }
}

const ask = async (
  { n, way, fact: [question, key, value], before, after }: (typeof conversations)[number],
  hasTools: boolean,
) => {
  const { chat, turn, api } = await scene([player(key)])
  await chat.append([...padded(before), ...way(`The ${key} is ${value}.`, n), ...padded(after)])
  await chat.append([assistant('Done.'), { role: 'user', content: question }])
  const options = { context: { window: 8_000, percentage: 50 }, parameters: { max_tokens: 500 } }
  const { content } = await turn({ ...options, ...(hasTools && { tools: historyTools(chat) }) })
  const isHidden = (await chat.effective()).some(({ kind }) => kind === 'summary')
  return {
    isHidden,
    said: JSON.stringify(content),
    results: JSON.stringify(api.requests.at(-1)?.body?.messages),
  }
}

describe('thirty conversations with a fact behind a summary of the turn', () => {
  it.for(conversations)('the model reaches it with the history tools: $n', async (conversation) => {
    const { isHidden, said, results } = await ask(conversation, true)
    expect(isHidden).toBe(true)
    expect(said).toContain(`It is ${conversation.fact[2]}.`)
    expect(results).toContain('From the past of this conversation')
  })

  it('without them it knows none', async () => {
    const answers = await Promise.all(conversations.map((conversation) => ask(conversation, false)))
    expect(answers.filter(({ said }) => !said.includes('I do not know.'))).toEqual([])
  })
})
