import { join } from 'node:path'
import { copyConversations, openStore } from 'palimpsest'
import { describe, expect, test } from 'vitest'
import { texts } from '../../../src/testing/contract/support.ts'
import { right } from '../../support/either.ts'
import { administrator, openedPostgres } from '../../support/postgres/admin.ts'
import { noPostgres, whySkipped } from '../../support/postgres/programs.ts'
import { newSchema, postgresUrl } from '../../support/postgres/shared.ts'
import { opened, temporaryFolder } from '../../support/stores.ts'

const said = (content: string) => ({ role: 'user', content }) as const

describe.skipIf(noPostgres !== undefined)(`conversations on PostgreSQL${whySkipped}`, () => {
  test('are copied from a file and into a file to the byte, and again without a change', async () => {
    const [file, back] = [1, 2].map((n) => `sqlite:${join(temporaryFolder(), `${n}.db`)}`) as [string, string]
    const url = await postgresUrl()
    const source = await opened(file)
    const chat = source.conversation('a')
    await chat.append([said('“one” \u{1F60A} \u0000'), said('x'.repeat(100_000))])
    await chat.truncate({ keepLast: 1, keepFirst: 0 })
    await chat.note({ kind: 'title', data: 'A title' })
    await (await chat.fork('b')).append(said('else'))
    for (const [from, to] of [
      [file, url],
      [url, back],
      [file, url],
    ] as const)
      await copyConversations({ from, to })
    const [first, middle, last] = await Promise.all([file, url, back].map(opened))
    const one = await first?.conversation('a').effective()
    const two = await middle?.conversation('a').effective()
    const three = await last?.conversation('a').effective()
    expect(two).toEqual(one)
    expect(three).toEqual(one)
    const stored = await openedPostgres(url)
    const range = { stream: 'conversation-a', from: 0, direction: 'forwards', limit: 100 } as const
    expect(right(await stored.read(range)())).toHaveLength(3)
    expect(await middle?.conversation('b').verify()).toMatchObject({ conversation: 'b' })
    expect(await middle?.conversations()[Symbol.asyncIterator]().next()).toMatchObject({ value: { id: 'b' } })
    expect(right(await stored.read(range)()).map(texts).length).toBe(3)
  })

  test('are erased from the rows and from the files of the tables', async () => {
    const schema = newSchema()
    const store = await opened(await postgresUrl(schema))
    const chat = store.conversation('a')
    await chat.append([
      said('the needle in the hay'),
      said('the needle in large '.repeat(5_000)),
      said('stays'),
    ])
    await chat.erase({ positions: [0, 1], by: 'ann', reason: 'request 17' })
    expect(await chat.verify()).toMatchObject({ erased: 2 })
    const admin = await administrator()
    const { rows } = await admin.query(
      `SELECT (SELECT count(*)::int FROM ${schema}.events WHERE data LIKE '%needle%') AS events,
        
         (SELECT count(*)::int FROM ${schema}.events WHERE data LIKE '%stays%') AS kept`,
    )
    expect(rows).toEqual([{ events: 0, kept: 1 }])
  })

  test('that do not exist yet begin with the first write, and backup names the database’s tool', async () => {
    const url = await postgresUrl()
    await expect(openStore(url, { create: false })).rejects.toMatchObject({ _tag: 'StoreNotFound' })
    const store = await openStore(url, { create: 'late' })
    await store.conversation('a').append(said('hello'))
    expect(await (await opened(url)).conversation('a').effective()).toHaveLength(1)
    await expect(store.backup('x.db')).rejects.toMatchObject({ message: expect.stringContaining('pg_dump') })
    await store.close()
  })
})
