import { existsSync, readFileSync } from 'node:fs'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Anthropic from '@anthropic-ai/sdk'
import { expect, it } from 'vitest'
import { openStore } from '../../../src/index.ts'
import { text, toolUse } from '../../support/log.ts'
import { messagesApi } from '../../../src/testing/messages-api/server.ts'
import { start } from '../../support/node.ts'
import { temporaryFolder } from '../../support/stores.ts'

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

  const child = start('agent/turn/children/turn.ts', url, api.url, file)
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

it('processes that are killed at any moment, one after the other: no unsafe tool runs twice, every call has one result, and every receipt is true', async () => {
  const folder = temporaryFolder()
  const [url, file] = [`sqlite:${join(folder, 'store.db')}`, join(folder, 'told.txt')]
  const told = (): readonly string[] =>
    existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').filter(Boolean) : []
  const api = await messagesApi({
    reply: (_, n) => ({
      content:
        n < 6
          ? ['save', 'pay', 'gift'].map((name) => ({ ...toolUse(`${name}-${n}`), name }))
          : [text('Done.')],
    }),
  })
  const first = await openStore(url)
  await first.conversation('c').append({ role: 'user', content: 'Do it all.' })
  await first.close()
  // Each lives until a certain number of things were done.
  for (let n = 1; n <= 3; n++) {
    const child = start('agent/turn/children/steered.ts', url, api.url, file)
    const closed = once(child, 'close')
    const wanted = told().length + n
    while (told().length < wanted && child.exitCode === null) await sleep(1)
    await sleep(n)
    child.kill('SIGKILL')
    await closed
  }
  await once(start('agent/turn/children/steered.ts', url, api.url, file), 'close')

  const store = await openStore(url)
  const chat = store.conversation('c')
  const unsafe = told().filter((line) => !line.startsWith('save'))
  expect(new Set(unsafe).size).toBe(unsafe.length)
  const blocks = (await chat.effective()).flatMap((item) => (item.kind === 'message' ? item.content : []))
  const results = blocks.filter(({ type }) => type === 'tool_result')
  const made = blocks.flatMap((block) => (block.type === 'tool_use' ? [block['id']] : []))
  expect(made.length).toBeGreaterThan(0)
  expect(new Set(results.map((result) => result['tool_use_id']))).toEqual(new Set(made))
  expect(results).toHaveLength(made.length)
  for (const result of results.filter(({ content }) => String(content).includes(' done')))
    expect(told().some((line) => line.endsWith(`/${String(result['tool_use_id'])}`))).toBe(true)
  expect(await chat.verifyReceipts()).toMatchObject({ findings: [] })
  expect(api.requests.map(({ status }) => status)).toEqual(api.requests.map(() => 200))
  expect((await chat.verify()).discrepancy).toBeUndefined()
  await store.close()
  await api.close()
})
