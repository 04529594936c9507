import { existsSync, readFileSync } from 'node:fs'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Anthropic from '@anthropic-ai/sdk'
import { expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { text, toolUse } from '../support/log.ts'
import { messagesApi } from '../../src/testing/messages-api/server.ts'
import { start } from '../support/node.ts'
import { temporaryFolder } from '../support/stores.ts'

const calls = ['read', 'write', 'hang'].map((name) => ({ ...toolUse(name), name }))
const tools = calls.map(({ name }) => ({ name, input_schema: { type: 'object' } }))

it('a process that is killed between calls and results: the next one continues, and runs twice only idempotent tools', async () => {
  const folder = temporaryFolder()
  const [url, file] = [`sqlite:${join(folder, 'store.db')}`, join(folder, 'told.txt')]
  const told = (): string => (existsSync(file) ? readFileSync(file, 'utf8') : '')
  const api = await messagesApi({ reply: (_, n) => ({ content: n === 0 ? calls : [text('Done.')] }) })
  const first = await openStore(url)
  await first.conversation('c').configure({ tools })
  await first.conversation('c').append({ role: 'user', content: 'Read, and write.' })
  await first.close()

  const child = start('context/children/turn.ts', url, api.url, file)
  while (!told().includes('hang')) await sleep(10)
  child.kill('SIGKILL')
  await once(child, 'close')

  const store = await openStore(url)
  const chat = store.conversation('c')
  let read = 0
  const never = (): string => {
    throw new Error('ran twice')
  }
  const turned = await chat.turn({
    client: new Anthropic({ baseURL: api.url, apiKey: 'key' }),
    model: 'claude-opus-5-5',
    run: { read: { run: () => `${++read}`, idempotent: true }, write: never, hang: never },
  })
  expect(turned).toMatchObject({ content: [text('Done.')], calls: 1 })
  expect(told().trim().split('\n').toSorted()).toEqual(['hang', 'read', 'write'])
  expect(read).toBe(1)
  const interrupted = { is_error: true, content: expect.stringContaining('interrupted') }
  expect((await chat.effective()).at(-2)).toMatchObject({
    content: [{ tool_use_id: 'read', content: '1' }, interrupted, interrupted],
  })
  expect(await chat.verifyReceipts()).toMatchObject({ receipts: 2, findings: [] })
  expect(api.requests.map(({ status }) => status)).toEqual([200, 200])
  await store.close()
  await api.close()
})
