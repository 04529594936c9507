import { readFileSync, readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { countTokens } from '../../../src/agent/context/tokens/tokens.ts'
import type { ChatForm } from '../../../src/agent/models/form.ts'
import { type Chat, chatBody } from '../../../src/agent/models/openai/chat/chat.ts'
import type { ChatRepairKind } from '../../../src/agent/models/openai/chat/types.ts'
import { usageOf } from '../../../src/agent/models/openai/usage.ts'
import { digestOf } from '../../../src/agent/receipts/canonical.ts'
import { currentRenderer, requestOf } from '../../../src/agent/receipts/request.ts'
import type { AnyBlock } from '../../../src/events/blocks.ts'
import type { Event } from '../../../src/events/events.ts'
import { effective } from '../../../src/projections/effective.ts'
import { right } from '../../support/either.ts'
import { assistant, blocksOf, logOf, said, text, toolResult, toolUse, user } from '../../support/log.ts'
import { imageOf, pictures } from '../../support/pictures.ts'

const plain: ChatForm = { name: 'chat-completions', version: 1 }
const configured = (data: Extract<Event, { type: 'Configured' }>['data']): Event => ({
  type: 'Configured',
  data,
})

/** What a short log becomes: the messages, and the repairs that the translation made. */
const inChat = (events: readonly Event[], form: Partial<ChatForm> = {}) => {
  const { chat, repairs } = right(
    requestOf(effective(logOf(...events)), { renderer: currentRenderer, form: { ...plain, ...form } }),
  )
  return {
    messages: chat?.messages ?? [],
    tools: chat?.tools,
    repairs: repairs
      .filter(({ kind }) => kind !== 'tools-unknown')
      .map(({ kind, position }) => [kind, position]),
  }
}
const picture = imageOf(pictures.gif, 'image/gif')
const pictureUrl = { type: 'image_url', image_url: { url: `data:image/gif;base64,${pictures.gif}` } }
const pdf = {
  type: 'document',
  title: 'a.pdf',
  source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' },
}
const call = (id: string) => ({ id, type: 'function', function: { name: 'read', arguments: '{}' } })
const use = (id: string, input: object = {}) => ({ ...toolUse(id, input), name: 'read' })

describe('what was said becomes messages', () => {
  it('the system prompt comes first, texts are strings, a paragraph for each block', () => {
    const log = [
      configured({ system: blocksOf([text('Be brief.'), text('Be kind.')]) }),
      user([text('Hello.'), text('Are you there?')]),
      assistant('Yes.'),
      user('Good.'),
    ]
    expect(inChat(log)).toEqual({
      messages: [
        { role: 'system', content: 'Be brief.\n\nBe kind.' },
        { role: 'user', content: 'Hello.\n\nAre you there?' },
        { role: 'assistant', content: 'Yes.' },
        { role: 'user', content: 'Good.' },
      ],
      tools: undefined,
      repairs: [],
    })
    expect(inChat(log, { system: 'developer' }).messages[0]).toMatchObject({ role: 'developer' })
  })

  it('calls keep their ids and their input as JSON; each result is a message, in the order of the calls', () => {
    const { messages, repairs } = inChat([
      user('Read both.'),
      assistant([text('I do.'), use('a', { path: 'a.ts' }), use('b')]),
      user([toolResult('b', 'B'), toolResult('a', 'A'), text('And now?')]),
    ])
    expect(messages.slice(1)).toEqual([
      {
        role: 'assistant',
        content: 'I do.',
        tool_calls: [
          { id: 'a', type: 'function', function: { name: 'read', arguments: '{"path":"a.ts"}' } },
          call('b'),
        ],
      },
      { role: 'tool', tool_call_id: 'a', content: 'A' },
      { role: 'tool', tool_call_id: 'b', content: 'B' },
      { role: 'user', content: 'And now?' },
    ])
    expect(repairs).toEqual([])
  })

  it('a message of calls only has no content, and arguments that are no object are wrapped', () => {
    const { messages, repairs } = inChat([
      user('Read.'),
      assistant([{ ...use('a'), input: '{"path' }]),
      user([{ ...toolResult('a', 'Not JSON.'), is_error: true }]),
    ])
    expect(messages[1]).toMatchObject({
      content: null,
      tool_calls: [{ function: { arguments: '{"input":"{\\"path"}' } }],
    })
    expect(messages[2]).toEqual({ role: 'tool', tool_call_id: 'a', content: 'Error: Not JSON.' })
    expect(repairs).toEqual([
      ['input-wrapped', 1],
      ['shown-as-text', 2],
    ])
  })

  it('a result without content says so, as no message may be empty', () => {
    const { messages, repairs } = inChat([user('Go.'), assistant([use('a')]), user([toolResult('a', [])])])
    expect(messages[2]).toMatchObject({ role: 'tool', content: '[no content]' })
    expect(repairs.at(-1)?.[0]).toBe('shown-as-text')
  })

  it('pictures and files of the user are parts; where the model takes none, a note stands for each', () => {
    const log = [user([text('Look.'), picture, pdf])]
    expect(inChat(log).messages).toEqual([
      {
        role: 'user',
        content: [
          text('Look.'),
          pictureUrl,
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } },
        ],
      },
    ])
    const noted = inChat(log, { images: false, files: false })
    expect(noted.messages).toEqual([
      {
        role: 'user',
        content: 'Look.\n\n[Not shown: image, image/gif]\n\n[Not shown: document, a.pdf, application/pdf]',
      },
    ])
    expect(noted.repairs).toEqual([
      ['shown-as-text', 0],
      ['shown-as-text', 0],
    ])
  })

  it('a picture in a result is shown after all results, as a tool message takes only text', () => {
    const { messages, repairs } = inChat([
      user('Look at both.'),
      assistant([use('a'), use('b')]),
      user([toolResult('a', [text('One:'), picture]), toolResult('b', 'none'), text('Well?')]),
    ])
    expect(messages.slice(2)).toEqual([
      { role: 'tool', tool_call_id: 'a', content: 'One:\n\n[Shown after the results.]' },
      { role: 'tool', tool_call_id: 'b', content: 'none' },
      { role: 'user', content: [text('From the result of a:'), pictureUrl, text('Well?')] },
    ])
    expect(repairs).toEqual([['media-moved', 2]])
  })

  it('documents of text and search results become text', () => {
    const document = { type: 'document', title: 'Notes', source: { type: 'text', data: 'All is well.' } }
    const found = {
      type: 'search_result',
      title: 'T',
      source: 'https://x.example',
      content: [text('It is so.')],
    }
    const { messages, repairs } = inChat([user([document, found])])
    expect(messages).toEqual([
      { role: 'user', content: 'Notes\n\nAll is well.\n\nT\nhttps://x.example\nIt is so.' },
    ])
    expect(repairs).toEqual([
      ['shown-as-text', 0],
      ['shown-as-text', 0],
    ])
  })

  it('a system message between the others stays where it is', () => {
    const log = [user('Hello.'), said('system', 'Be brief.')]
    const made = right(
      requestOf(effective(logOf(...log)), { renderer: currentRenderer, systemMessages: true, form: plain }),
    )
    expect(made.chat?.messages.map(({ role }) => role)).toEqual(['user', 'system'])
  })
})

