import { setImmediate as immediate } from 'node:timers/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openStore, type Store } from '../../src/index.ts'
import { atEnd } from '../support/at-end.ts'
import { temporaryFolder } from '../support/stores.ts'

const opened = async (file: string): Promise<Store> => {
  const store = await openStore(`sqlite:${file}`)
  atEnd(store.close)
  return store
}

describe('what others write during an erasure', () => {
  it('is not erased: a call still has its input, and a queued message its words', async () => {
    const file = join(temporaryFolder(), 'store.db')
    const chat = (await opened(file)).conversation('task-42')
    const other = (await opened(file)).conversation('task-42')
    await chat.append(
      Array.from({ length: 2_000 }, (_, n) => ({ role: 'user' as const, content: `Message ${n}.` })),
    )
    const erasure = chat.erase({ by: 'ann' })
    // The erasure writes its first record when it is half done.
    for (let isBegun = false; !isBegun;) {
      for await (const { type } of other.events({ from: 2_000 })) isBegun ||= type === 'Erased'
      await immediate()
    }
    const call = { type: 'tool_use' as const, id: 'c', name: 'rm', input: { path: '/tmp/x' } }
    await other.append({ role: 'assistant', content: [call] })
    await other.say({ role: 'user', content: 'Wait.' }, { whileBusy: 'enqueue' })
    expect((await erasure).positions).toHaveLength(2_000)
    expect((await other.effective()).at(-1)).toMatchObject({ content: [call] })
    expect(await other.queued()).toMatchObject([{ messages: [{ content: 'Wait.' }] }])
    expect((await other.verify()).discrepancy).toBeUndefined()
  })
})
