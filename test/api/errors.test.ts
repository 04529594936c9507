import { expect, test } from 'vitest'
import { isError, openStore } from 'palimpsest'
import { openStore as openTaskStore } from 'palimpsest/fp'
import { atEnd } from '../support/at-end.ts'
import { left, right } from '../support/either.ts'

test('isError without a tag is true for every error of the library, thrown or returned, and for nothing else', async () => {
  const store = await openStore('memory:')
  const tasks = right(await openTaskStore('memory:')())
  atEnd(store.close, tasks.close())
  const thrown: unknown = await store
    .conversation('a')
    .position()
    .catch((error: unknown) => error)
  const returned: unknown = left(await tasks.conversation('a').position()())
  for (const error of [thrown, returned]) {
    expect(isError(error)).toBe(true)
    expect(isError(error, 'ConversationNotFound')).toBe(true)
    expect(isError(error, 'StaleContext')).toBe(false)
  }
  const others = [
    undefined,
    'text',
    {},
    new Error('x'),
    { _tag: 'A' },
    Object.assign(new Error('x'), { _tag: 'A' }),
  ]
  expect(others.filter((other) => isError(other))).toEqual([])
})
