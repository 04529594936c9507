import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type AppendToStreamOptions,
  BACKWARDS,
  END,
  EventStoreDBClient,
  eventTypeFilter,
  jsonEvent,
  NO_STREAM,
  type Position,
  START,
  STREAM_EXISTS,
  streamNameFilter,
} from '@eventstore/db-client'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { failure } from '../../support/either.ts'
import {
  afterCount,
  collect,
  contents,
  event,
  eventOf,
  numbers,
  paths,
  persist,
  some,
  streamName,
  take,
} from '../../support/eventstoredb/client.ts'
import { type EventStoreDb, eventStoreDb } from '../../support/eventstoredb/server.ts'

// What a real EventStoreDB 24.2.0 was measured to do, through the real client. With PALIMPSEST_TEST_ESDB set to a
// URL these facts are checked on that server, which others may use meanwhile.
const external = process.env['PALIMPSEST_TEST_ESDB']

let shared: EventStoreDb | undefined
let client: EventStoreDBClient
beforeAll(async () => {
  shared = external === undefined ? await eventStoreDb() : undefined
  client = EventStoreDBClient.connectionString(external ?? shared?.url ?? '')
})
afterAll(async () => {
  await client.dispose()
  await shared?.close()
})

const byValue = (a: bigint, b: bigint): number => Number(a - b)
const read = (stream: string, options: Parameters<typeof client.readStream>[1] = {}): Promise<unknown[]> =>
  contents(client, stream, options)

