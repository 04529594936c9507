import { describe, expect, test } from 'vitest'
import { storeOn } from '../../src/api/open.ts'
import type { ConversationHandle } from '../../src/conversation/conversation.ts'
import type { ConversationEvent } from '../../src/events/events.ts'
import { run } from '../../src/result/fallible.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { counting } from '../support/counting.ts'
import { right } from '../support/either.ts'

const messages = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ role: 'user' as const, content: `Is ${n} there?` }))

/** A fork of a conversation of three messages, with so many of its own, and how often its store is asked. */
const fork = async (own: number) => {
  const { store, asked } = counting(memoryStore())
  const { conversation } = storeOn(store, { kind: 'test' })
  right(await conversation('a').append(messages(3))())
  right(await conversation('a').fork('b')())
  right(await conversation('b').append(messages(own))())
  return { chat: conversation('b'), asked, conversation }
}
const eventsOf = async (chat: ConversationHandle): Promise<readonly ConversationEvent[]> => {
  const events: ConversationEvent[] = []
  for await (const event of chat.events()) events.push(event)
  return events
}

describe('what comes after a position', () => {
  test.each([false, true])('is the rest of the log (the handle has read it before: %s)', async (isWarm) => {
    for (const own of [1, 2, 3, 4, 5, 9]) {
      const { chat, conversation } = await fork(own)
      const all = await eventsOf(chat)
      for (let position = -1; position < all.length; position++) {
        const handle = isWarm ? chat : conversation('b')
        expect(right(await run(handle.later(position)))).toEqual(all.slice(position + 1))
      }
    }
  })

  test('takes one read if that is little, and the handle has read the conversation before', async () => {
    const { chat, asked } = await fork(9)
    const { at } = right(await chat.context()())
    for (const few of [0, 1, 3]) {
      const before = asked()
      expect(right(await run(chat.later(at - few)))).toHaveLength(few)
      expect(asked() - before).toBe(1)
    }
  })

  test('a handle that knows that its conversation is no fork need not read its beginning', async () => {
    const { conversation, asked } = await fork(1)
    const chat = conversation('a')
    chat.isNoFork()
    const before = asked()
    expect(right(await run(chat.later(1)))).toHaveLength(1)
    expect(chat.positionOf(2)).toBe(2)
    expect(asked() - before).toBe(1)
  })
})
