import { expect, test } from 'vitest'
import { storeOn } from '../../../../src/api/open.ts'
import { memoryStore } from '../../../../src/store/memory/store.ts'
import { chatsOf } from '../../../../src/agent/workers/serving/give.ts'

const { conversation } = storeOn(memoryStore(), { kind: 'test' })

test('a worker keeps the conversations that it had last, as long as together they are small enough', () => {
  const chats = chatsOf(conversation, 20_000)
  const [a, b, c] = [chats.of('a'), chats.of('b'), chats.of('c')]
  chats.keep(a, 5_000)
  chats.keep(b, 5_000)
  chats.keep(a, 5_000)
  expect(chats.of('a')).toBe(a)
  chats.keep(c, 5_000)
  expect([chats.of('a') === a, chats.of('b') === b, chats.of('c') === c]).toEqual([true, false, true])
})

test('it keeps none that is too large alone', () => {
  const chats = chatsOf(conversation, 20_000)
  const [a, b] = [chats.of('a'), chats.of('b')]
  chats.keep(a, 30_000)
  expect(chats.of('a')).not.toBe(a)
  chats.keep(b, 5_000)
  expect(chats.of('b')).toBe(b)
})