describe.each(paths)('%s', (_path, path) => {
  const append = (
    stream: string,
    events: Parameters<typeof client.appendToStream>[1],
    expectedRevision?: NonNullable<AppendToStreamOptions['expectedRevision']>,
  ): ReturnType<typeof client.appendToStream> =>
    client.appendToStream(
      stream,
      events,
      expectedRevision === undefined ? path : { ...path, expectedRevision },
    )

  test('answers with the revision and the position of the last event', async () => {
    const stream = streamName()
    const first = await append(stream, some(3), NO_STREAM)
    expect(first).toMatchObject({ success: true, nextExpectedRevision: 2n })
    const second = await append(stream, event(3), 2n)
    expect(second.nextExpectedRevision).toBe(3n)
    expect(second.position?.commit).toBeGreaterThan(first.position?.commit ?? 0n)
    const [last] = await collect(client.readStream(stream, { fromRevision: 3n }))
    expect(last?.event?.position).toEqual(second.position)
  })

  test('NO_STREAM is refused where a stream is, with its true revision', async () => {
    const stream = streamName()
    await append(stream, some(3), NO_STREAM)
    expect(await failure(append(stream, event(3), NO_STREAM))).toMatchObject({
      type: 'wrong-expected-version',
      streamName: stream,
      expectedVersion: 'no_stream',
      actualVersion: 2n,
    })
  })

  test.each([0n, 3n])('revision %d is refused where the last one is 2', async (expected) => {
    const stream = streamName()
    await append(stream, some(3), NO_STREAM)
    expect(await failure(append(stream, event(3), expected))).toMatchObject({
      type: 'wrong-expected-version',
      expectedVersion: expected,
      actualVersion: 2n,
    })
    expect(await read(stream)).toEqual([0, 1, 2])
  })

  test('a revision is refused where no stream is', async () => {
    expect(await failure(append(streamName(), event(0), 0n))).toMatchObject({
      type: 'wrong-expected-version',
      actualVersion: 'no_stream',
    })
  })

  test('STREAM_EXISTS is refused where no stream is, and taken where one is', async () => {
    const stream = streamName()
    expect(await failure(append(stream, event(0), STREAM_EXISTS))).toMatchObject({
      type: 'wrong-expected-version',
      expectedVersion: 'stream_exists',
      actualVersion: 'no_stream',
    })
    await append(stream, event(0), NO_STREAM)
    expect(await append(stream, event(1), STREAM_EXISTS)).toMatchObject({ nextExpectedRevision: 1n })
  })

  test('of 20 concurrent appends at one revision exactly one wins', async () => {
    const stream = streamName()
    await append(stream, event(0), NO_STREAM)
    const results = await Promise.allSettled(some(20).map((next) => append(stream, next, 0n)))
    const refused = results.filter(({ status }) => status === 'rejected')
    expect(refused).toHaveLength(19)
    for (const result of refused)
      expect(result).toMatchObject({ reason: { type: 'wrong-expected-version', actualVersion: 1n } })
    expect(await read(stream)).toHaveLength(2)
  })

  test.each([
    ['the same revision', 0n],
    ['ANY', undefined],
  ])('the same ids again at %s write nothing and give the first answer', async (_title, expected) => {
    const stream = streamName()
    await append(stream, event(0), NO_STREAM)
    const events = some(2)
    const first = await append(stream, events, 0n)
    await append(stream, event(9), 2n)
    expect(await append(stream, events, expected)).toEqual(first)
    expect(await read(stream)).toEqual([0, 0, 1, 9])
  })

  test.each([
    ['the same revision', NO_STREAM],
    ['ANY', undefined],
  ] as const)('a known id before a new one is refused at %s', async (_title, expected) => {
    const stream = streamName()
    const known = event(0)
    await append(stream, known, NO_STREAM)
    expect(await failure(append(stream, [known, event(1)], expected))).toMatchObject({
      type: 'wrong-expected-version',
      actualVersion: 0n,
    })
    expect(await read(stream)).toEqual([0])
  })

  test('the same id is another event at another revision, and in another stream', async () => {
    const stream = streamName()
    const other = streamName()
    const repeated = event(0)
    await append(stream, repeated, NO_STREAM)
    await append(stream, repeated, 0n)
    await append(other, repeated)
    expect(await read(stream)).toEqual([0, 0])
    expect(await read(other)).toEqual([0])
  })

  test('an event of 1,000,000 bytes is taken', async () => {
    const stream = streamName()
    await append(stream, eventOf(1_000_000), NO_STREAM)
    expect(await read(stream)).toHaveLength(1)
  })

  test.each([
    ['an event of 1.2 MB', [1_200_000]],
    ['ten events of 500 KB in one call', Array.from({ length: 10 }, () => 500_000)],
  ])('%s are too much, and nothing is written', async (_title, sizes) => {
    const stream = streamName()
    expect(await failure(append(stream, sizes.map(eventOf), NO_STREAM))).toMatchObject({
      type: 'maximum-append-size-exceeded',
      maxAppendSize: 1_048_576,
    })
    expect(await failure(read(stream))).toMatchObject({ type: 'stream-not-found' })
  })

  test('1,000 events of one call are written together', async () => {
    const stream = streamName()
    expect(await append(stream, some(1_000), NO_STREAM)).toMatchObject({ nextExpectedRevision: 999n })
    expect(await read(stream)).toEqual(Array.from({ length: 1_000 }, (_, n) => n))
  })

  test('a tombstoned stream takes no more', async () => {
    const stream = streamName()
    await append(stream, event(0), NO_STREAM)
    await client.tombstoneStream(stream)
    expect(await failure(append(stream, event(1)))).toMatchObject({
      type: 'stream-deleted',
      streamName: stream,
    })
  })
})

describe('the client', () => {
  test('told not to throw, says of a failed batch append that the next revision is 1, whatever it is', async () => {
    const quiet = EventStoreDBClient.connectionString(
      `${external ?? shared?.url ?? ''}&throwOnAppendFailure=false`,
    )
    const stream = streamName()
    await quiet.appendToStream(stream, some(5), { expectedRevision: NO_STREAM })
    const refused = { success: false, nextExpectedRevision: 1n }
    expect(await quiet.appendToStream(stream, event(5), { expectedRevision: NO_STREAM })).toMatchObject(
      refused,
    )
    await quiet.dispose()
  })
})

