import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Conversation, openStore } from '../../../src/index.ts'
import { text, toolUse } from '../../support/log.ts'
import { temporaryFolder } from '../../support/stores.ts'
import type { ApiReply } from '../../../src/testing/messages-api/replies.ts'
import { type Said, scene, yes } from '../../support/turn-scene.ts'

const user = (content: string) => ({ role: 'user' as const, content })
const answer = (content: string): ApiReply => ({ content: [text(content)] })

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
  first: ApiReply = yes,
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

describe('a message that interrupts', () => {
  /** A first reply that never comes, unless the turn lets go of it. */
  const hanging = async (what: (chat: Conversation) => Promise<unknown>, options = {}) => {
    const said: Said[] = []
    const playing = await scene(said)
    let isGiven = false
    said.push(async () => {
      isGiven = true
      await what(playing.chat)
      return new Promise<never>(() => {})
    }, answer('To both.'))
    return { ...playing, turned: playing.turn(options), isGiven: () => isGiven }
  }

  it('ends the call of the model, and the same turn answers both', async () => {
    const playing = await hanging(async (chat) => {
      expect(await chat.say(user('Wait.'), { whileBusy: 'interrupt' })).toMatchObject({ status: 'recorded' })
    })
    expect(await playing.turned).toMatchObject({ calls: 2 })
    expect(await shown(playing.chat)).toEqual(['user: Is it there?', 'user: Wait.', 'assistant: To both.'])
    expect((await playing.chat.effective()).at(-1)).toMatchObject({
      origin: { failed: [{ error: 'ModelAborted' }] },
    })
    await sound(playing)
  })

  it('ends no tool', async () => {
    const playing = await scene([{ content: [toolUse('a')] }, answer('To both.')])
    const run = async (_: unknown, { signal }: { readonly signal: AbortSignal }) => {
      await playing.chat.say(user('Wait.'), { whileBusy: 'interrupt' })
      await playing.chat.say(user('Please.'), { whileBusy: 'interrupt' })
      expect(signal.aborted).toBe(false)
      return 'done'
    }
    expect(await playing.turn({ run: { run } })).toMatchObject({ calls: 2 })
    expect((await shown(playing.chat)).slice(2)).toEqual([
      'user: tool_result',
      'user: Wait.',
      'user: Please.',
      'assistant: To both.',
    ])
    await sound(playing)
  })
})

describe('a message that rolls back', () => {
  it('takes the place of the message that began the turn, and of what came since, and the turn lets go', async () => {
    const said: Said[] = []
    const playing = await scene(said)
    said.push(
      { content: [toolUse('a')] },
      async () => {
        await playing.chat.say(user('And?'))
        expect(await playing.chat.say(user('Is it here?'), { whileBusy: 'rollback' })).toMatchObject({
          status: 'recorded',
        })
        return new Promise<never>(() => {})
      },
      yes,
    )
    await playing.chat.append([{ role: 'assistant', content: 'No.' }, user('Is it there now?')])
    await expect(playing.turn({ run: { run: () => 'done' } })).rejects.toMatchObject({ _tag: 'StaleContext' })
    expect(await shown(playing.chat)).toEqual(['user: Is it there?', 'assistant: No.', 'user: Is it here?'])
    await playing.turn()
    await sound(playing)
  })

  it('aborts the tools of the turn', async () => {
    const playing = await scene([{ content: [toolUse('a')] }, yes])
    const run = async (_: unknown, { signal }: { readonly signal: AbortSignal }) => {
      const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve))
      await playing.chat.say(user('Is it here?'), { whileBusy: 'rollback' })
      await aborted
      return 'done'
    }
    await expect(playing.turn({ run: { run } })).rejects.toMatchObject({ _tag: 'StaleContext' })
    expect(await shown(playing.chat)).toEqual(['user: Is it here?'])
  })
})

describe('a cancel', () => {
  it('ends the call of the model', async () => {
    const said: Said[] = []
    const { chat, turn } = await scene(said)
    said.push(async () => {
      await chat.cancel({ by: 'kim', reason: 'wrong file' })
      return new Promise<never>(() => {})
    }, yes)
    await expect(turn()).rejects.toMatchObject({
      _tag: 'TurnCancelled',
      by: 'kim',
      reason: 'wrong file',
      conversation: 'c',
    })
    expect(await turn()).toMatchObject({ calls: 1 })
  })

  it('aborts running tools, and their calls get an error result', async () => {
    const { chat, turn } = await scene([{ content: [toolUse('a')] }, yes])
    const run = async (_: unknown, { signal }: { readonly signal: AbortSignal }) => {
      const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve))
      await chat.cancel()
      await aborted
    }
    await expect(turn({ run: { run } })).rejects.toMatchObject({ _tag: 'TurnCancelled' })
    expect((await shown(chat)).at(-1)).toBe('user: tool_result')
    expect(await turn()).toMatchObject({ calls: 1 })
  })

  it('of nothing cancels nothing that begins later', async () => {
    const { chat, turn } = await scene([yes])
    await chat.cancel()
    expect(await turn()).toMatchObject({ calls: 1 })
    const { chat: other } = await scene([yes])
    await expect(other.cancel({ by: '' })).rejects.toMatchObject({ _tag: 'InvalidInput', path: 'by' })
  })

  it('heeds a cancel that was recorded between two calls of the model', async () => {
    const { chat, turn } = await scene([{ content: [toolUse('a')] }, () => new Promise<never>(() => {})])
    const run = async () => {
      void chat.cancel()
      return 'done'
    }
    await expect(turn({ run: { run } })).rejects.toMatchObject({ _tag: 'TurnCancelled' })
  })
})