describe('what only the Messages API has', () => {
  const signed = { type: 'thinking', thinking: 'Hm.', signature: 'x' }
  const served: readonly AnyBlock[] = [
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
    { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] },
  ]

  it('thinking and server tools are left out', () => {
    const { messages, repairs } = inChat([
      user('Search.'),
      assistant([signed, ...served, text('Found.')], { requestId: 'r' }),
      user('Good.'),
    ])
    expect(messages[1]).toEqual({ role: 'assistant', content: 'Found.' })
    expect(repairs).toEqual([
      ['thinking-dropped', 1],
      ['server-tool-dropped', 1],
      ['server-tool-dropped', 1],
    ])
  })

  it('a message of nothing else is left out, and what the user said before and after it is one message', () => {
    const { messages, repairs } = inChat([user('Search.'), assistant(served), user('And?')])
    expect(messages).toEqual([{ role: 'user', content: 'Search.\n\nAnd?' }])
    expect(repairs.map(([kind]) => kind)).toEqual([
      'server-tool-dropped',
      'server-tool-dropped',
      'message-dropped',
      'roles-merged',
    ])
  })

  it('cache breakpoints and citations are left out; cited texts are the parts of one', () => {
    const cited = { ...text('It is '), citations: [] }
    const { messages, repairs } = inChat([
      user([{ ...text('Why?'), cache_control: { type: 'ephemeral' } }]),
      assistant([cited, text('so.')]),
      user('Good.'),
    ])
    expect(messages[1]).toEqual({ role: 'assistant', content: 'It is so.' })
    expect(repairs).toEqual([
      ['cache-control-dropped', 0],
      ['field-dropped', 1],
    ])
  })

  it('a compaction is told by the user', () => {
    const compaction = { type: 'compaction', content: 'What was said before.' }
    const { messages, repairs } = inChat([
      user('Hello.'),
      {
        type: 'Condensed',
        data: {
          covers: { first: 0, last: 0 },
          summary: [{ role: 'assistant', content: blocksOf([compaction]) }],
          method: 'provider',
          messagesHidden: 1,
          tokens: { before: 9, after: 1 },
        },
      },
      assistant('So.'),
      user('Go on.'),
    ])
    expect(messages).toEqual([
      { role: 'user', content: 'What was said before.' },
      { role: 'assistant', content: 'So.' },
      { role: 'user', content: 'Go on.' },
    ])
    expect(repairs.map(([kind]) => kind)).toContain('shown-as-text')
  })
})