describe('a read of a stream', () => {
  test('gives id, type, data, metadata, revision, time and position as they were written', async () => {
    const stream = streamName()
    const written = event(7)
    const before = Date.now()
    await client.appendToStream(stream, written)
    const [resolved] = await collect(client.readStream(stream))
    const { id, type, data, metadata } = written
    expect(resolved?.event).toMatchObject({ id, type, data, metadata, streamId: stream, isJson: true })
    expect(resolved?.event).toMatchObject({ revision: 0n, position: { commit: resolved?.commitPosition } })
    expect(Math.abs(Number(resolved?.event?.created) - before)).toBeLessThan(60_000)
  })

  test('keeps letters of every script in the stream name, the type, the data and the metadata', async () => {
    const stream = `${streamName()}-köln-東京-🏺`
    const type = 'Größe東京'
    await client.appendToStream(stream, jsonEvent({ type, data: { text: '🏺é' }, metadata: { who: 'Ω' } }))
    const [resolved] = await collect(client.readStream(stream))
    expect(resolved?.event).toMatchObject({
      streamId: stream,
      type,
      data: { text: '🏺é' },
      metadata: { who: 'Ω' },
    })
  })

  test.each([
    ['forwards from the start', {}, [0, 1, 2, 3, 4]],
    ['forwards from a revision', { fromRevision: 2n }, [2, 3, 4]],
    ['forwards with a limit', { fromRevision: 1n, maxCount: 2 }, [1, 2]],
    ['forwards from beyond the end', { fromRevision: 9n }, []],
    ['backwards from the end', { direction: BACKWARDS, fromRevision: END }, [4, 3, 2, 1, 0]],
    [
      'backwards from a revision, with a limit',
      { direction: BACKWARDS, fromRevision: 3n, maxCount: 2 },
      [3, 2],
    ],
    ['the last event alone', { direction: BACKWARDS, fromRevision: END, maxCount: 1 }, [4]],
  ] as const)('%s', async (_title, options, expected) => {
    const stream = streamName()
    await client.appendToStream(stream, some(5))
    expect(await read(stream, options)).toEqual(expected)
  })

  test('keeps the order, over many pages', async () => {
    const stream = streamName()
    for (let n = 0; n < 5_000; n += 1_000)
      await client.appendToStream(
        stream,
        some(1_000).map((_, index) => event(n + index)),
      )
    expect(await read(stream)).toEqual(Array.from({ length: 5_000 }, (_, n) => n))
  })

  test('of a missing stream fails when it is iterated, not when it is called', async () => {
    const stream = streamName()
    const reading = client.readStream(stream)
    expect(await failure(collect(reading))).toMatchObject({
      type: 'stream-not-found',
      streamName: stream,
    })
  })
})

describe('a read of $all', () => {
  test('gives every stream in one order, of growing positions, from a position on', async () => {
    const [one, two] = [streamName(), streamName()]
    const { position } = await client.appendToStream(one, event(0))
    await client.appendToStream(two, some(2))
    await client.appendToStream(one, event(1))
    const events = await collect(client.readAll({ fromPosition: position ?? START }))
    const ours = events.filter((next) => [one, two].includes(next.event?.streamId ?? ''))
    expect(ours.map((next) => next.event?.streamId)).toEqual([one, two, two, one])
    const positions = events.map((next) => next.event?.position?.commit ?? 0n)
    expect(positions).toEqual([...new Set(positions)].toSorted(byValue))
    expect(positions[0]).toBe(position?.commit)
  })

  test('goes backwards from the end, and stops at maxCount', async () => {
    const stream = streamName()
    await client.appendToStream(stream, some(2))
    const events = await collect(client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 50 }))
    expect(events.length).toBeLessThanOrEqual(50)
    const ours = events.filter((next) => next.event?.streamId === stream)
    expect(numbers(ours)).toEqual([1, 0])
  })

  test('goes backwards from before a position', async () => {
    const stream = streamName()
    await client.appendToStream(stream, event(0))
    const { position } = await client.appendToStream(stream, event(1))
    const options = { direction: BACKWARDS, fromPosition: position ?? START, maxCount: 50 } as const
    const events = await collect(client.readAll(options))
    expect(numbers(events.filter((next) => next.event?.streamId === stream))).toEqual([0])
  })

  test('holds what the server wrote itself', async () => {
    const events = await collect(client.readAll({ maxCount: 50 }))
    expect(events.map((next) => next.event?.streamId[0])).toContain('$')
  })
})

