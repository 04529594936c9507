import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Server, ServerCredentials, type ServerWritableStream } from '@grpc/grpc-js'
import { describe, expect, test } from 'vitest'
import type { StoredEvent } from '../../../src/events/codec.ts'
import { openEventStoreDb } from '../../../src/store/eventstoredb/store.ts'
import type { EventStore, FollowItem, FollowOptions } from '../../../src/store/port.ts'
import { atEnd } from '../../support/at-end.ts'
import { right } from '../../support/either.ts'
import { proposed } from '../../support/eventstoredb/client.ts'
import type { Proposed } from '../../support/eventstoredb/log.ts'
import { streams, StreamsService } from '../../support/eventstoredb/protocol.ts'
import type { EventStoreDb } from '../../support/eventstoredb/server.ts'
import { type Place, somewhere, temporaryServer } from '../../support/stores.ts'

const open = async ({ url }: Pick<EventStoreDb, 'url'>): Promise<EventStore> => {
  const store = right(await openEventStoreDb(`${url}&defaultDeadline=30000&patience=120000`)())
  atEnd(store.close())
  return store
}

/** A store on whatever server there is, for what injects no fault. */
const openSomewhere = async (place: Place): Promise<EventStore> => {
  const store = await place.open(place.own && '&defaultDeadline=30000&patience=120000')
  atEnd(store.close())
  return store
}

const event = (): StoredEvent => ({ id: randomUUID(), type: 'MessageAppended', data: '{}', metadata: '{}' })
const append = async (store: EventStore, stream: string, expected: number): Promise<string> => {
  const next = event()
  right(await store.append({ stream, events: [next], expected })())
  return next.id
}
/** Follows until there are `count` events. */
const idsOf = async (
  store: EventStore,
  count: number,
  options: FollowOptions = {},
): Promise<readonly string[]> => {
  const seen: string[] = []
  for await (const followed of store.follow(options))
    if (followed.type === 'event' && seen.push(followed.event.id) === count) break
  return seen
}
const subscriptions = ({ calls }: EventStoreDb): number =>
  calls.filter(({ subscription }) => subscription).length

/** Four writers, each to a stream of its own; the ids that they wrote, stream by stream. */
const fourWriters = (
  opening: () => Promise<EventStore>,
  each: number,
): Promise<readonly (readonly string[])[]> =>
  Promise.all(
    Array.from({ length: 4 }, async (_, writer) => {
      const store = await opening()
      const ids: string[] = []
      for (let n = 0; n < each; n++) {
        ids.push(await append(store, `s${writer}`, n - 1))
        await sleep(Math.random() * 4)
      }
      return ids
    }),
  )

