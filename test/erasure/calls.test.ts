import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { openStore, tool } from '../../src/index.ts'
import { atEnd } from '../support/at-end.ts'
import { opus, start } from '../support/messages-api/client.ts'
import { temporaryFolder } from '../support/stores.ts'

const asked = [
  { role: 'user', content: 'Remove /tmp/x.' },
  { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'rm', input: { path: '/tmp/x' } }] },
] as const

const scene = async () => {
  const store = await openStore(`sqlite:${join(temporaryFolder(), 'store.db')}`)
  atEnd(store.close)
  const removed: string[] = []
  const rm = (approve: boolean) =>
    tool({
      name: 'rm',
      description: 'Removes a file, or else everything.',
      input: z.object({ path: z.string().default('/') }),
      approve,
      run: ({ path }) => {
        removed.push(path)
        return 'Removed.'
      },
    })
  return { chat: store.conversation('task-42'), rm, removed }
}
const wasErased = {
  content: [{ type: 'tool_result', is_error: true, content: expect.stringContaining('was erased') }],
}

it('a call whose input was erased is not carried out in a fork from before its result', async () => {
  const { chat, rm, removed } = await scene()
  await chat.append(asked)
  const before = await chat.fork('before')
  await chat.append({
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 'c', content: 'Removed.' }],
  })
  await chat.erase({ by: 'ann' })
  const { client } = await start({ reply: () => ({ content: [{ type: 'text', text: 'Done.' }] }) })
  for (const fork of [before, await chat.fork('after', { at: 1 })]) {
    await fork.turn({ client, model: opus, tools: [rm(false)] })
    expect((await fork.effective()).at(-2)).toMatchObject(wasErased)
  }
  expect(removed).toEqual([])
})

describe('a call without a result', () => {
  it.each([{}, { positions: [1] }])(
    'is erased with %j if no turn made it, as in a session that was interrupted, and is not carried out later',
    async (options) => {
      const { chat, rm, removed } = await scene()
      await chat.append(asked)
      await chat.erase({ by: 'ann', ...options })
      expect(JSON.stringify((await chat.full())[1])).not.toContain('/tmp/x')
      const { client } = await start({ reply: () => ({ content: [{ type: 'text', text: 'Done.' }] }) })
      await chat.turn({ client, model: opus, tools: [rm(false)] })
      expect((await chat.effective()).at(-2)).toMatchObject(wasErased)
      expect(removed).toEqual([])
    },
  )

  it('is not erased while a turn may carry it out: once the conversation is rewound to before it, it is', async () => {
    const { chat, rm } = await scene()
    await chat.append(asked[0])
    const { client } = await start({ reply: () => ({ content: [...asked[1].content] }) })
    const { waiting } = await chat.turn({ client, model: opus, tools: [rm(true)] })
    expect(waiting).toHaveLength(1)
    const { position } = (await chat.effective()).at(-1) ?? {}
    for (const options of [{}, { positions: [position ?? 0] }])
      await expect(chat.erase({ by: 'ann', ...options })).rejects.toMatchObject({
        _tag: 'CannotErase',
        message: expect.stringMatching(/call c of .*: let a turn answer it, or rewind to before it/),
      })
    expect(JSON.stringify(await chat.full())).toContain('/tmp/x')
    await chat.rewind({ to: 0 })
    await chat.erase({ by: 'ann' })
    expect(JSON.stringify(await chat.full())).not.toContain('/tmp/x')
  })
})