describe('a subscription', () => {
  test('to a stream gives what is there, then what comes', async () => {
    const stream = streamName()
    await client.appendToStream(stream, some(2))
    const taken = take(client.subscribeToStream(stream), 3)
    await client.appendToStream(stream, event(2))
    expect(numbers(await taken)).toEqual([0, 1, 2])
  })

  test('to a stream begins after its revision', async () => {
    const stream = streamName()
    await client.appendToStream(stream, some(4))
    expect(numbers(await take(client.subscribeToStream(stream, { fromRevision: 1n }), 2))).toEqual([2, 3])
  })

  test('to a stream that is not there yet waits for it', async () => {
    const stream = streamName()
    const subscription = client.subscribeToStream(stream)
    await once(subscription, 'confirmation')
    const taken = take(subscription, 1)
    await client.appendToStream(stream, event(0))
    expect(numbers(await taken)).toEqual([0])
  })

  test('from the end gives only what comes', async () => {
    const stream = streamName()
    await client.appendToStream(stream, some(3))
    const subscription = client.subscribeToStream(stream, { fromRevision: END })
    await once(subscription, 'confirmation')
    const taken = take(subscription, 1)
    await client.appendToStream(stream, event(3))
    expect(numbers(await taken)).toEqual([3])
  })

  test('to $all with stream prefixes gives only those streams, after its position, and continues', async () => {
    const [one, two, other] = [streamName(), streamName(), streamName()]
    const { position } = await client.appendToStream(one, event(0))
    await client.appendToStream(other, event(1))
    await client.appendToStream(two, event(2))
    const subscription = client.subscribeToAll({
      fromPosition: position ?? START,
      filter: streamNameFilter({ prefixes: [one, two] }),
    })
    const taken = take(subscription, 3)
    await client.appendToStream(other, event(3))
    await client.appendToStream(two, event(4))
    await client.appendToStream(one, event(5))
    expect(numbers(await taken)).toEqual([2, 4, 5])
  })

  test('to $all filters by a pattern of stream names, and by event types', async () => {
    const stream = streamName()
    const { position } = await client.appendToStream(stream, event(0))
    const type = `Type-${randomUUID()}`
    await client.appendToStream(stream, [event(1), jsonEvent({ type, data: { n: 2 } })])
    const ofStream = streamNameFilter({ regex: `^${stream}$` })
    const ofType = eventTypeFilter({ prefixes: [type] })
    const byStream = client.subscribeToAll({ fromPosition: position ?? START, filter: ofStream })
    expect(numbers(await take(byStream, 2))).toEqual([1, 2])
    const byType = client.subscribeToAll({ fromPosition: position ?? START, filter: ofType })
    expect(numbers(await take(byType, 1))).toEqual([2])
  })

  test('tells a checkpoint every 32 events that do not match, so that it can resume from there', async () => {
    const [stream, other] = [streamName(), streamName()]
    const { position } = await client.appendToStream(stream, event(0))
    const checkpoints: Position[] = []
    const subscription = client.subscribeToAll({
      fromPosition: position ?? START,
      filter: streamNameFilter({
        prefixes: [stream],
        checkpointReached: async (_subscription, checkpoint) => void checkpoints.push(checkpoint),
      }),
    })
    const taken = take(subscription, 1)
    await once(subscription, 'confirmation')
    for (let n = 0; n < 96; n++) await client.appendToStream(other, event(n))
    await client.appendToStream(stream, event(1))
    expect(numbers(await taken)).toEqual([1])
    expect(checkpoints.length).toBeGreaterThanOrEqual(3)
    const commits = checkpoints.map(({ commit }) => commit)
    expect(commits).toEqual(commits.toSorted(byValue))
    const options = { filter: streamNameFilter({ prefixes: [stream] }) }
    const again = client.subscribeToAll({ ...options, fromPosition: checkpoints.at(-1) ?? START })
    expect(numbers(await take(again, 1))).toEqual([1])
  })
})

