import * as E from 'fp-ts/lib/Either.js'
import { expect, test, vi } from 'vitest'
import { onceFree } from '../../src/store/sqlite/lock.ts'
import type { StoreError } from '../../src/store/errors.ts'
import { atEnd } from '../support/at-end.ts'

const busy: StoreError = { _tag: 'StoreBusy', message: 'busy', store: 'sqlite:store.db', cause: undefined }

test('who waits for the write lock waits as long as it may, however the wall clock jumps', async () => {
  const hour = 3_600_000
  let now = Date.now()
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => (now += hour))
  atEnd(() => clock.mockRestore())
  let tries = 0
  const answer = await onceFree(60_000, () => (++tries < 5 ? E.left(busy) : E.right('free')))
  expect(answer).toEqual(E.right('free'))
})
