import { execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type AppendToStreamOptions,
  EventStoreDBClient,
  NO_STREAM,
  streamNameFilter,
} from '@eventstore/db-client'
import { afterEach, describe, expect, test } from 'vitest'
import { failure } from '../../support/either.ts'
import {
  collect,
  contents,
  event,
  eventOf,
  paths,
  persist,
  proposed,
  some,
  take,
} from '../../support/eventstoredb/client.ts'
import { recentIds } from '../../support/eventstoredb/log.ts'
import { type EventStoreDb, eventStoreDb, type Options } from '../../support/eventstoredb/server.ts'
import { ended, start } from '../../support/node.ts'
import { temporaryFolder } from '../../support/stores.ts'

// The server's certificate is made when it is needed: one in the repository would expire.
const noTls = spawnSync('openssl', ['version']).status === 0 ? '' : ' (skipped: no openssl)'
const credentials = { username: 'admin', password: 'changeit' }

describe('the server for tests', () => {
  const opened: { readonly close: () => Promise<unknown> }[] = []
  afterEach(async () => {
    for (const { close } of opened.splice(0).toReversed()) await close()
  })
  const clientOf = (url: string): EventStoreDBClient => {
    const connected = EventStoreDBClient.connectionString(url)
    opened.push({ close: () => connected.dispose() })
    return connected
  }
  const serve = async (
    options: Options = {},
  ): Promise<{ readonly db: EventStoreDb; readonly client: EventStoreDBClient }> => {
    const db = await eventStoreDb(options)
    opened.push(db)
    return { db, client: clientOf(db.url) }
  }
  test('lists the calls that came', async () => {
    const { db, client: ours } = await serve()
    await ours.appendToStream('s', event(0))
    await ours.appendToStream('s', event(1), { credentials })
    await contents(ours, 's')
    await collect(ours.readAll({ maxCount: 1 }))
    await take(ours.subscribeToAll(), 1)
    await ours.deleteStream('s')
    await ours.tombstoneStream('s')
    expect(db.calls).toEqual([
      { method: 'BatchAppend', stream: 's' },
      { method: 'Append', stream: 's' },
      { method: 'Read', stream: 's' },
      { method: 'Read', all: true },
      { method: 'Read', all: true, subscription: true },
      { method: 'Delete', stream: 's' },
      { method: 'Tombstone', stream: 's' },
    ])
    db.forgetCalls()
    expect(db.calls).toEqual([])
  })

  test('without batch append is written to by unary calls', async () => {
    const { db, client: ours } = await serve({ hasBatchAppend: false })
    await ours.appendToStream('s', event(0))
    expect(db.calls).toEqual([{ method: 'Append', stream: 's' }])
  })

  test('tells its version', async () => {
    const { client: ours } = await serve({ version: '23.10.1' })
    // The client asks for it, and keeps it to itself.
    expect(await Reflect.get(ours, 'capabilities')).toMatchObject({ serverVersion: '23.10.1' })
  })

  test('has its own clock', async () => {
    const { client: ours } = await serve({ clockOffset: -86_400_000 })
    await ours.appendToStream('s', event(0))
    const [resolved] = await collect(ours.readStream('s'))
    expect(Date.now() - Number(resolved?.event?.created)).toBeGreaterThanOrEqual(86_400_000)
  })

  test('forgets ids after a while: then a repeat at ANY writes again, and one at its revision does not', async () => {
    const { db, client: ours } = await serve()
    const first = event(0)
    await ours.appendToStream('s', first, { expectedRevision: NO_STREAM })
    db.preload('other', proposed(recentIds, 1))
    await ours.appendToStream('s', first, { expectedRevision: NO_STREAM })
    expect(await contents(ours, 's')).toEqual([0])
    await ours.appendToStream('s', first)
    expect(await contents(ours, 's')).toEqual([0, 0])
  })

  test('joins an append that comes in several messages', async () => {
    const { client: ours } = await serve()
    const options = { expectedRevision: NO_STREAM, batchAppendSize: 1_000 } as const
    await ours.appendToStream('s', some(100), options)
    expect(await contents(ours, 's')).toHaveLength(100)
    const { type } = await failure(
      ours.appendToStream(
        't',
        [1, 2, 3, 4].map(() => eventOf(400_000)),
        options,
      ),
    )
    expect(type).toBe('maximum-append-size-exceeded')
    expect(await failure(contents(ours, 't'))).toMatchObject({ type: 'stream-not-found' })
  })

  test('refuses a batch append whose deadline is over', async () => {
    const { client: ours } = await serve()
    const late = ours.appendToStream('s', event(0), { deadline: 0 })
    expect(await failure(late)).toMatchObject({ type: 'deadline-exceeded' })
    expect(await failure(contents(ours, 's'))).toMatchObject({ type: 'stream-not-found' })
  })

  test.each(paths)('refuses an id that is no UUID (%s)', async (_path, path) => {
    const { client: ours } = await serve()
    const next = { ...event(0), id: 'none' }
    expect(await failure(ours.appendToStream('s', next, path))).toMatchObject({ type: 'unknown' })
  })

  test('writes a tombstone into $all, and fails subscriptions to its stream', async () => {
    const { client: ours } = await serve()
    await ours.tombstoneStream('s')
    const last = (await collect(ours.readAll())).at(-1)
    const revision = 2n ** 63n - 1n
    expect(last?.event).toMatchObject({ streamId: 's', type: '$streamDeleted', revision })
    const subscribed = failure(take(ours.subscribeToStream('s'), 1))
    expect(await subscribed).toMatchObject({ type: 'stream-deleted' })
  })

  test('checkpoints a filtered subscription where the page begins that fills its interval, and says nothing new at the end', async () => {
    const { db, client: ours } = await serve()
    db.preload('other', proposed(100, 1))
    const positions = (await collect(ours.readAll())).map((next) => next.event?.position?.commit)
    const checkpoints: bigint[] = []
    const filter = streamNameFilter({
      prefixes: ['s'],
      checkpointInterval: 2,
      checkpointReached: async (_subscription, { commit }) => void checkpoints.push(commit),
    })
    const subscription = ours.subscribeToAll({ filter })
    subscription.on('error', () => {})
    await once(subscription.resume(), 'caughtUp')
    expect(checkpoints).toEqual([positions[32]])
  })

  test('does not run ahead of a slow reader', async () => {
    const { db, client: ours } = await serve()
    db.preload('s', proposed(100_000, 1))
    const before = process.memoryUsage().heapUsed
    for await (const resolved of ours.readStream('s')) {
      expect(resolved.event?.revision).toBe(0n)
      await sleep(200)
      break
    }
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(50_000_000)
  })

  test('is found by gossip, which names the leader', async () => {
    const leader = await serve()
    const members = [
      { host: '127.0.0.1', port: 1, isAlive: false },
      { host: '127.0.0.1', port: leader.db.port, state: 'LEADER' },
    ] as const
    const follower = await serve({
      members: () => [{ host: '127.0.0.1', port: follower.db.port, state: 'FOLLOWER' }, ...members],
    })
    const discovering = clientOf(`esdb+discover://127.0.0.1:${follower.db.port}?tls=false`)
    await discovering.appendToStream('s', event(0))
    expect(await contents(leader.client, 's')).toEqual([0])
    const [itself] = [await serve()]
    await clientOf(`esdb+discover://127.0.0.1:${itself.db.port}?tls=false`).appendToStream('s', event(1))
    expect(await contents(itself.client, 's')).toEqual([1])
  })

  test('that wants credentials denies access without them', async () => {
    const { client: ours } = await serve({ credentials })
    expect(await failure(ours.appendToStream('s', event(0)))).toMatchObject({ type: 'access-denied' })
    // The client keeps credentials to itself on an insecure connection.
    const withCredentials = ours.appendToStream('s', event(0), { credentials })
    expect(await failure(withCredentials)).toMatchObject({ type: 'access-denied' })
    expect(await failure(contents(ours, 's'))).toMatchObject({ type: 'access-denied' })
    expect(await failure(ours.deleteStream('s'))).toMatchObject({ type: 'access-denied' })
  })

  test.skipIf(noTls !== '')(`takes credentials over TLS${noTls}`, async () => {
    const folder = temporaryFolder()
    const [certificate, key] = [join(folder, 'certificate.pem'), join(folder, 'key.pem')]
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
    const subject = ['-subj', '/CN=test', '-addext', 'subjectAltName=DNS:localhost']
    const files = ['-keyout', key, '-out', certificate]
    execFileSync('openssl', ['req', '-x509', ...curve, ...subject, ...files], { stdio: 'ignore' })
    const tls = { certificate: readFileSync(certificate), key: readFileSync(key) }
    const { db } = await serve({ credentials, tls })
    const as = (user: string): EventStoreDBClient =>
      clientOf(`esdb://${user}localhost:${db.port}?tls=true&tlsCAFile=${certificate}`)
    const admin = as('admin:changeit@')
    await admin.appendToStream('s', event(0))
    await admin.appendToStream('s', event(1), { credentials })
    expect(await contents(admin, 's')).toEqual([0, 1])
    for (const stranger of [as(''), as('admin:wrong@')]) {
      expect(await failure(stranger.appendToStream('s', event(2)))).toMatchObject({ type: 'access-denied' })
      expect(await failure(contents(stranger, 's'))).toMatchObject({ type: 'access-denied' })
    }
  })

  describe.each(paths)('when an append fails (%s)', (name, path) => {
    const isBatch = name === 'batch append'
    const append = (
      of: EventStoreDBClient,
      next = event(0),
      options: AppendToStreamOptions = {},
    ): Promise<unknown> => of.appendToStream('s', next, { expectedRevision: NO_STREAM, ...path, ...options })

    test.each([
      ['drop', 'unavailable', 'unavailable'],
      ['unavailable', 'unavailable', 'unavailable'],
      ['busy', 'unknown', 'unavailable'],
      ['deadline', 'deadline-exceeded', 'timeout'],
      ['notLeader', 'not-leader', 'not-leader'],
    ] as const)(
      '%s: the event is there or not, and the same append then gives it once',
      async (kind, batch, unary) => {
        for (const written of [true, false]) {
          const { db, client: ours } = await serve()
          await persist(() => contents(ours, 'none').catch((error: { type: string }) => error.type))
          db.misbehave({ kind, written })
          const next = event(0)
          expect(await failure(append(ours, next))).toMatchObject({ type: isBatch ? batch : unary })
          const there = persist(() =>
            contents(ours, 's').catch((error: { type: string }) => {
              if (error.type !== 'stream-not-found') throw error
              return []
            }),
          )
          expect(await there).toEqual(written ? [0] : [])
          await persist(() => append(ours, next))
          expect(await contents(ours, 's')).toEqual([0])
        }
      },
    )

    test.each([true, false])('silence (written: %s)', async (written) => {
      const { db, client: ours } = await serve()
      db.misbehave({ kind: 'silence', written })
      const next = event(0)
      const pending = append(ours, next, { deadline: 200 })
      // Batch appends have no deadline at the client; unary ones keep theirs.
      if (isBatch) expect(await Promise.race([pending, sleep(400, 'pending')])).toBe('pending')
      else expect(await failure(pending)).toMatchObject({ type: 'deadline-exceeded' })
      if (written) expect(await contents(ours, 's')).toEqual([0])
      else expect(await failure(contents(ours, 's'))).toMatchObject({ type: 'stream-not-found' })
      if (isBatch) {
        await db.kill()
        expect(await failure(pending)).toMatchObject({ type: 'unavailable' })
      }
    })

    test('delay', async () => {
      const { db, client: ours } = await serve()
      db.misbehave({ kind: 'delay', ms: 1_000 })
      const pending = append(ours)
      await expect.poll(() => db.calls.length).toBe(1)
      expect(await failure(contents(ours, 's'))).toMatchObject({ type: 'stream-not-found' })
      expect(await pending).toMatchObject({ success: true })
    })

    test('the leader that the error names is the one that the client goes to', async () => {
      const { db, client: ours } = await serve()
      const leader = await serve()
      db.misbehave({ kind: 'notLeader', leader: { host: '127.0.0.1', port: leader.db.port } })
      expect(await failure(append(ours))).toMatchObject({
        type: 'not-leader',
        leader: { address: '127.0.0.1', port: leader.db.port },
      })
      await append(ours)
      expect(await contents(leader.client, 's')).toEqual([0])
    })
  })

  test('strikes as often as told, after as many calls as told, and what it is told to', async () => {
    const { db, client: ours } = await serve()
    db.misbehave({ kind: 'deadline', after: 1, times: 2 })
    db.misbehave({ kind: 'unavailable', on: 'read' })
    const outcomes: unknown[] = []
    for (let n = 0; n < 4; n++)
      outcomes.push(
        await ours.appendToStream('s', event(n)).then(
          () => 'written',
          (error: { type: string }) => error.type,
        ),
      )
    expect(outcomes).toEqual(['written', 'deadline-exceeded', 'deadline-exceeded', 'written'])
    expect(await failure(contents(ours, 's'))).toMatchObject({ type: 'unavailable' })
    expect(await persist(() => contents(ours, 's'))).toEqual([0, 3])
  })

  test('asks a function about every call', async () => {
    const { db, client: ours } = await serve()
    db.misbehave(({ stream }) => (stream === 'bad' ? { kind: 'deadline' } : undefined))
    await ours.appendToStream('good', event(0))
    expect(await failure(ours.appendToStream('bad', event(0)))).toMatchObject({ type: 'deadline-exceeded' })
    expect(await failure(ours.appendToStream('bad', event(0)))).toMatchObject({ type: 'deadline-exceeded' })
  })

  test.each(['drop', 'unavailable', 'notLeader'] as const)('a read ends in the middle: %s', async (kind) => {
    const { db, client: ours } = await serve()
    await ours.appendToStream('s', some(5))
    db.misbehave({ kind, on: 'read', events: 2 })
    const seen: unknown[] = []
    const reading = async (): Promise<void> => {
      for await (const next of ours.readStream('s')) seen.push(next)
    }
    expect(await failure(reading())).toMatchObject({
      type: kind === 'notLeader' ? 'not-leader' : 'unavailable',
    })
    expect(seen.length).toBeLessThanOrEqual(2)
    expect(await persist(() => contents(ours, 's'))).toHaveLength(5)
  })

  test('a read may never end', async () => {
    const { db, client: ours } = await serve()
    await ours.appendToStream('s', some(5))
    db.misbehave({ kind: 'silence', on: 'read', events: 2 })
    const reading = collect(ours.readStream('s', { deadline: 100 })).catch(() => 'ended')
    expect(await Promise.race([reading, sleep(500, 'pending')])).toBe('pending')
    await db.kill()
    expect(await reading).toBe('ended')
  })

  test('when it is down an append fails; when it is back its data are', async () => {
    const { db, client: ours } = await serve()
    await ours.appendToStream('s', event(0))
    await db.kill()
    await failure(ours.appendToStream('s', event(1)))
    await db.start()
    const options = { expectedRevision: 0n }
    await persist(() => ours.appendToStream('s', event(2), options))
    expect(await contents(ours, 's')).toEqual([0, 2])
  })

  test('runs as a process of its own, which prints its URL and ends on SIGTERM', async () => {
    const child = start('support/eventstoredb/main.ts')
    const printed: Buffer[] = await once(child.stdout ?? child, 'data')
    const url = String(printed[0]).trim()
    expect(url).toMatch(/^esdb:\/\/127\.0\.0\.1:\d+\?tls=false$/)
    const ours = clientOf(url)
    await ours.appendToStream('s', event(0))
    expect(await contents(ours, 's')).toEqual([0])
    const end = ended(child)
    child.kill('SIGTERM')
    expect((await end).code).toBe(0)
  })
})
