import { once } from 'node:events'
import { join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import { describe, expect, it } from 'vitest'
import { openStore, type Conversation } from '../../../src/index.ts'
import { promiseStore } from '../../../src/api/promises.ts'
import { storeOn, taskStore } from '../../../src/api/open.ts'
import type { ApiReply } from '../../../src/testing/messages-api/replies.ts'
import { messagesApi } from '../../../src/testing/messages-api/server.ts'
import { atEnd } from '../../support/at-end.ts'
import { text, toolUse } from '../../support/log.ts'
import { start } from '../../support/node.ts'
import { somewhere, temporaryFolder } from '../../support/stores.ts'

const user = (content: string) => ({ role: 'user' as const, content })

/** Two handles of one conversation, in stores that know nothing of each other. */
type Two = () => Promise<readonly [turning: Conversation, speaking: Conversation]>
const inSqlite: Two = async () => {
  const url = `sqlite:${join(temporaryFolder(), 'store.db')}`
  const [one, other] = [await openStore(url), await openStore(url)]
  atEnd(one.close, other.close)
  return [one.conversation('c'), other.conversation('c')]
}
const inEventStore: Two = async () => {
  const place = await somewhere()
  const open = async (): Promise<Conversation> => {
    const store = promiseStore(taskStore(storeOn(await place.open(), { kind: 'program' })))
    atEnd(store.close)
    return store.conversation('c')
  }
  return [await open(), await open()]
}

const never = new Promise<never>(() => {})

/** A turn whose first reply is held up while somebody speaks elsewhere. */
const playing = async (
  two: Two,
  speak: (chat: Conversation) => Promise<unknown>,
  first: ApiReply | 'never',
) => {
  const [chat, other] = await two()
  const api = await messagesApi({
    reply: async (_, n) => {
      if (n > 0) return { content: [text('So.')] }
      await speak(other)
      return first === 'never' ? never : first
    },
  })
  atEnd(api.close)
  await chat.append(user('Is it there?'))
  const client = new Anthropic({ baseURL: api.url, apiKey: 'key', maxRetries: 0 })
  const shown = async () =>
    (await other.effective()).map((item) =>
      item.kind === 'message'
        ? JSON.stringify(item.content[0]?.['text'] ?? item.content[0]?.type)
        : item.kind,
    )
  return { shown, turn: () => chat.turn({ client, model: 'claude-opus-5-5', run: { run: () => 'done' } }) }
}

describe.each([
  ['an SQLite file', inSqlite],
  ['EventStoreDB', inEventStore],
])('with two processes’ handles on %s', (_, two) => {
  it('a queued message comes after the results of the reply', async () => {
    const { turn, shown } = await playing(two, (chat) => chat.say(user('Wait.')), { content: [toolUse('a')] })
    expect(await turn()).toMatchObject({ calls: 2 })
    expect(await shown()).toEqual(['"Is it there?"', '"tool_use"', '"tool_result"', '"Wait."', '"So."'])
  })

  it('a message that interrupts ends the call of the model, and both are answered', async () => {
    const speak = (chat: Conversation) => chat.say(user('Wait.'), { whileBusy: 'interrupt' })
    const { turn, shown } = await playing(two, speak, 'never')
    expect(await turn()).toMatchObject({ calls: 2 })
    expect(await shown()).toEqual(['"Is it there?"', '"Wait."', '"So."'])
  })

  it('a rollback ends the turn', async () => {
    const speak = (chat: Conversation) => chat.say(user('Is it here?'), { whileBusy: 'rollback' })
    const { turn, shown } = await playing(two, speak, 'never')
    await expect(turn()).rejects.toMatchObject({ _tag: 'StaleContext' })
    expect(await turn()).toMatchObject({ calls: 1 })
    expect(await shown()).toEqual(['"Is it here?"', '"So."'])
  })

  it('a cancel ends the turn', async () => {
    const { turn } = await playing(two, (chat) => chat.cancel({ by: 'kim' }), 'never')
    await expect(turn()).rejects.toMatchObject({ _tag: 'TurnCancelled', by: 'kim' })
    expect(await turn()).toMatchObject({ calls: 1 })
  })
})

it('a speaker that is killed and repeats itself is heard once, in order, and loses no reply', async () => {
  const url = `sqlite:${join(temporaryFolder(), 'store.db')}`
  const store = await openStore(url)
  const api = await messagesApi({ reply: (_, n) => ({ content: [text(`reply-${n}.`)] }) })
  atEnd(api.close, store.close)
  const chat = store.conversation('c')
  const client = new Anthropic({ baseURL: api.url, apiKey: 'key', maxRetries: 0 })
  const turn = () =>
    chat.turn({ client, model: 'claude-opus-5-5', maxCalls: 5 }).then(
      () => '',
      ({ _tag }: { readonly _tag: string }) => _tag,
    )
  await chat.append(user('Count.'))
  let next = 0
  for (let kills = 0; kills < 3; kills++) {
    const child = start('agent/turn/children/sayer.ts', url, String(next))
    const closed = once(child, 'close')
    let isOver = false
    child.stdout?.on('data', (chunk: Buffer) => {
      next = Number(chunk.toString().trim().split('\n').at(-1)) + 1
      if (next > (kills + 1) * 15 && !isOver) isOver = child.kill('SIGKILL')
    })
    while (!isOver) expect(['', 'NothingToAnswer', 'TooManyCalls']).toContain(await turn())
    await closed
  }
  while ((await turn()) !== 'NothingToAnswer');
  expect(await chat.queued()).toEqual([])
  const shown = (await chat.effective()).map((item) => JSON.stringify(item)).join('\n')
  const words = [...shown.matchAll(/word-(\d+)\./g)].map(([, n]) => Number(n))
  // One more may have been said before the last kill.
  expect(words).toEqual(words.map((_, index) => index))
  expect(words.length).toBeGreaterThanOrEqual(next)
  for (let n = 0; n < api.requests.length; n++) expect(shown.split(`"reply-${n}."`)).toHaveLength(2)
  expect((await chat.verify()).discrepancy).toBeUndefined()
})

it('what was queued while a turn’s process was killed is answered by the next one', async () => {
  const url = `sqlite:${join(temporaryFolder(), 'store.db')}`
  const store = await openStore(url)
  const { promise: asked, resolve: isAsked } = Promise.withResolvers<void>()
  const api = await messagesApi({
    reply: (_, n) => {
      if (n > 0) return { content: [text('So.')] }
      isAsked()
      return never
    },
  })
  atEnd(api.close, store.close)
  const chat = store.conversation('c')
  await chat.append(user('Is it there?'))
  const child = start('agent/turn/children/turn.ts', url, api.url, join(temporaryFolder(), 'told.txt'))
  await asked
  expect(await chat.say(user('Wait.'))).toMatchObject({ status: 'queued' })
  child.kill('SIGKILL')
  await once(child, 'close')
  const client = new Anthropic({ baseURL: api.url, apiKey: 'key' })
  expect(await chat.turn({ client, model: 'claude-opus-5-5' })).toMatchObject({ calls: 1 })
  expect((await chat.effective()).map((item) => (item.kind === 'message' ? item.content : []))).toEqual([
    [text('Is it there?')],
    [text('Wait.')],
    [text('So.')],
  ])
  expect(await chat.queued()).toEqual([])
})