describe('a filtered subscription from the start that goes live before it has reached a checkpoint', () => {
  /** Nothing passes it, and the search window reaches the end in one page, whatever the server holds. */
  const filterOf = (prefix: string, checkpoints: Position[] = []): ReturnType<typeof streamNameFilter> =>
    streamNameFilter({
      prefixes: [prefix],
      maxSearchWindow: 2 ** 24,
      checkpointReached: async (_subscription, checkpoint) => void checkpoints.push(checkpoint),
    })
  const minusOne = 2n ** 64n - 1n

  test('is handed the checkpoint -1, and no later one', async () => {
    const checkpoints: Position[] = []
    const subscription = client.subscribeToAll({ filter: filterOf(streamName(), checkpoints) })
    await once(subscription.on('error', () => undefined).resume(), 'caughtUp')
    expect(checkpoints).toEqual([{ commit: minusOne, prepare: minusOne }])
    const other = streamName()
    for (let n = 0; n < 40; n++) await client.appendToStream(other, event(n))
    await sleep(100)
    expect(checkpoints).toHaveLength(1)
    await subscription.unsubscribe()
  })

  test('resumed from -1 misses what was written meanwhile: the server takes it for the end', async () => {
    const stream = streamName()
    await client.appendToStream(stream, event(0))
    const subscription = client.subscribeToAll({
      filter: filterOf(stream),
      fromPosition: { commit: minusOne, prepare: minusOne },
    })
    const taken = take(subscription, 1)
    await once(subscription, 'caughtUp')
    await client.appendToStream(stream, event(1))
    expect(numbers(await taken)).toEqual([1])
  })
})

describe('a deleted stream', () => {
  test('reads as missing; a later append continues the numbering, and the old events stay hidden', async () => {
    const stream = streamName()
    await client.appendToStream(stream, some(2))
    expect((await client.deleteStream(stream)).position?.commit).toBeGreaterThan(0n)
    expect(await failure(read(stream))).toMatchObject({ type: 'stream-not-found' })
    expect(await client.appendToStream(stream, event(2))).toMatchObject({ nextExpectedRevision: 2n })
    expect(await read(stream)).toEqual([2])
  })

  test('takes an append that expects no stream', async () => {
    const stream = streamName()
    await client.appendToStream(stream, some(2))
    await client.deleteStream(stream)
    const options = { expectedRevision: NO_STREAM } as const
    expect(await client.appendToStream(stream, event(2), options)).toMatchObject({ nextExpectedRevision: 2n })
  })

  test('was deleted at the expected revision, or not at all', async () => {
    const stream = streamName()
    await client.appendToStream(stream, some(2))
    expect(await failure(client.deleteStream(stream, { expectedRevision: 0n }))).toMatchObject({
      type: 'wrong-expected-version',
      expectedVersion: 0n,
      actualVersion: 1n,
    })
    expect(await read(stream)).toEqual([0, 1])
  })

  test('with a tombstone reads as deleted for ever', async () => {
    const stream = streamName()
    await client.appendToStream(stream, event(0))
    await client.tombstoneStream(stream, { expectedRevision: 0n })
    expect(await failure(read(stream))).toMatchObject({ type: 'stream-deleted', streamName: stream })
    expect(await failure(client.tombstoneStream(stream))).toMatchObject({ type: 'stream-deleted' })
  })
})

describe('the metadata of a stream', () => {
  test('are kept in a stream of their own, whose events are in $all', async () => {
    const stream = streamName()
    const { position } = await client.setStreamMetadata(stream, { maxCount: 3, owner: 'me' })
    expect(await client.getStreamMetadata(stream)).toMatchObject({ metadata: { maxCount: 3, owner: 'me' } })
    const [first] = await collect(client.readAll({ fromPosition: position ?? START, maxCount: 1 }))
    expect(first?.event).toMatchObject({ streamId: `$$${stream}`, type: '$metadata' })
  })

  test('$maxCount shows the last events only, and the revisions continue', async () => {
    const stream = streamName()
    await client.setStreamMetadata(stream, { maxCount: 1 })
    for (let n = 0; n < 3; n++) {
      await client.appendToStream(stream, event(n), { expectedRevision: afterCount(n) })
    }
    expect(await read(stream)).toEqual([2])
    expect(await read(stream, { direction: BACKWARDS, fromRevision: END })).toEqual([2])
  })

  test('$tb hides what is before it', async () => {
    const stream = streamName()
    await client.appendToStream(stream, some(5))
    await client.setStreamMetadata(stream, { truncateBefore: 3 })
    expect(await read(stream)).toEqual([3, 4])
    expect(await read(stream, { direction: BACKWARDS, fromRevision: 3n })).toEqual([3])
  })

  test('$maxAge hides what is older', async () => {
    const stream = streamName()
    await client.appendToStream(stream, event(0))
    await client.setStreamMetadata(stream, { maxAge: 1 })
    await expect.poll(() => read(stream)).toEqual([])
  })
})