describe('ids, names and tools', () => {
  const long = `toolu_${'x'.repeat(60)}`

  it('a long id is replaced in the call and its result, the same way each time', () => {
    const log = [user('Go.'), assistant([use(long)]), user([toolResult(long, 'Done.')])]
    const { messages, repairs } = inChat(log)
    const id = messages[1]?.tool_calls?.[0]?.id ?? ''
    expect(id.length).toBeLessThanOrEqual(40)
    expect(messages[2]).toMatchObject({ tool_call_id: id })
    expect(inChat(structuredClone(log)).messages).toEqual(messages)
    expect(repairs).toEqual([['id-replaced', 1]])
  })

  it('schemas get what the API requires, and tools of other APIs are left out', () => {
    const { tools, repairs } = inChat([
      configured({
        tools: [
          { name: 'read', description: 'Reads.', input_schema: { type: 'object' }, cache_control: {} },
          {
            name: 'all',
            input_schema: { type: 'object', properties: { of: { type: 'array' } } },
            strict: true,
          },
          { type: 'web_search_20260209', name: 'web_search' },
          { name: 'a.b', input_schema: { type: 'object', properties: {} }, defer_loading: true },
        ],
      }),
      user('Go.'),
    ])
    expect(tools?.map(({ function: made }) => made)).toEqual([
      { name: 'read', description: 'Reads.', parameters: { type: 'object', properties: {} } },
      {
        name: 'all',
        parameters: { type: 'object', properties: { of: { type: 'array', items: {} } } },
        strict: true,
      },
      {
        name: expect.stringMatching(/^a_b_[\w-]{8}$/) as string,
        parameters: { type: 'object', properties: {} },
      },
    ])
    expect(repairs.map(([kind]) => kind)).toEqual([
      'tool-dropped',
      'cache-control-dropped',
      'schema-completed',
      'schema-completed',
      'name-replaced',
      'field-dropped',
    ])
  })

  it('a request holds 128 tools at most', () => {
    const tools = Array.from({ length: 130 }, (_, index) => ({
      name: `t${index}`,
      input_schema: { type: 'object', properties: {} },
    }))
    const made = inChat([configured({ tools }), user('Go.')])
    expect(made.tools?.length).toBe(128)
    expect(made.repairs).toEqual([['tool-dropped', 0]])
  })
})