describe('what came of a reply that is interrupted', () => {
  it('is kept before the message with keepPartial, and its calls say that they were not run', async () => {
    const long: ApiReply = {
      content: [text('Whole.'), toolUse('a'), text('Never said.')],
      fault: { kind: 'stall', after: 9 },
    }
    const playing = await scene([long, answer('To both.')])
    let isSaid = false
    const onEvent = ({ type }: { readonly type: string }): void => {
      if (type !== 'content_block_stop' || isSaid) return
      isSaid = true
      void playing.chat.say(user('Wait.'), { whileBusy: 'interrupt' })
    }
    expect(await playing.turn({ keepPartial: true, onEvent })).toMatchObject({ calls: 2 })
    const lines = await shown(playing.chat)
    expect(lines[1]).toMatch(/^assistant: Whole\./)
    expect(lines.slice(-2)).toEqual(['user: Wait.', 'assistant: To both.'])
    await sound(playing)
  })
})

describe('a named message', () => {
  it('that is repeated is said once, whether it waits, was moved, or was appended', async () => {
    const again = { commandId: 'said-once' }
    const playing = await during(async (chat) => {
      const first = await chat.say(user('Wait.'), again)
      expect(first).toMatchObject({ status: 'queued' })
      expect(await chat.say(user('Wait.'), again)).toEqual(first)
    })
    await playing.turn()
    const position = (await playing.chat.effective()).at(-2)?.position
    expect(await playing.chat.say(user('Wait.'), again)).toMatchObject({ status: 'recorded', position })
    expect(await playing.chat.say(user('Wait.'), { ...again, whileBusy: 'reject' })).toMatchObject({
      position,
    })
    expect((await shown(playing.chat)).filter((line) => line === 'user: Wait.')).toHaveLength(1)
    await sound(playing)
  })
})

it('what is no message of the user is refused', async () => {
  const { chat } = await scene([yes])
  for (const [message, path] of [
    [{ role: 'assistant', content: 'Yes.' }, 'messages[0]'],
    [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a' }] }, 'messages[0]'],
    [[], 'messages'],
    [{ role: 'user', content: '' }, 'messages[0].content'],
    [{ role: 'user', content: ' \n' }, 'messages[0].content'],
  ] as const)
    await expect(chat.say(message as never)).rejects.toMatchObject({ _tag: 'InvalidInput', path })
  await expect(chat.say(user('So?'), { whileBusy: 'later' as never })).rejects.toMatchObject({
    _tag: 'InvalidInput',
    path: 'whileBusy',
  })
})

describe('while a call waits for somebody’s approval', () => {
  const pay = { ...toolUse('a'), name: 'pay' }
  const run = { pay: { run: () => 'paid', approve: true }, look: { run: () => 'seen' } }
  const tools = ['pay', 'look'].map((name) => ({ name, input_schema: { type: 'object' } }))

  it('what the user says is appended, and denies it', async () => {
    const playing = await scene([{ content: [pay] }, yes])
    expect(await playing.turn({ tools, run })).toMatchObject({ ended: 'waiting' })
    expect(await playing.chat.say(user('Never mind.'))).toMatchObject({ status: 'recorded' })
    expect(await playing.turn({ tools, run })).toMatchObject({ calls: 1 })
    expect(JSON.stringify(await playing.chat.effective())).toContain('denied')
    await sound(playing)
  })

  it('what was said before it waited comes after its result, and denies nothing', async () => {
    const playing = await during((chat) => chat.say(user('Wait.')), { content: [pay] })
    expect(await playing.turn({ tools, run })).toMatchObject({ ended: 'waiting' })
    expect(await playing.chat.queued()).toMatchObject([{ messages: [user('Wait.')] }])
    await playing.chat.approve('a', { by: 'ann' })
    expect(await playing.chat.say(user('Please.'))).toMatchObject({ status: 'queued' })
    await playing.turn({ tools, run })
    expect(await shown(playing.chat)).toEqual([
      'user: Is it there?',
      'assistant: tool_use',
      'user: tool_result',
      'user: Wait.',
      'user: Please.',
      'assistant: And that.',
    ])
    expect(JSON.stringify(await playing.chat.effective())).toContain('paid')
    await sound(playing)
  })
})

it('what is said without waiting comes in the order in which it was said', async () => {
  const store = await openStore(`sqlite:${join(temporaryFolder(), 'said.db')}`)
  const chat = store.conversation('c')
  await chat.append(user('Go on.'))
  const words = Array.from({ length: 30 }, (_, i) => `m${i}`)
  await Promise.all(words.map((word) => chat.say(user(word))))
  const queued = (await chat.queued()).flatMap(({ messages }) => messages.map(({ content }) => content))
  expect(queued).toEqual(words)
  await store.close()
})
