import { openStore } from 'palimpsest'
import { expect, test } from 'vitest'
import { collect } from '../support/eventstoredb/client.ts'
import { stores } from '../support/stores.ts'

// Stores end a page early whose events are large: it is no sign that the stream ends.

const said = (length: number, count: number) =>
  Array.from({ length: count }, (_, n) => ({ role: 'user' as const, content: `${n} `.padEnd(length, 'x') }))

test.each(Object.keys(stores))(
  'on %s, a few large messages are verified and listed, all of them',
  async (kind) => {
    const store = await openStore(await (stores[kind] as (typeof stores)[string])())
    for (const [id, length] of [
      ['small', 1_000],
      ['middle', 10_000],
      ['large', 30_000],
    ] as const) {
      const chat = store.conversation(id)
      await chat.append(said(length, 15))
      await chat.append(said(length, 15))
      await chat.note({ kind: 'title', data: id })
      expect(await chat.verify()).toEqual({ conversation: id, events: 30, notes: 1 })
    }
    const listed = await collect(store.conversations())
    expect(Object.fromEntries(listed.map(({ id, events }) => [id, events]))).toEqual({
      small: 30,
      middle: 30,
      large: 30,
    })
    await store.close()
  },
)