describe('a follower', () => {
  test('that wants to know is told when the connection breaks, and continues from where it was', async () => {
    const server = await temporaryServer()
    const store = await open(server)
    const first = await append(store, 's', -1)
    let after: string | undefined
    await expect(async () => {
      for await (const { checkpoint } of store.follow({ untilBroken: true })) {
        after = checkpoint
        await server.restart()
      }
    }).rejects.toMatchObject({ _tag: 'StoreUnavailable' })
    const second = await append(store, 's', 0)
    expect(await idsOf(store, 1, { after, untilBroken: true })).toEqual([second])
    expect(await idsOf(store, 2)).toEqual([first, second])
  })

  test('continues after its last event when the server restarts at random moments while four writers append: no gap, no repeat', async () => {
    const server = await temporaryServer()
    const store = await open(server)
    const each = 150
    const following = idsOf(store, 4 * each)
    let isWriting = true
    const restarting = (async () => {
      let restarts = 0
      while (isWriting) {
        await sleep(20 + Math.random() * 80)
        await server.kill()
        if (restarts++ === 3) await sleep(500)
        await server.start()
      }
      return restarts
    })()
    const written = await fourWriters(() => open(server), each)
    isWriting = false
    expect(await restarting).toBeGreaterThan(3)
    const seen = await following
    for (const ids of written) expect(seen.filter((id) => ids.includes(id))).toEqual(ids)
    expect(seen).toHaveLength(4 * each)
    expect(subscriptions(server)).toBeGreaterThan(3)
  })

  test('continues where its subscription is refused or broken in the middle', async () => {
    const server = await temporaryServer()
    const store = await open(server)
    const ids: string[] = []
    for (let n = 0; n < 20; n++) ids.push(await append(store, 's', n - 1))
    for (const [n, kind] of (['drop', 'unavailable', 'busy', 'notLeader', 'deadline'] as const).entries())
      server.misbehave({ kind, on: 'subscription', events: n })
    expect(await idsOf(store, 20)).toEqual(ids)
    expect(subscriptions(server)).toBe(6)
  })

  test('goes to the leader that a server names', async () => {
    const [follower, leader] = [await temporaryServer(), await temporaryServer()]
    const id = await append(await open(leader), 's', -1)
    follower.misbehave({
      kind: 'notLeader',
      on: 'subscription',
      leader: { host: '127.0.0.1', port: leader.port },
    })
    expect(await idsOf(await open(follower), 1)).toEqual([id])
  })

  test('of several prefixes gets their streams only, in the order of the store, from a checkpoint on', async () => {
    const store = await openSomewhere(await somewhere())
    const ids: string[] = []
    for (const [n, stream] of ['a-1', 'x-1', 'b-1', 'ab-1', 'a-2', 'b-2'].entries()) {
      const id = await append(store, stream, -1)
      if (n !== 1 && n !== 3) ids.push(id)
    }
    const prefixes = ['a-', 'b-']
    expect(await idsOf(store, 4, { prefixes })).toEqual(ids)
    let after: string | undefined
    for await (const { type, checkpoint } of store.follow({ prefixes })) {
      after = checkpoint
      if (type === 'event') break
    }
    expect(await idsOf(store, 3, { prefixes, ...(after !== undefined && { after }) })).toEqual(ids.slice(1))
  })

  test('learns how far the store was searched while nothing is for it, and can resume from there', async () => {
    const store = await openSomewhere(await somewhere())
    const checkpoints: string[] = []
    const stop = new AbortController()
    const following = (async () => {
      for await (const followed of store.follow({ prefixes: ['none-'], signal: stop.signal })) {
        expect(followed.type).toBe('checkpoint')
        if (checkpoints.push(followed.checkpoint) === 4) stop.abort()
      }
    })()
    for (let n = 0; n < 120; n++) await append(store, 's', n - 1)
    await following
    const places = checkpoints.map((checkpoint) => Number(checkpoint.split('/')[0]))
    expect(places).toEqual([...new Set(places)].toSorted((a, b) => a - b))
    const late = await append(store, 'none-1', -1)
    const [after = ''] = checkpoints.slice(-1)
    expect(await idsOf(store, 1, { prefixes: ['none-'], after })).toEqual([late])
  })

  test('of a new database is handed no checkpoint that loses events: what is written while the server restarts comes', async () => {
    const server = await temporaryServer()
    const store = await open(server)
    const checkpoints: string[] = []
    const seen: string[] = []
    const following = (async () => {
      for await (const followed of store.follow({ prefixes: ['s'] })) {
        checkpoints.push(followed.checkpoint)
        if (followed.type === 'event' && seen.push(followed.event.id) === 1) return
      }
    })()
    await expect.poll(() => server.calls.filter(({ subscription }) => subscription)).toHaveLength(1)
    await sleep(50)
    await server.kill()
    const id = randomUUID()
    const none = Buffer.alloc(0)
    server.preload('s', [{ id, type: 'MessageAppended', isJson: true, data: none, metadata: none }])
    await server.start()
    await following
    expect(seen).toEqual([id])
    for (const after of checkpoints.slice(0, -1)) expect(await idsOf(store, 1, { after })).toEqual([id])
  })

  test('that saved the checkpoint -1 of an earlier release begins at the start', async () => {
    const store = await open(await temporaryServer())
    const id = await append(store, 's', -1)
    const after = '18446744073709551615/18446744073709551615'
    expect(await idsOf(store, 1, { after })).toEqual([id])
    expect(right(await store.readAll({ after, limit: 9 })()).events.map((read) => read.id)).toEqual([id])
  })

  test('may be right before an event: a reader that resumes from there gets it', async () => {
    const server = await temporaryServer()
    const store = await open(server)
    const some = (count: number): Proposed[] => proposed(count, 3)
    // The server has one event of its own. It looks through 32 at once, and says where it began to: here, at each event of `s`.
    for (let n = 0; n < 4; n++) {
      server.preload('x', some(31))
      server.preload('s', some(1))
    }
    const wanted = right(await store.readAll({ prefixes: ['s'], limit: 9 })()).events
    const checkpoints: string[] = []
    for await (const { checkpoint } of store.follow({ prefixes: ['none'] }))
      if (checkpoints.push(checkpoint) === 4) break
    const rests = await Promise.all(
      checkpoints.map(async (after) => right(await store.readAll({ prefixes: ['s'], after, limit: 9 })())),
    )
    expect(checkpoints.slice(1).map((checkpoint) => checkpoint.split('/')[0])).toEqual(
      wanted.slice(0, 3).map(({ checkpoint }) => checkpoint.split('/')[0]),
    )
    expect(rests.map(({ events }) => events.length)).toEqual([4, 4, 3, 2])
  })

  test('with something that is not a checkpoint of the store is InvalidInput', async () => {
    const store = await openSomewhere(await somewhere())
    await expect(idsOf(store, 1, { after: 'x' })).rejects.toMatchObject({ _tag: 'InvalidInput' })
  })

  test('one of sixteen gets every event', async () => {
    const place = await somewhere()
    const store = await openSomewhere(place)
    const followers = Array.from({ length: 16 }, () => idsOf(store, 200))
    const written = (await fourWriters(() => openSomewhere(place), 50)).flat()
    for (const seen of await Promise.all(followers)) expect(new Set(seen)).toEqual(new Set(written))
  })

  test('ends without an error when its signal aborts, also while the server is gone', async () => {
    const server = await temporaryServer()
    const store = await open(server)
    const stop = new AbortController()
    const following = idsOf(store, 1, { signal: stop.signal })
    const another = idsOf(store, 1, { signal: stop.signal })
    await expect.poll(() => subscriptions(server)).toBe(2)
    stop.abort()
    expect(await following).toEqual([])
    expect(await another).toEqual([])
    await server.kill()
    const offline = new AbortController()
    const waiting = idsOf(store, 1, { signal: offline.signal })
    await sleep(100)
    offline.abort()
    expect(await waiting).toEqual([])
    const already = idsOf(store, 1, { signal: AbortSignal.abort() })
    expect(await already).toEqual([])
  })

  test('gets nothing more once its signal has aborted, whatever has come already', async () => {
    const store = await openSomewhere(await somewhere())
    for (let n = 0; n < 20; n++) await append(store, 's', n - 1)
    const stop = new AbortController()
    let seen = 0
    for await (const _ of store.follow({ signal: stop.signal })) {
      seen++
      await sleep(20)
      stop.abort()
    }
    expect(seen).toBe(1)
  })

  test('that leaves early disturbs neither other followers nor appends', async () => {
    const server = await temporaryServer()
    const store = await open(server)
    const staying = idsOf(store, 40)
    const ids: string[] = []
    for (let n = 0; n < 20; n++) {
      ids.push(await append(store, 's', 2 * n - 1))
      const appending = append(store, 's', 2 * n)
      await idsOf(store, 1)
      ids.push(await appending)
    }
    expect(await staying).toEqual(ids)
    expect(subscriptions(server)).toBe(21)
    const appends = server.calls.filter(({ method, stream }) => method === 'BatchAppend' && stream === 's')
    expect(appends).toHaveLength(40)
  })
})

