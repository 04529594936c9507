import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { Transform } from 'node:stream'
import { Server, type ServerDuplexStream, ServerCredentials, status } from '@grpc/grpc-js'
import * as E from 'fp-ts/lib/Either.js'
import { openStore, type Store } from 'palimpsest'
import { describe, expect, test } from 'vitest'
import type { StoredEvent } from '../../../src/events/codec.ts'
import { promiseStore } from '../../../src/api/promises.ts'
import { openEventStoreDb } from '../../../src/store/eventstoredb/store.ts'
import { memoryStore } from '../../../src/store/memory/store.ts'
import type { EventStore } from '../../../src/store/port.ts'
import { storeOn, taskStore } from '../../../src/api/open.ts'
import { atEnd } from '../../support/at-end.ts'
import { left, right } from '../../support/either.ts'
import { collect, persist } from '../../support/eventstoredb/client.ts'
import type { Fault } from '../../support/eventstoredb/faults.ts'
import { StreamsService } from '../../support/eventstoredb/protocol.ts'
import type { EventStoreDb } from '../../support/eventstoredb/server.ts'
import { user } from '../../support/log.ts'
import { ended, start } from '../../support/node.ts'
import { patient, type Place, somewhere, temporaryServer } from '../../support/stores.ts'
import { write } from '../../support/write.ts'

/** How long an attempt takes that must be late, in milliseconds. */
const shortAttempt = 150
/** The most attempts of who is impatient, with pauses of 20, 40, 80, … ms between them. */
const impatientAttempts = 7

interface Times {
  readonly attempt?: number
  readonly patience?: number
}
/** For what is to succeed: as long as a busy machine needs, in milliseconds. */
const inTime = { attempt: 30_000, patience: 90_000 }
/** For what is to fail. */
const impatient = { attempt: 500, patience: 1_300 }

const open = async ({ url }: { readonly url: string }, times: Times = inTime): Promise<EventStore> => {
  const parameters = { ...inTime, ...times }
  const store = await persist(async () =>
    right(
      await openEventStoreDb(
        `${url}&defaultDeadline=${parameters.attempt}&patience=${parameters.patience}`,
      )(),
    ),
  )
  atEnd(store.close())
  return store
}
const openBoth = async (
  options: Parameters<typeof temporaryServer>[0] = {},
): Promise<{ readonly server: EventStoreDb; readonly store: EventStore }> => {
  const server = await temporaryServer(options)
  return { server, store: await open(server) }
}
const conversations = async ({ url }: EventStoreDb): Promise<Store> => {
  const store = await openStore(url + patient)
  atEnd(store.close)
  return store
}

/** A store of conversations on whatever server there is, for what injects no fault. */
const conversationsAt = async (place: Place): Promise<Store> => {
  const store = promiseStore(taskStore(storeOn(await place.open(), { kind: 'program' })))
  atEnd(store.close)
  return store
}

const event = (): StoredEvent => ({ id: randomUUID(), type: 'MessageAppended', data: '{}', metadata: '{}' })
const idsIn = async (store: EventStore, stream: string): Promise<readonly string[]> =>
  right(await store.read({ stream, from: 0, direction: 'forwards', limit: 1_000 })()).map(({ id }) => id)
/** Begins a stream, so that a fault strikes the next append to it and nothing else. */
const begin = async (server: EventStoreDb, ...streams: readonly string[]): Promise<void> => {
  const store = await open(server)
  for (const stream of streams) right(await store.append({ stream, events: [event()], expected: -1 })())
}
const appendsTo = ({ calls }: EventStoreDb, stream: string): number =>
  calls.filter((call) => call.method === 'BatchAppend' && call.stream === stream).length

