import { expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { titleWithin } from '../../src/projections/titles.ts'
import { atEnd } from '../support/at-end.ts'
import { temporaryFolder } from '../support/stores.ts'

const user = (content: string) => ({ role: 'user' as const, content })
const on = (day: number) => ({ now: new Date(Date.UTC(2026, 0, day)) })

test.each(['memory:', 'sqlite:'])(
  'erasing is no activity, however often something is erased (%s)',
  async (kind) => {
    const store = await openStore(kind === 'sqlite:' ? `sqlite:${temporaryFolder()}/palimpsest.db` : kind)
    atEnd(store.close)
    const [short, long, recent] = [
      store.conversation('short'),
      store.conversation('long'),
      store.conversation('recent'),
    ]
    await short.append(user('Old words.'), on(1))
    for (let n = 0; n < titleWithin; n++) await long.append(user(`Word ${n}.`), on(2))
    await recent.append(user('New words.'), on(4))
    const fork = await short.fork('fork')
    await fork.append(user('More words.'), on(3))
    await short.erase({ by: 'ann' })
    for (let position = 0; position < titleWithin; position++)
      await long.erase({ positions: [position], by: 'ann' })
    await fork.erase({ positions: [2], by: 'ann' })
    const listed = async (sort?: 'activity') => {
      const days = new Map<string, string>()
      for await (const { id, updated } of store.conversations({ sort })) days.set(id, updated.slice(0, 10))
      return [...days]
    }
    const days = [
      ['recent', '2026-01-04'],
      ['fork', '2026-01-03'],
      ['long', '2026-01-02'],
      ['short', '2026-01-01'],
    ]
    expect(await listed('activity')).toEqual(days)
    expect(new Map(await listed())).toEqual(new Map(days as [string, string][]))
  },
)