describe('parameters', () => {
  const bodyOf = (parameters: object, form: Partial<ChatForm> = {}, tools?: readonly { name: string }[]) => {
    const request = { model: 'm', messages: [], parameters: { ...parameters }, ...(tools && { tools }) }
    const { model: _, messages: _messages, tools: _tools, ...body } = chatBody(request, { ...plain, ...form })
    return body
  }

  it('become those of this API; unknown ones are the endpoint’s own', () => {
    expect(bodyOf({ max_tokens: 9, stop_sequences: ['a', 'b', 'c', 'd', 'e'], top_k: 3 })).toEqual({
      max_completion_tokens: 9,
      stop: ['a', 'b', 'c', 'd'],
      top_k: 3,
    })
    expect(bodyOf({ max_tokens: 9 }, { limit: 'max_tokens' })).toEqual({ max_tokens: 9 })
  })

  it.each([
    [{ type: 'none' }, { tool_choice: 'none' }],
    [{ type: 'auto' }, { tool_choice: 'auto' }],
    [
      { type: 'any', disable_parallel_tool_use: true },
      { tool_choice: 'required', parallel_tool_calls: false },
    ],
    [{ type: 'tool', name: 'read' }, { tool_choice: { type: 'function', function: { name: 'read' } } }],
    ['required', { tool_choice: 'required' }],
  ])('a choice of tools %j is %j, and nothing without tools', (tool_choice, expected) => {
    expect(bodyOf({ tool_choice }, {}, [{ name: 'read' }])).toEqual(expected)
    expect(bodyOf({ tool_choice })).toEqual({})
  })

  it('those of the Messages API alone are left out, which the receipt counts', () => {
    const parameters = { thinking: { type: 'enabled', budget_tokens: 9 }, mcp_servers: [], container: 'c' }
    expect(bodyOf(parameters)).toEqual({})
    expect(bodyOf({ metadata: { user_id: 'u' } })).toEqual({})
    expect(bodyOf({ metadata: { topic: 't' } })).toEqual({ metadata: { topic: 't' } })
    expect(bodyOf({ thinking: { type: 'enabled' } })).toEqual({ thinking: { type: 'enabled' } })
    expect(inChat([configured({ parameters }), user('Go.')]).repairs).toEqual([
      ['parameter-dropped', 0],
      ['parameter-dropped', 0],
      ['parameter-dropped', 0],
    ])
  })
})

describe('reasoning', () => {
  const reasoned = (provider: string) => ({ type: 'thinking', thinking: 'Hm.', chat: { provider } })
  const log = (provider: string) => [
    user('Read.'),
    assistant([reasoned(provider), use('a')]),
    user([toolResult('a', 'A')]),
  ]

  it('goes back to its provider alone, and only in the field that was asked for', () => {
    const reasoning = { provider: 'p', field: 'reasoning_content' } as const
    expect(inChat(log('p'), { reasoning })).toMatchObject({
      messages: [{}, { reasoning_content: 'Hm.', tool_calls: [call('a')] }, {}],
      repairs: [],
    })
    expect(inChat(log('p')).messages[1]).toEqual({
      role: 'assistant',
      content: null,
      tool_calls: [call('a')],
    })
    expect(inChat(log('p')).repairs).toEqual([['thinking-dropped', 1]])
    expect(inChat(log('other'), { reasoning }).messages[1]).toMatchObject({ reasoning_content: '' })
    expect(
      inChat(log('other'), { reasoning: { ...reasoning, field: 'reasoning' } }).messages[1],
    ).not.toHaveProperty('reasoning')
  })

  it('goes back as the list that the provider gave', () => {
    const details = [{ type: 'reasoning.encrypted', data: 'x', index: 0 }]
    const block = { ...reasoned('p'), chat: { provider: 'p', details } }
    const reasoning = { provider: 'p', field: 'reasoning_details' } as const
    expect(
      inChat([user('Why?'), assistant([block, text('So.')]), user('?')], { reasoning }).messages[1],
    ).toEqual({
      role: 'assistant',
      content: 'So.',
      reasoning_details: details,
    })
  })
})

