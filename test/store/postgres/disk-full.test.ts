import { createHash, randomBytes } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import { describe, expect, test } from 'vitest'
import type { EventStore } from '../../../src/store/port.ts'
import { event } from '../../../src/testing/contract/support.ts'
import { atEnd } from '../../support/at-end.ts'
import { left, right } from '../../support/either.ts'
import { openedPostgres } from '../../support/postgres/admin.ts'
import { externalUrl, noPostgres, whySkipped } from '../../support/postgres/programs.ts'
import { startPostgres } from '../../support/postgres/server.ts'
import { patientPostgres } from '../../support/postgres/shared.ts'

const isOwn = noPostgres === undefined && externalUrl === undefined

const infoOf = async ({ blobs }: EventStore, hash: string): Promise<unknown> => {
  if (!blobs.info) throw new Error('it has no info')
  return right(await blobs.info(hash)())
}

describe.skipIf(!isOwn)(`a PostgreSQL server without space for its tables${whySkipped}`, () => {
  test('is StoreFull: nothing of the append is there, reads go on, and so do appends once there is space', async () => {
    const server = await startPostgres([], 4 * 1024 * 1024)
    atEnd(server.remove)
    const store = await openedPostgres(server.url('palimpsest', patientPostgres))
    const large = () => event(randomBytes(250_000).toString('base64'))
    let count = 0
    const append = (one = event()) => store.append({ stream: 'a', events: [one], expected: count - 1 })()
    let last = await append()
    for (; E.isRight(last) && count < 60; last = await append(large())) count++
    expect(left(last)).toMatchObject({ _tag: 'StoreFull' })
    expect(count).toBeGreaterThan(5)
    const read = (from: number) => store.read({ stream: 'a', from, direction: 'forwards', limit: 5 })()
    expect(right(await read(count))).toEqual([])
    expect(right(await read(0))).not.toEqual([])

    const chunks = Array.from({ length: 10 }, () => randomBytes(512 * 1024))
    const hash = createHash('sha256').update(Buffer.concat(chunks)).digest('hex')
    expect(left(await store.blobs.put(hash, chunks)())).toMatchObject({ _tag: 'StoreFull' })
    expect(await infoOf(store, hash)).toBeUndefined()

    await server.end('SIGINT')
    await server.start()
    expect(right(await append(large()))).toBe('written')
    right(await store.blobs.put(hash, chunks)())
    expect(await infoOf(store, hash)).toMatchObject({ bytes: 10 * 512 * 1024 })
  })
})