/** A server that counts the subscriptions that are open; it sends each a checkpoint. */
const counting = async (): Promise<{ readonly url: string; readonly open: ReadonlySet<unknown> }> => {
  const subscribed = new Set<unknown>()
  type Call = ServerWritableStream<
    InstanceType<typeof streams.ReadReq>,
    InstanceType<typeof streams.ReadResp>
  >
  const server = new Server()
  server.addService(StreamsService, {
    read: (call: Call): void => {
      if (!call.request.getOptions()?.hasSubscription()) return void call.end()
      subscribed.add(call)
      call.on('cancelled', () => subscribed.delete(call))
      const checkpoint = new streams.ReadResp.Checkpoint().setCommitPosition('1').setPreparePosition('1')
      call.write(new streams.ReadResp().setCheckpoint(checkpoint))
    },
  })
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  )
  atEnd(() => server.forceShutdown())
  return { url: `esdb://127.0.0.1:${port}?tls=false`, open: subscribed }
}

describe('no call stays open on the server', () => {
  const first = async (followers: AsyncIterable<FollowItem>): Promise<FollowItem | undefined> => {
    for await (const followed of followers) return followed
    return undefined
  }

  test.each<[string, (store: EventStore) => Promise<unknown>]>([
    ['leaves the loop early', (store) => first(store.follow({}))],
    [
      'throws in the loop',
      async (store) => {
        const failing = (async () => {
          for await (const followed of store.follow({})) throw new Error(followed.type)
        })()
        await expect(failing).rejects.toThrow('checkpoint')
      },
    ],
    [
      'aborts',
      async (store) => {
        const stop = new AbortController()
        for await (const _ of store.follow({ signal: stop.signal })) stop.abort()
      },
    ],
    [
      'aborts before it asks again',
      async (store) => {
        const stop = new AbortController()
        const following = store.follow({ signal: stop.signal })[Symbol.asyncIterator]()
        await following.next()
        stop.abort()
        expect(await following.next()).toMatchObject({ done: true })
      },
    ],
  ])('when who follows %s', async (_, leave) => {
    const server = await counting()
    const store = await open(server)
    const staying = store.follow({})[Symbol.asyncIterator]()
    await staying.next()
    for (let n = 0; n < 20; n++) await leave(store)
    await expect.poll(() => server.open.size).toBe(1)
    right(await store.close()())
    await expect.poll(() => server.open.size).toBe(0)
    expect(await staying.next()).toMatchObject({ done: true })
  })
})

test('a server that knows no batch append is told of by the first append, at once', async () => {
  const store = await open(await counting())
  const outcome = await store.append({ stream: 's', events: [event()], expected: -1 })()
  expect(outcome).toMatchObject({
    _tag: 'Left',
    left: { _tag: 'StoreUnavailable', message: expect.stringContaining('version') },
  })
})
