import { type Anthropic, APIError } from '@anthropic-ai/sdk'
import { describe, expect, it } from 'vitest'
import type { AnyBlock } from '../../../src/events/blocks.ts'
import { text, thinking, toolResult, toolUse } from '../log.ts'
import { asks, hello, type Messages, params, refusal, says, start } from './client.ts'
import type { ApiReply } from '../../../src/testing/messages-api/replies.ts'

const marked = (block: AnyBlock): AnyBlock => ({ ...block, cache_control: { type: 'ephemeral' } })
const bound =
  'Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block.'
const modified =
  '`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.'
const done = asks(toolResult('a'))
const goOn = asks(text('Go on.'))

const replies: readonly ApiReply[] = [
  { content: [{ type: 'thinking', thinking: 'One.' }, text('First.'), toolUse('a')] },
  { content: [{ type: 'thinking', thinking: '' }, text('Second.')] },
  {
    content: [
      { type: 'redacted_thinking' },
      text('Third,'),
      { type: 'thinking', thinking: 'Three.' },
      text('the end.'),
    ],
  },
]
const prompt = { system: 'Be brief.', tools: [{ name: 'run', input_schema: {} }] }

/** A conversation of three replies, all of which thought, and the server that said them. */
const conversation = async () => {
  const { client } = await start({ reply: (_, n) => replies[n] ?? { content: [text('Yes.')] } })
  const contents: (readonly AnyBlock[])[] = []
  const messages: { role: string; content: readonly AnyBlock[] }[] = []
  for (const asked of [hello, done, goOn]) {
    messages.push(asked)
    const { content } = await client.messages.stream(params(messages, prompt)).finalMessage()
    contents.push(content as unknown as readonly AnyBlock[])
    messages.push(says(...(content as unknown as readonly AnyBlock[])))
  }
  const [one = [], two = [], three = []] = contents
  return { client, one, two, three, tried: tries(client) }
}

/** The error of a request, or undefined if it is accepted. */
const tries =
  (client: Anthropic) =>
  async (messages: Messages, more: Readonly<Record<string, unknown>> = prompt): Promise<unknown> => {
    const answer = await client.messages.create(params(messages, more)).catch((error: unknown) => error)
    return answer instanceof APIError ? answer.apiMessage : undefined
  }

const without = (content: readonly AnyBlock[]): readonly AnyBlock[] =>
  content.filter(({ type }) => !type.includes('thinking'))

describe('thinking comes back', () => {
  it('whole, in a conversation that only grew', async () => {
    const { one, two, three, tried } = await conversation()
    expect(two[0]).toMatchObject({ type: 'thinking', thinking: '', signature: expect.any(String) })
    expect(await tried([hello, says(...one), done, says(...two), goOn, says(...three), goOn])).toBe(undefined)
  })

  it('left out from the start, from the end, or all of it', async () => {
    const { one, two, three, tried } = await conversation()
    const all = (...kept: readonly (readonly AnyBlock[])[]): Messages =>
      [hello, done, goOn].flatMap((asked, index) => [asked, says(...(kept[index] ?? []))]).concat([goOn])
    expect(await tried(all(without(one), two, three))).toBe(undefined)
    expect(await tried(all(without(one), without(two), three))).toBe(undefined)
    expect(await tried(all(one, two, without(three)))).toBe(undefined)
    expect(await tried(all(one, without(two), without(three)))).toBe(undefined)
    expect(await tried(all(without(one), without(two), without(three)))).toBe(undefined)
    expect(await tried(all(one, without(two), three))).toBe(`messages.5.content.0: ${redacted(bound)}`)
  })

  it('with other breakpoints, keys in another order, texts as strings, and messages in parts', async () => {
    const { one, two, tried } = await conversation()
    const [thought, said, call] = one
    const turned = Object.fromEntries(Object.entries(call ?? {}).toReversed())
    const messages = [
      { role: 'user', content: 'Hello.' },
      says(...[thought, said].flatMap((block) => block ?? [])),
      { role: 'assistant', content: [marked(turned as unknown as AnyBlock)] },
      asks(marked(toolResult('a'))),
      says(...two),
      goOn,
    ]
    const blocks = { ...prompt, system: [marked(text('Be brief.'))] }
    expect(await tried(messages, blocks)).toBe(undefined)
  })

  it('after a rewind to a beginning that did not change', async () => {
    const { one, tried } = await conversation()
    expect(await tried([hello, says(...one), done, says(text('Something else.')), goOn])).toBe(undefined)
  })
})

const redacted = (message: string): string =>
  message.replace('`thinking` block.', '`redacted_thinking` block.')

