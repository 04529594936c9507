import { join } from 'node:path'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { openStore, tool } from '../../src/index.ts'
import { atEnd } from '../support/at-end.ts'
import { opus, start } from '../support/messages-api/client.ts'
import { temporaryFolder } from '../support/stores.ts'

it('a call whose input was erased is not carried out in a fork from before its result', async () => {
  const store = await openStore(`sqlite:${join(temporaryFolder(), 'store.db')}`)
  atEnd(store.close)
  const chat = store.conversation('task-42')
  const input = { path: '/tmp/x' }
  await chat.append([
    { role: 'user', content: 'Remove /tmp/x.' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'rm', input }] },
  ])
  const before = await chat.fork('before')
  await chat.append({
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 'c', content: 'Removed.' }],
  })
  await chat.erase({ by: 'ann' })
  const removed: string[] = []
  const rm = tool({
    name: 'rm',
    description: 'Removes a file, or else everything.',
    input: z.object({ path: z.string().default('/') }),
    run: ({ path }) => {
      removed.push(path)
      return 'Removed.'
    },
  })
  const { client } = await start({ reply: () => ({ content: [{ type: 'text', text: 'Done.' }] }) })
  for (const fork of [before, await chat.fork('after', { at: 1 })]) {
    await fork.turn({ client, model: opus, tools: [rm] })
    expect((await fork.effective()).at(-2)).toMatchObject({
      content: [{ type: 'tool_result', is_error: true, content: expect.stringContaining('was erased') }],
    })
  }
  expect(removed).toEqual([])
})
