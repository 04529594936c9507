import { describe, expect, test } from 'vitest'
import type { Store } from '../../../src/index.ts'
import { ask, roles, scene, steps, until } from '../../support/workers/scene.ts'

const sessions = 340
const user = { role: 'user', content: 'Is it there?' }
const assistant = { role: 'assistant', content: 'Yes.' }

/** Old sessions; the last question of every tenth has no answer. */
const importAll = async (store: Store): Promise<readonly string[]> => {
  const ids = Array.from({ length: sessions }, (_, n) => `old${n}`)
  for (const [n, id] of ids.entries()) {
    const messages = n % 10 === 0 ? [user, assistant, user] : [user, assistant]
    await store.importSession({ text: JSON.stringify(messages), file: `${id}.json`, id })
  }
  return ids.filter((_, n) => n % 10 === 0)
}

describe('a worker that answers what somebody has asked for', () => {
  test('calls no model for imported sessions', async () => {
    const { store, worker, calls } = await scene()
    await importAll(store)
    worker()
    await store.conversation('new').append(ask, { answer: true })
    await until(async () => (await steps(store)).length === 0)
    expect(calls()).toBe(1)
    expect(await roles(store.conversation('new'))).toHaveLength(2)
  })
})

describe('workers that answer all', () => {
  test('answer each conversation that awaits the model once, imported or forked, before and after they begin', async () => {
    const { store, worker, calls, taken } = await scene()
    const awaiting = await importAll(store)
    const [first = ''] = awaiting
    await store.conversation(first).fork('fork')
    await store.conversation('old1').fork('finished')
    for (let n = 0; n < 2; n++) worker({ answerAll: true })
    const chats = [...awaiting, 'fork'].map((id) => store.conversation(id))
    await until(async () => (await Promise.all(chats.map(roles))).every((all) => all.at(-1) === 'assistant'))
    expect(calls()).toBe(chats.length)
    await store.conversation('later').append(ask)
    await until(async () => (await roles(store.conversation('later'))).length === 2)
    await store.conversation(first).rewind({ turns: 1 })
    await store.conversation(first).append(ask)
    await until(async () => (await roles(store.conversation(first))).length === 4)
    await until(() => taken.some(({ conversation }) => conversation === 'finished'))
    await until(async () => (await steps(store)).length === 0)
    expect(calls()).toBe(chats.length + 2)
  })

  test('let others see what they work on, and continue it', async () => {
    const gate = Promise.withResolvers<void>()
    let called = 0
    const { store, worker } = await scene(async () => {
      if (++called === 1) await gate.promise
      return { content: [{ type: 'text', text: 'Yes.' }] }
    })
    const chat = store.conversation('c')
    await chat.append(ask)
    const stop = worker({ answerAll: true, grace: 0 })
    await until(async () => (await steps(store))[0]?.state === 'claimed')
    expect(await steps(store)).toMatchObject([{ conversation: 'c', step: 'turns@1', attempt: 1, errors: [] }])
    await stop()
    worker()
    await until(async () => (await roles(chat)).length === 2)
    gate.resolve()
    await until(async () => (await steps(store)).length === 0)
    expect(await roles(chat)).toEqual(['user', 'assistant'])
  })
})