describe('thinking is refused', () => {
  it.each([
    ['under another system prompt', { ...prompt, system: 'Be long.' }],
    ['under other tools', { ...prompt, tools: [] }],
  ])('%s', async (_, other) => {
    const { one, tried } = await conversation()
    expect(await tried([hello, says(...one), done], other)).toBe(`messages.1.content.0: ${bound}`)
  })

  it('after an earlier message that was changed, put in, or left out', async () => {
    const { one, two, tried } = await conversation()
    const changed = asks(toolResult('a', 'something else'))
    expect(await tried([asks(text('Hi.')), says(...one), done])).toBe(`messages.1.content.0: ${bound}`)
    expect(await tried([hello, says(...one), changed, says(...two), goOn])).toBe(
      `messages.3.content.0: ${bound}`,
    )
    expect(await tried([hello, goOn, says(...one), done])).toBe(`messages.2.content.0: ${bound}`)
    expect(await tried([hello, says(...two), goOn])).toBe(`messages.1.content.0: ${bound}`)
  })

  it('in another place of its message, or of the conversation', async () => {
    const { one, two, tried } = await conversation()
    const [thought, said, call] = one.flatMap((block) => block)
    const moved = [said, thought, call].flatMap((block) => block ?? [])
    expect(await tried([hello, says(...moved), done])).toBe(`messages.1.content.1: ${bound}`)
    const later = [...one.slice(0, 1), ...without(two)]
    expect(await tried([hello, says(...without(one)), done, says(...later), goOn])).toBe(
      `messages.3.content.0: ${bound}`,
    )
  })

  it('with another text', async () => {
    const { one, two, tried } = await conversation()
    const [thought, ...rest] = one
    const other = says({ type: 'thinking', ...thought, thinking: 'Two.' }, ...rest)
    expect(await tried([hello, other, done])).toBe(`messages.1.content.0: ${modified}`)
    expect(await tried([hello, other, done, says(...two), goOn])).toBe(
      'messages.1.content.0: Invalid `signature` in `thinking` block',
    )
  })

  it('in part, in the latest message that has any', async () => {
    const { one, two, three, tried } = await conversation()
    const before = [hello, says(...one), done, says(...two), goOn]
    const [first, said, second, end] = three.flatMap((block) => block)
    const part = (...blocks: readonly (AnyBlock | undefined)[]): Messages => [
      ...before,
      says(...blocks.flatMap((block) => block ?? [])),
      goOn,
    ]
    expect(await tried(part(first, said, second, end))).toBe(undefined)
    expect(await tried(part(first, said, end))).toBe(`messages.5.content.0: ${modified}`)
    expect(await tried(part(said, second, end))).toBe(`messages.5.content.1: ${bound}`)
    const none = [hello, says(...without(one)), done, says(...without(two)), goOn]
    expect(await tried([...none, ...part(said, second, end).slice(-2)])).toBe(
      `messages.5.content.1: ${modified}`,
    )
  })

  it('with a signature that this server did not make, unless it is told to take them', async () => {
    const messages = [hello, says(thinking('foreign'), text('Yes.')), goOn]
    expect(await tries((await start()).client)(messages)).toBe(
      'messages.1.content.0: Invalid `signature` in `thinking` block',
    )
    const { client } = await start({ foreignSignatures: true })
    expect(await tries(client)(messages)).toBe(undefined)
    expect(await tries(client)([hello, says(thinking(''), text('Yes.')), goOn])).toBe(
      'messages.1.content.0: Invalid `signature` in `thinking` block',
    )
  })

  it('by a server with another seed', async () => {
    const thought = { content: [{ type: 'thinking', thinking: 'Hm.' }, text('Yes.')] }
    const { content } = await (
      await start({ seed: 1, reply: () => thought })
    ).client.messages.create(params([hello]))
    const messages = [hello, { role: 'assistant', content }, goOn]
    expect(await tries((await start({ seed: 1 })).client)(messages, {})).toBe(undefined)
    expect(await tries((await start({ seed: 2 })).client)(messages, {})).not.toBe(undefined)
  })
})

describe('a compaction', () => {
  const reply: ApiReply = {
    content: [
      { type: 'compaction', content: 'All of it.' },
      { type: 'thinking', thinking: 'Hm.' },
      text('Yes.'),
    ],
  }
  const compacted = async () => {
    const { client } = await start({ reply: (_, n) => (n === 0 ? reply : { content: [text('Yes.')] }) })
    const { content } = await client.messages.create(params([hello, says(text('Yes.')), goOn], prompt))
    const [block, ...rest] = content as unknown as readonly [AnyBlock, ...AnyBlock[]]
    return { block, rest, tried: tries(client) }
  }

  it('comes back first, for all that was before it, with the thinking that came after it', async () => {
    const { block, rest, tried } = await compacted()
    expect(await tried([says(block, ...rest), goOn])).toBe(undefined)
    expect(await tried([asks(marked(block)), says(...rest), goOn])).toBe(undefined)
    expect(await tried([hello, says(block, ...rest), goOn])).toContain('must be the first block')
  })

  it('is refused if a byte of it changed', async () => {
    const { block, tried } = await compacted()
    expect(await tried([asks({ ...block, content: 'Some of it.' })])).toBe(
      'messages.0.content.0: the content of the `compaction` block differs from what its `signature` recorded',
    )
    expect(await tried([asks({ ...block, signature: 'none' })])).toBe(
      'messages.0.content.0: Invalid `signature` in `compaction` block',
    )
    const { client } = await start({ foreignSignatures: true })
    expect(await tries(client)([asks({ type: 'compaction', content: 'Of another.' })])).toBe(undefined)
  })

  it('has errors that the SDK knows by their code', async () => {
    const { client } = await start()
    const asked = client.messages.create(params([hello, says({ type: 'compaction', content: 'x' }), goOn]))
    expect((await refusal(asked)).errorCode).toBe('compaction_block_misplaced')
  })
})