describe('tokens of a request in the form', () => {
  /** A reply of these many tokens, most of which are reasoning that is not sent again. */
  const reply = (words: string, prompt: number, written: number, reasoning: number) =>
    assistant(words, {
      model: 'm',
      requestId: `r${prompt}`,
      stopReason: 'end_turn',
      usage: usageOf({
        prompt_tokens: prompt,
        completion_tokens: written + reasoning,
        completion_tokens_details: { reasoning_tokens: reasoning },
      }),
    })

  describe('reasoning that is billed and not sent again', () => {
    it('is no part of the next request', () => {
      const count = countTokens(effective(logOf(user('Why?'), reply('It is so.', 100, 10, 9_000))))
      expect(count).toMatchObject({ total: 110, estimated: 0, anchor: 1 })
    })

    it('does not make estimates of what comes next smaller', () => {
      const words = 'so it was told '.repeat(300)
      const log = [
        user(words),
        reply('Yes.', 1_000, 5, 9_000),
        user(words),
        reply('No.', 2_005, 5, 9_000),
        user(words),
      ]
      expect(countTokens(effective(logOf(...log))).correction).toBeGreaterThan(0.8)
    })
  })
})

describe('recorded requests in the form', () => {
  /** A log, and the request that it made in a form when the translation was the current one. Never edited. */
  interface Golden {
    readonly form: ChatForm
    readonly events: readonly Event[]
    readonly chat: Chat
    readonly repairs: readonly { readonly kind: string }[]
    readonly digest: string
  }

  const folder = new URL('../../golden/chat/1/', import.meta.url)
  const all = readdirSync(folder).map(
    (file) => [file, JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as Golden] as const,
  )
  const frozen =
    'receipts of requests made before would fail: leave this version as it was, and give the changed one the next number; docs/adr/0023-other-forms-are-translations.md'

  describe('version 1 of the translation makes the request that it made, to the byte', () => {
    it.each(all)('%s', (_, { form, events, chat, repairs, digest }) => {
      const made = right(requestOf(effective(logOf(...events)), { renderer: 1, form }))
      expect(JSON.stringify(made.chat, undefined, 2), `version 1: ${frozen}`).toBe(
        JSON.stringify(chat, undefined, 2),
      )
      expect(JSON.stringify(made.repairs, undefined, 2), `version 1: ${frozen}`).toBe(
        JSON.stringify(repairs, undefined, 2),
      )
      expect(digestOf(made), `version 1: ${frozen}`).toBe(digest)
    })

    it('in every kind of repair', () => {
      const kinds: Readonly<Record<ChatRepairKind, true>> = {
        'assistant-added': true,
        'cache-control-dropped': true,
        'calls-moved': true,
        'field-dropped': true,
        'id-replaced': true,
        'media-moved': true,
        'message-dropped': true,
        'name-replaced': true,
        'parameter-dropped': true,
        'roles-merged': true,
        'schema-completed': true,
        'server-tool-dropped': true,
        'shown-as-text': true,
        'thinking-dropped': true,
        'tool-dropped': true,
      }
      const shown = new Set(all.flatMap(([, { repairs }]) => repairs.map(({ kind }) => kind)))
      expect(Object.keys(kinds).filter((kind) => !shown.has(kind))).toEqual([])
    })
  })
})
