import { describe, expect, it } from 'vitest'
import type { Conversation } from '../../src/index.ts'
import { text, toolUse } from '../support/log.ts'
import type { Reply } from '../../src/testing/messages-api/replies.ts'
import { type Said, scene, yes } from '../support/turn-scene.ts'

const user = (content: string) => ({ role: 'user' as const, content })
const answer = (content: string): Reply => ({ content: [text(content)] })

/** What is shown, a line each. */
const shown = async (chat: Conversation): Promise<readonly string[]> =>
  (await chat.effective()).map((item) =>
    item.kind === 'message'
      ? `${item.role}: ${item.content.map((block) => ('text' in block ? block['text'] : block.type)).join(' ')}`
      : item.kind,
  )

/** A scene in which something happens while the model gives its first reply. */
const during = async (
  what: (chat: Conversation) => Promise<unknown>,
  first: Reply = yes,
  more: readonly Said[] = [],
) => {
  const said: Said[] = []
  const playing = await scene(said)
  said.push(
    async () => {
      await what(playing.chat)
      return first
    },
    ...more,
    answer('And that.'),
  )
  return playing
}

const sound = async ({
  api,
  chat,
}: {
  readonly api: { readonly requests: readonly { readonly status: number }[] }
  readonly chat: Conversation
}) => {
  expect(api.requests.filter(({ status }) => status !== 200)).toEqual([])
  expect(await chat.verifyReceipts()).toMatchObject({ findings: [] })
  expect((await chat.verify()).discrepancy).toBeUndefined()
  expect(await chat.queued()).toEqual([])
}

describe('what the user says while nobody is busy', () => {
  it('is appended', async () => {
    const { chat, turn } = await scene([yes])
    await turn()
    expect(await chat.say(user('So?'))).toEqual({ status: 'recorded', conversation: 'c', position: 3 })
    expect(await shown(chat)).toEqual(['user: Is it there?', 'assistant: Yes.', 'user: So?'])
  })
})

describe('what the user says while the model replies', () => {
  it('waits in the inbox, comes after the reply, and is answered by the same turn', async () => {
    const playing = await during(async (chat) => {
      expect(await chat.say(user('Wait.'))).toMatchObject({ status: 'queued' })
      expect(await chat.say(user('Please.'))).toMatchObject({ status: 'queued' })
      expect(await chat.queued()).toMatchObject([
        { messages: [user('Wait.')] },
        { messages: [user('Please.')] },
      ])
    })
    expect(await playing.turn()).toMatchObject({ calls: 2 })
    expect(await shown(playing.chat)).toEqual([
      'user: Is it there?',
      'assistant: Yes.',
      'user: Wait.',
      'user: Please.',
      'assistant: And that.',
    ])
    await sound(playing)
  })

  it('comes after the results of the calls that the reply makes', async () => {
    const playing = await during((chat) => chat.say(user('Wait.')), { content: [toolUse('a')] })
    expect(await playing.turn({ run: { run: () => 'done' } })).toMatchObject({ calls: 2 })
    expect(await shown(playing.chat)).toEqual([
      'user: Is it there?',
      'assistant: tool_use',
      'user: tool_result',
      'user: Wait.',
      'assistant: And that.',
    ])
    await sound(playing)
  })

  it('is refused with Busy if asked, and nothing is written', async () => {
    const playing = await during(async (chat) => {
      await expect(chat.say(user('Wait.'), { whileBusy: 'reject' })).rejects.toMatchObject({ _tag: 'Busy' })
    })
    expect(await playing.turn()).toMatchObject({ calls: 1 })
    await sound(playing)
  })
})