const why =
  external === undefined ? '' : ' (skipped: the server at PALIMPSEST_TEST_ESDB is not ours to disturb)'

describe.skipIf(external !== undefined)(`when the server fails${why}`, () => {
  const opened: { readonly close: () => Promise<unknown> }[] = []
  afterEach(async () => {
    for (const { close } of opened.splice(0).toReversed()) await close()
  })
  const clientOf = (url: string): EventStoreDBClient => {
    const connected = EventStoreDBClient.connectionString(url)
    opened.push({ close: () => connected.dispose() })
    return connected
  }
  const serve = async (): Promise<{ readonly db: EventStoreDb; readonly client: EventStoreDBClient }> => {
    const db = await eventStoreDb()
    opened.push(db)
    return { db, client: clientOf(db.url) }
  }

  test('a subscription gets one error when the server is killed, and does not come back by itself', async () => {
    const { db, client: ours } = await serve()
    await ours.appendToStream('s', event(0))
    const seen: unknown[] = []
    const errors: unknown[] = []
    const subscription = ours.subscribeToStream('s')
    subscription.on('data', (next) => seen.push(next)).on('error', (error) => errors.push(error))
    await expect.poll(() => seen.length).toBe(1)
    await db.restart()
    await persist(() => ours.appendToStream('s', event(1)))
    await sleep(200)
    expect(errors).toMatchObject([{ type: 'unavailable' }])
    expect(seen).toHaveLength(1)
  })

  test('a client that finds no server at all gets an error without a type of its own', async () => {
    const { db } = await serve()
    await db.kill()
    const lost = clientOf(db.url)
    expect(await failure(lost.appendToStream('s', event(0)))).not.toHaveProperty('type')
  })

  test('one client that loses its server fails the pending batch appends of another', async () => {
    const [one, two] = [await serve(), await serve()]
    await one.client.appendToStream('s', event(0))
    two.db.misbehave({ kind: 'silence' })
    const pending = failure(two.client.appendToStream('s', event(0)))
    await expect.poll(() => two.db.calls.length).toBe(1)
    await one.db.kill()
    expect(await pending).toMatchObject({ type: 'unavailable' })
  })

  test.each(paths)(
    '8 writers repeat what was not acknowledged: each event is there once (%s)',
    async (_path, path) => {
      const { db } = await serve()
      const acknowledged: number[] = []
      let isOver = false
      const writer = async (n: number): Promise<void> => {
        const ours = clientOf(db.url)
        for (let revision = 0; !isOver; revision++) {
          const next = event(revision)
          const options = { ...path, expectedRevision: afterCount(revision) }
          await persist(() => ours.appendToStream(`s-${n}`, next, options))
          acknowledged[n] = revision
        }
      }
      const writers = Array.from({ length: 8 }, (_, n) => writer(n))
      for (let round = 0; round < 3; round++) {
        await sleep(200 + Math.random() * 100)
        await db.restart()
      }
      isOver = true
      await Promise.all(writers)
      const after = clientOf(db.url)
      for (let n = 0; n < 8; n++) {
        const all = await persist(() => contents(after, `s-${n}`))
        expect(all).toEqual(Array.from({ length: (acknowledged[n] ?? 0) + 1 }, (_, revision) => revision))
      }
    },
  )

  test('the client cannot be disposed of once the rest of a read has come that was left early', async () => {
    const { db, client: ours } = await serve()
    await ours.appendToStream('s', some(3))
    await take(ours.readStream('s'), 1)
    await sleep(100)
    expect(await Promise.race([ours.dispose(), sleep(500, 'pending')])).toBe('pending')
    // Closing the server does not end it either.
    await db.close()
    opened.splice(0)
  })
})