/** Between clients and a server: connections that can be made to fall silent, or to break. */
const proxy = async (
  to: EventStoreDb,
  pause = 0,
): Promise<{ readonly url: string; readonly connections: readonly (readonly Socket[])[] }> => {
  const connections: (readonly Socket[])[] = []
  const listener = createServer((near) => {
    const far = connect(to.port, '127.0.0.1')
    const slow = new Transform({
      transform: (chunk, _, next) => setTimeout(() => next(null, chunk), pause),
    })
    near.pipe(far).pipe(slow).pipe(near)
    for (const socket of [near, far]) socket.on('error', () => [near, far].map((end) => end.destroy()))
    connections.push([near, far])
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  atEnd(
    {
      close: () => {
        for (const socket of connections.flat()) socket.destroy()
        listener.close()
      },
    }.close,
  )
  return { url: `esdb://127.0.0.1:${(listener.address() as AddressInfo).port}?tls=false`, connections }
}

/** The connection that is open, once no other is: a store first looks over one of its own whether the server answers. */
const only = async (connections: readonly (readonly Socket[])[]): Promise<readonly Socket[]> => {
  const alive = (): readonly (readonly Socket[])[] => connections.filter(([near]) => near?.closed === false)
  await expect.poll(() => alive().length).toBe(1)
  return alive()[0] ?? []
}

/** A server that takes appends as told, and has no events. */
const appending = async (
  batchAppend: (call: ServerDuplexStream<unknown, unknown>) => void,
): Promise<{ readonly url: string }> => {
  const server = new Server()
  server.addService(StreamsService, { batchAppend, read: (call: { end: () => void }) => call.end() })
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  )
  atEnd(() => server.forceShutdown())
  return { url: `esdb://127.0.0.1:${port}?tls=false` }
}

const kinds = ['drop', 'silence', 'unavailable', 'busy', 'deadline', 'notLeader', 'delay'] as const

describe('an append whose outcome is unknown is sent again until it is known', () => {
  test.each(kinds.flatMap((kind) => [true, false].map((written) => ({ kind, written }))))(
    '$kind (written: $written): it succeeds, and the event is there once',
    async ({ kind, written }) => {
      const server = await temporaryServer()
      const isLate = kind === 'silence' || kind === 'delay'
      const store = await open(server, isLate ? { attempt: shortAttempt } : inTime)
      const [first, second] = [event(), event()]
      right(await store.append({ stream: 's', events: [first], expected: -1 })())
      const before = appendsTo(server, 's')
      server.misbehave({ kind, written, times: 2, ms: 2 * shortAttempt })
      right(await store.append({ stream: 's', events: [second], expected: 0 })())
      const tries = appendsTo(server, 's') - before
      // A busy machine may let a third one be late as well.
      if (isLate) expect(tries).toBeGreaterThanOrEqual(3)
      else expect(tries).toBe(3)
      expect(await idsIn(store, 's')).toEqual([first.id, second.id])
    },
  )

  test.each(kinds)('%s without end: the outcome stays unknown, within patience', async (kind) => {
    const server = await temporaryServer()
    const store = await open(server, impatient)
    await begin(server, 's')
    server.forgetCalls()
    const fault: Fault = { kind, written: false, ms: 10_000 }
    server.misbehave(({ method }) => (method === 'BatchAppend' ? fault : undefined))
    const events = [event(), event()]
    const error = left(await store.append({ stream: 's', events, expected: 0 })())
    const tries = appendsTo(server, 's')
    expect(tries).toBeGreaterThan(0)
    expect(tries).toBeLessThanOrEqual(impatientAttempts)
    expect(error).toMatchObject({
      _tag: 'OutcomeUnknown',
      stream: 's',
      events: events.map(({ id }) => id),
    })
  })

  test('also when nobody listens any more', async () => {
    const server = await temporaryServer()
    const store = await open(server, impatient)
    await begin(server, 's')
    await server.kill()
    const next = event()
    expect(left(await store.append({ stream: 's', events: [next], expected: 0 })())).toMatchObject({
      _tag: 'OutcomeUnknown',
      events: [next.id],
    })
  })

  test('written, its answer lost, and others have written after it: it is recognised as its own', async () => {
    const server = await temporaryServer()
    const [store, other] = [await open(server, { attempt: shortAttempt }), await open(server)]
    await begin(server, 's')
    server.misbehave({ kind: 'silence', written: true })
    const [own, later] = [event(), event()]
    const appended = store.append({ stream: 's', events: [own], expected: 0, repeat: 'none' })()
    await expect.poll(() => appendsTo(server, 's')).toBeGreaterThanOrEqual(2)
    right(await other.append({ stream: 's', events: [later], expected: 1 })())
    expect(right(await appended)).toBe('written')
    expect((await idsIn(store, 's')).slice(1)).toEqual([own.id, later.id])
  })

  test('not written, and others took its place: it is a conflict', async () => {
    const server = await temporaryServer()
    // Long enough for the other one's append.
    const [store, other] = [await open(server, { attempt: 5_000 }), await open(server)]
    await begin(server, 's')
    server.misbehave({ kind: 'silence' })
    const [own, faster] = [event(), event()]
    const appended = store.append({ stream: 's', events: [own], expected: 0 })()
    await expect.poll(() => appendsTo(server, 's')).toBe(2)
    right(await other.append({ stream: 's', events: [faster], expected: 0 })())
    expect(left(await appended)).toMatchObject({
      _tag: 'Conflict',
      stream: 's',
      expected: 0,
      actual: 1,
    })
    expect((await idsIn(store, 's')).slice(1)).toEqual([faster.id])
  })

  test('of which nothing was sent, as its stream cannot be listed, was not written', async () => {
    const server = await temporaryServer()
    const store = await open(server, impatient)
    server.misbehave(({ stream }) => (stream === 's' ? undefined : { kind: 'silence' }))
    const outcome = await store.append({ stream: 's', events: [event()], expected: -1 })()
    expect(left(outcome)).toMatchObject({ _tag: 'StoreUnavailable' })
    expect(appendsTo(server, 's')).toBe(0)
  })

  test('written, and then what is there cannot be read: its outcome is unknown, not a failure', async () => {
    const server = await temporaryServer()
    const store = await open(server, { patience: impatient.patience })
    expect(await idsIn(store, 's')).toEqual([])
    server.misbehave({ kind: 'unavailable', on: 'read', times: 1_000 })
    const next = event()
    expect(left(await store.append({ stream: 's', events: [next], expected: -1 })())).toMatchObject({
      _tag: 'OutcomeUnknown',
      events: [next.id],
    })
  })
})

describe('an append that the server refuses', () => {
  const denied = { code: status.PERMISSION_DENIED, details: 'Access Denied' }
  const lost = { code: status.UNAVAILABLE, details: 'Server Is Not Ready' }

  test.each([
    ['at once is denied', [denied], { _tag: 'StoreDenied' }],
    ['by not knowing the call fails at once', [{ code: status.UNIMPLEMENTED }], { _tag: 'StoreUnavailable' }],
    [
      'after an attempt that may have been written has an unknown outcome',
      [lost, denied],
      { _tag: 'OutcomeUnknown' },
    ],
  ])('%s', async (_, answers, expected) => {
    let calls = 0
    const store = await open(await appending((call) => void call.emit('error', answers[calls++])))
    const outcome = await store.append({ stream: 's', events: [event()], expected: 0 })()
    expect(left(outcome)).toMatchObject(expected)
    expect(calls).toBe(answers.length)
  })
})

describe('connections', () => {
  test('calls that were given up are ended', async () => {
    const calls = new Set<unknown>()
    const server = await appending((call) => {
      calls.add(call)
      call.on('cancelled', () => calls.delete(call))
    })
    const store = await open(server, impatient)
    const appends = Array.from({ length: 5 }, (_, n) =>
      store.append({ stream: `s${n}`, events: [event()], expected: -1 })(),
    )
    await expect.poll(() => calls.size).toBeGreaterThan(0)
    await Promise.all(appends)
    await expect.poll(() => calls.size).toBe(0)
  })

  test('a conflict costs one call: the server has looked whether the events are there', async () => {
    const server = await temporaryServer()
    const store = await open(server)
    await begin(server, 's')
    const mine = event()
    right(await store.append({ stream: 's', events: [mine], expected: 0 })())
    server.forgetCalls()
    for (const events of [[event()], [mine, event()]])
      expect(left(await store.append({ stream: 's', events, expected: 0 })())).toMatchObject({
        _tag: 'Conflict',
        actual: 1,
      })
    const calls = server.calls.filter(({ stream }) => stream === 's')
    expect(calls.map(({ method }) => method)).toEqual(['BatchAppend', 'BatchAppend'])
  })

  test("a store's lost server fails no append of another store in the same process", async () => {
    const [lost, sound] = [await temporaryServer(), await temporaryServer()]
    const stores = [await open(lost, impatient), await open(sound)]
    const names = Array.from({ length: 20 }, (_, n) => `s${n}`)
    for (const server of [lost, sound]) {
      await begin(server, ...names)
      server.forgetCalls()
    }
    const appendsIn = ({ calls }: EventStoreDb): number =>
      calls.filter(({ method }) => method === 'BatchAppend').length
    lost.misbehave(({ method }) => (method === 'BatchAppend' ? { kind: 'silence' } : undefined))
    sound.misbehave(({ method }) => (method === 'BatchAppend' ? { kind: 'delay', ms: 500 } : undefined))
    const [failing = [], succeeding = []] = stores.map((store) =>
      names.map((stream) => store.append({ stream, events: [event()], expected: 0 })()),
    )
    await expect.poll(() => appendsIn(lost)).toBeGreaterThanOrEqual(20)
    await expect.poll(() => appendsIn(sound)).toBe(20)
    await lost.kill()
    expect((await Promise.all(succeeding)).every(E.isRight)).toBe(true)
    // Each was answered at the first try.
    expect(appendsIn(sound)).toBe(20)
    for (const outcome of await Promise.all(failing))
      expect(left(outcome)).toMatchObject({ _tag: 'OutcomeUnknown' })
  })

  test('a slow one is not a silent one: a large page may take longer than an attempt', async () => {
    const server = await temporaryServer()
    const data = Buffer.alloc(200_000, ' ')
    const events = Array.from({ length: 40 }, () => ({
      id: randomUUID(),
      type: 'Long',
      isJson: true,
      data,
      metadata: Buffer.from('{}'),
    }))
    server.preload('s', events)
    // Some 120 pieces, each of them a little late.
    const attempt = 3_000
    const store = await open(await proxy(server, 36), { attempt })
    const begun = performance.now()
    const read = await store.read({ stream: 's', from: 0, direction: 'forwards', limit: 40 })()
    expect(right(read)).toHaveLength(40)
    expect(performance.now() - begun).toBeGreaterThan(attempt)
    expect(server.calls.filter(({ stream }) => stream === 's')).toHaveLength(1)
  })

  test('one that falls silent is left for a new one, and its late failure disturbs no append on the new one', async () => {
    const server = await temporaryServer()
    const { url, connections } = await proxy(server)
    const store = await open({ url }, { attempt: 5_000 })
    right(await store.append({ stream: 'before', events: [event()], expected: -1 })())
    const [near, far] = await only(connections)
    near?.unpipe(far).pause()
    right(await store.append({ stream: 'silent', events: [event()], expected: -1 })())
    expect(connections.at(-1)?.[0]).not.toBe(near)
    server.misbehave({ kind: 'delay', ms: 300 })
    const next = store.append({ stream: 'next', events: [event()], expected: -1 })()
    await expect.poll(() => appendsTo(server, 'next')).toBe(1)
    near?.destroy()
    right(await next)
    expect(appendsTo(server, 'next')).toBe(1)
  })

  test('a look for what the database may drop comes before an append, once a second at most', async () => {
    const server = await temporaryServer()
    const chat = (await conversations(server)).conversation('c')
    await chat.append({ role: 'user', content: 'x' })
    server.forgetCalls()
    const begun = performance.now()
    for (let n = 0; n < 300; n++) await chat.append({ role: 'user', content: 'x' })
    const looks = server.calls.filter(({ method }) => method === 'Read')
    expect(looks.length).toBeLessThanOrEqual(1 + (performance.now() - begun) / 1_000)
  })

  test('a server that names another leader is left for it', async () => {
    const [follower, leader] = [await openBoth(), await openBoth()]
    follower.server.misbehave({
      kind: 'notLeader',
      leader: { host: '127.0.0.1', port: leader.server.port },
    })
    const next = event()
    right(await follower.store.append({ stream: 's', events: [next], expected: -1 })())
    expect(await idsIn(leader.store, 's')).toEqual([next.id])
  })

  test('a cluster is followed from one leader to the next', async () => {
    const [first, second] = [await temporaryServer(), await temporaryServer()]
    let leader = first
    const gossip = await temporaryServer({
      members: () => [
        { host: '127.0.0.1', port: leader.port, state: 'LEADER' },
        { host: '127.0.0.1', port: gossip.port, state: 'FOLLOWER' },
      ],
    })
    const store = await open({ url: `esdb+discover://127.0.0.1:${gossip.port}?tls=false` })
    right(await store.append({ stream: 's', events: [event()], expected: -1 })())
    expect(appendsTo(first, 's')).toBe(1)
    leader = second
    await first.kill()
    right(await store.append({ stream: 't', events: [event()], expected: -1 })())
    expect(appendsTo(second, 't')).toBe(1)
  })
})

describe('a command that is sent again', () => {
  const message = { role: 'user', content: 'hello' } as const

  test('is recognised by the same store and by another one', async () => {
    const place = await somewhere()
    const [one, other] = [await conversationsAt(place), await conversationsAt(place)]
    const first = await one.conversation('c').append(message, { commandId: 'x' })
    await one.conversation('c').append(message)
    expect(await one.conversation('c').append(message, { commandId: 'x' })).toEqual(first)
    expect(await other.conversation('c').append(message, { commandId: 'x' })).toEqual(first)
    expect(await other.conversation('c').position()).toBe(1)
  })

  test('costs one append, and reads that go out together before it', async () => {
    const server = await temporaryServer()
    const writer = await conversations(server)
    const chat = (await conversations(server)).conversation('c')
    await writer.conversation('c').append([message, message])
    const methods = async (act: () => Promise<unknown>): Promise<readonly string[]> => {
      server.forgetCalls()
      await act()
      // Now and then a look at the stream's metadata goes beside an append.
      return server.calls.filter(({ stream }) => !stream?.startsWith('$$')).map(({ method }) => method)
    }
    const first = await methods(() => chat.append(message, { commandId: 'x' }))
    expect(first).toEqual(['Read', 'Read', 'Read', 'BatchAppend'])
    const next = await methods(() => chat.append(message, { commandId: 'y' }))
    expect(next.filter((method) => method === 'BatchAppend')).toHaveLength(1)
    expect(next.at(-1)).toBe('BatchAppend')
    expect(await methods(() => chat.append(message))).toEqual(['Read', 'Read', 'BatchAppend'])
    expect(await methods(() => chat.append(message))).toEqual(['BatchAppend'])
    expect(await chat.verify()).not.toHaveProperty('discrepancy')
  })

  test('waits for two answers, one after the other, and no more', async () => {
    const events = memoryStore()
    const waiting: (() => void)[] = []
    const answered = (): Promise<void> => new Promise((resolve) => void waiting.push(resolve))
    const late = storeOn(
      {
        ...events,
        read: (range) => async () => answered().then(events.read(range)),
        find: (stream, id) => async () => answered().then(events.find(stream, id)),
        append: (request) => async () => answered().then(events.append(request)),
      },
      { kind: 'test' },
    )
    /** How many answers were waited for in turn: all that is asked at once is answered at once. */
    const rounds = async (act: () => Promise<unknown>): Promise<number> => {
      let isDone = false
      let count = 0
      const done = act().then(() => (isDone = true))
      for (;;) {
        for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
        if (isDone) return done.then(() => count)
        count++
        for (const answer of waiting.splice(0)) answer()
      }
    }
    // Before its first conversation, a store looks once whether the server's content is sealed.
    expect(await rounds(() => late.conversation('first').append(message)())).toBeLessThanOrEqual(3)
    const chat = late.conversation('c')
    const named = (commandId: string) => () => chat.append(message, { commandId })()
    for (const id of ['a', 'b', 'a']) expect(await rounds(named(id))).toBe(2)
    expect(await rounds(() => chat.append(message)())).toBeLessThanOrEqual(2)
    expect(await rounds(() => chat.append(message)())).toBe(1)
    expect(await rounds(() => chat.fork('d', { commandId: 'f' })())).toBe(2)
  })

  test('that is written between the look for it and the look for the end is found all the same', async () => {
    const server = await temporaryServer()
    const [one, other] = [await conversations(server), await conversations(server)]
    await one.conversation('c').append(message)
    const asked: string[] = []
    let written: Promise<unknown> = Promise.resolve()
    server.misbehave((call) => {
      asked.push(call.method)
      // The first store looks for the command, and waits long for the end of the stream.
      if (call.method !== 'Read' || asked.length !== 2) return undefined
      written = other.conversation('c').append(message, { commandId: 'x' })
      return { kind: 'delay', ms: 300 }
    })
    await one.conversation('c').append(message, { commandId: 'x' })
    await written
    expect(await one.conversation('c').position()).toBe(1)
  })

  test('is recognised among the last 1,000 events, and no further back', async () => {
    const place = await somewhere()
    const store = await place.open()
    atEnd(store.close())
    // Each event's command id is its revision.
    await write(
      store,
      'c',
      Array.from({ length: 1_001 }, (_, n) => user(`${n}`)),
    )
    const chat = (await conversationsAt(place)).conversation('c')
    expect(await chat.append(message, { commandId: '1' })).toMatchObject({ position: 1 })
    expect(await chat.append(message, { commandId: '0' })).toMatchObject({ position: 1_001 })
    // One more is there now: what was the first in the window is out of it, also for who has seen it.
    expect(await chat.append(message, { commandId: '2' })).toMatchObject({ position: 2 })
    expect(await chat.append(message, { commandId: '1' })).toMatchObject({ position: 1_002 })
    expect(await chat.verify()).not.toHaveProperty('discrepancy')
  })

  test.each([{}, { repeat: 'none' } as const])(
    'metadata that begin as a stamp does come back to the byte (%j)',
    async (how) => {
      const store = await (await somewhere()).open()
      atEnd(store.close())
      const metadata = [
        `{"$append":"${randomUUID()}","schema":1}`,
        '{"$append":"',
        '{}',
        '{ }',
        '[]',
        '{"a":"}"}',
      ]
      for (const [n, each] of metadata.entries()) {
        const events = [{ ...event(), metadata: each }]
        right(await store.append({ stream: 's', events, expected: n - 1, ...how })())
      }
      const read = right(await store.read({ stream: 's', from: 0, direction: 'forwards', limit: 9 })())
      expect(read.map((found) => found.metadata)).toEqual(metadata)
    },
  )

  test('by two writers at once is written once, and both continue after it', async () => {
    const place = await somewhere()
    const writers = [await conversationsAt(place), await conversationsAt(place)]
    for (let round = 0; round < 20; round++) {
      const positions = await Promise.all(
        writers.map(async (writer, n) => {
          const chat = writer.conversation('c')
          const { position } = await chat.append(message, {
            commandId: `${round}`,
            actor: { kind: 'test', id: `${n}` },
          })
          await chat.append({ role: 'user', content: `${n}` })
          return position
        }),
      )
      expect(positions[0]).toBe(positions[1])
    }
    const [one] = writers
    expect(await one?.conversation('c').position()).toBe(59)
    expect(await one?.conversation('c').verify()).toEqual({ conversation: 'c', events: 60 })
  })

  test('as an import, by two writers at once, adds everything once', async () => {
    const place = await somewhere()
    const writers = [await conversationsAt(place), await conversationsAt(place)]
    const messages = Array.from({ length: 1_200 }, (_, n) => ({
      role: n % 2 === 0 ? 'user' : 'assistant',
      content: `${n}`,
    }))
    const file = { text: JSON.stringify({ messages }), file: 'f.json', id: 'c' }
    await Promise.all(writers.map((writer) => writer.importSession(file)))
    const chat = writers[0]?.conversation('c')
    const [again] = (await writers[1]?.importSession(file))?.conversations ?? []
    expect(again).toMatchObject({ added: 0 })
    expect(await chat?.effective()).toHaveLength(1_200)
    expect(await chat?.verify()).toEqual({ conversation: 'c', events: again?.events })
  })
})

describe('closing', () => {
  test('waits for the answers to appends under way', async () => {
    const { server, store } = await openBoth()
    server.misbehave({ kind: 'delay', ms: 100 })
    const append = store.append({ stream: 's', events: [event()], expected: -1 })()
    await expect.poll(() => appendsTo(server, 's')).toBe(1)
    right(await store.close()())
    expect(right(await append)).toBe('written')
  })

  test('ends an append that nobody answers, its outcome unknown', async () => {
    const server = await temporaryServer()
    const store = await open(server, { attempt: 4_000 })
    await begin(server, 's')
    server.misbehave({ kind: 'silence', times: 1_000 })
    const append = store.append({ stream: 's', events: [event()], expected: 0 })()
    await expect.poll(() => appendsTo(server, 's')).toBe(2)
    right(await store.close()())
    expect(left(await append)).toMatchObject({ _tag: 'OutcomeUnknown' })
    expect(appendsTo(server, 's')).toBe(2)
  })

  test('ends followers and reads, also when the server is gone', async () => {
    const { server, store } = await openBoth()
    const following = collect(store.follow({}))
    server.misbehave({ kind: 'silence', on: 'read' })
    const read = store.readAll({ limit: 1 })()
    await expect.poll(() => server.calls.filter(({ all }) => all)).toHaveLength(2)
    await server.kill()
    right(await store.close()())
    await following
    expect(left(await read)).toMatchObject({ _tag: 'StoreClosed' })
  })

  test('leaves no connection', async () => {
    const { url, connections } = await proxy(await temporaryServer())
    const store = await open({ url })
    right(await store.append({ stream: 's', events: [event()], expected: -1 })())
    await only(connections)
    right(await store.close()())
    await expect.poll(() => connections.filter(([near]) => near?.closed === false)).toEqual([])
  })

  test('twice is fine; then every method answers that the store is closed', async () => {
    const store = await (await somewhere()).open()
    right(await store.close()())
    right(await store.close()())
    const range = { stream: 's', from: 0, direction: 'forwards', limit: 1 } as const
    const answers = await Promise.all([
      store.append({ stream: 's', events: [event()], expected: -1 })(),
      store.read(range)(),
      store.find('s', 'x')(),
      store.count('s', 'x', 1)(),
      store.keptEnd('s')(),
      store.streams('', '', 1)(),
      store.newest([''], undefined, 1)(),
      store.changed('', undefined)(),
      store.readAll({ limit: 1 })(),
    ])
    for (const answer of answers) expect(left<unknown>(answer)).toMatchObject({ _tag: 'StoreClosed' })
    expect(await collect(store.follow({}))).toEqual([])
  })

  test('lets the process end by itself', async () => {
    const server = await temporaryServer()
    const result = await ended(start('store/eventstoredb/children/closing.ts', server.url))
    expect(result).toEqual({ output: 'closed', code: 0 })
  })
})
