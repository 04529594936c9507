import * as E from 'fp-ts/lib/Either.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { copyConversations, type EventStore, openStore, registerStore, type Store } from 'palimpsest'
import { memoryStore, storeContract } from 'palimpsest/testing'
import { describe, expect, test } from 'vitest'
import { foreignStore } from '../../src/api/foreign-store.ts'
import { diagnose } from '../../src/api/schemes.ts'
import type { AllPage, Liveness } from '../../src/store/port.ts'
import { right } from '../support/either.ts'

const hello = { role: 'user', content: 'Hello.' } as const

/** A store that holds a conversation with a note, of which a method is replaced once it is open. */
const withFault = async (fault: (store: EventStore) => object) => {
  const sound = memoryStore('own:store')
  const filled = await openStore(sound)
  await filled.conversation('a').append(hello)
  await filled.conversation('a').note({ kind: 'title', data: 'A' })
  return openStore({ ...sound, ...fault(sound) })
}
const list = async (items: AsyncIterable<unknown>): Promise<unknown[]> => {
  const all: unknown[] = []
  for await (const item of items) all.push(item)
  return all
}

describe('a store of one’s own, as the library sees it, keeps the contract', () => {
  test.each(storeContract.map(({ title, run }) => [title, run] as const))('%s', async (_, run) => {
    await expect(run(right(foreignStore(memoryStore())))).resolves.toBeUndefined()
  })
})

test('a store of one’s own may tell who lives', () => {
  const liveness: Liveness = {
    hold: async () => async () => {},
    inherit: async () => undefined,
    names: async () => ['a'],
  }
  expect(right(foreignStore({ ...memoryStore(), liveness })).liveness).toBe(liveness)
})

test('an object with methods of a class is a store', async () => {
  class Own {
    readonly #inner = memoryStore()
    readonly url = 'own:'
    readonly maxAppendBytes = Infinity
    readonly blobs = this.#inner.blobs
    append = this.#inner.append
    follow = this.#inner.follow
    close = this.#inner.close
    read(...given: Parameters<EventStore['read']>) {
      return this.#inner.read(...given)
    }
    find(...given: Parameters<EventStore['find']>) {
      return this.#inner.find(...given)
    }
    count(...given: Parameters<EventStore['count']>) {
      return this.#inner.count(...given)
    }
    keptEnd(...given: Parameters<EventStore['keptEnd']>) {
      return this.#inner.keptEnd(...given)
    }
    streams(...given: Parameters<EventStore['streams']>) {
      return this.#inner.streams(...given)
    }
    newest(...given: Parameters<EventStore['newest']>) {
      return this.#inner.newest(...given)
    }
    changed(...given: Parameters<EventStore['changed']>) {
      return this.#inner.changed(...given)
    }
    readAll(...given: Parameters<EventStore['readAll']>) {
      return this.#inner.readAll(...given)
    }
  }
  const store = await openStore(new Own())
  await store.conversation('a').append(hello)
  expect(await list(store.conversations())).toMatchObject([{ id: 'a', title: 'Hello.' }])
})

/** What was thrown. */
const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => expect.unreachable('it succeeded'),
    (thrown: unknown) => thrown,
  )

describe('a store that fails with what is no error', () => {
  test.each<[unknown, string]>([
    ['the disk is on fire', "'the disk is on fire'"],
    [undefined, 'undefined'],
    [null, 'null'],
    [5, '5'],
    [{ code: 7 }, '{ code: 7 }'],
    ['postgres://dana:s3cret@host is down', "'postgres://…@host is down'"],
    [new Error('no connection'), 'Error: no connection'],
  ])('such as %j is told so, and what it failed with', async (error, shown) => {
    const failures = [
      async () => E.left(error),
      ...(error instanceof Error
        ? []
        : [
            async () => {
              throw error
            },
          ]),
    ]
    for (const fail of failures) {
      const store = await withFault(() => ({ read: () => fail }))
      const failure = await failureOf(list(store.conversation('a').events()))
      expect(failure).toBeInstanceOf(Error)
      expect(failure).toMatchObject({ _tag: 'StoreFaulty', store: 'own:store', cause: error })
      expect((failure as Error).message).toMatch(/^read of own:store (failed with|threw) /)
      expect((failure as Error).message).toContain(shown)
    }
  })

  test('is told so wherever it is asked', async () => {
    const fault = () => async () => E.left('no')
    const faulty = { _tag: 'StoreFaulty' }
    const failing = async (...methods: readonly string[]) =>
      withFault(() => Object.fromEntries(methods.map((method) => [method, fault])))
    const named = (await failing('find')).conversation('a').append(hello, { commandId: 'k' })
    expect(await failureOf(named)).toMatchObject(faulty)
    for (const method of ['newest', 'changed', 'count', 'read'])
      expect(await failureOf(list((await failing(method)).conversations()))).toMatchObject(faulty)
    const store = await failing('streams', 'readAll', 'close', 'integrity')
    expect(await failureOf(list(store.conversations({ sort: 'id' })))).toMatchObject(faulty)
    expect(await failureOf(list(store.readAll()))).toMatchObject(faulty)
    expect(await failureOf(store.check())).toMatchObject(faulty)
    expect(await failureOf(store.close())).toMatchObject(faulty)
  })

  test('while it is followed, or gives content, is told so', async () => {
    // oxlint-disable-next-line require-yield, no-throw-literal -- as a careless store does
    const throwing = async function* (): AsyncGenerator<never> {
      throw 'no'
    }
    const store = await withFault(({ blobs }) => ({ follow: throwing, blobs: { ...blobs, list: throwing } }))
    expect(await failureOf(list(store.follow()))).toMatchObject({ _tag: 'StoreFaulty', cause: 'no' })
    expect(await failureOf(store.gc())).toMatchObject({ _tag: 'StoreFaulty', cause: 'no' })
  })

  test('with an error of the port fails with that; a bug of its own rejects as itself', async () => {
    const away = { _tag: 'StoreUnavailable', message: 'nobody answers', store: 'own:store' }
    const bug = new TypeError('a bug')
    for (const [fail, error] of [
      [async () => E.left(away), away],
      [() => Promise.reject(bug), bug],
    ] as const) {
      const store = await withFault(() => ({ read: () => fail }))
      expect(await failureOf(list(store.conversation('a').events()))).toMatchObject(error)
    }
  })
})

describe('an append that answers', () => {
  test.each([undefined, null, true, 'ok', 'Written', { written: 1 }])(
    '%j has an unknown outcome, and says what it answered',
    async (word) => {
      const store = await withFault(() => ({ append: () => async () => E.right(word) }))
      const failure = await failureOf(store.conversation('a').append(hello))
      expect(failure).toMatchObject({ _tag: 'OutcomeUnknown', stream: 'conversation-a', cause: word })
      expect((failure as Error).message).toContain("which is not 'written', 'repeated' or 'taken'")
    },
  )

  test('nothing, or fails with what is no error, has an unknown outcome', async () => {
    for (const answer of [undefined, 'written', E.left('no')]) {
      const store = await withFault(() => ({ append: () => async () => answer }))
      const failure = await failureOf(store.conversation('a').append(hello))
      expect(failure).toMatchObject({ _tag: 'OutcomeUnknown', events: [expect.any(String)] })
    }
  })
})

/** A page of a store that does not say whether there is more. */
const withoutEnd = ({ events, checkpoint }: AllPage): AllPage => ({ events, checkpoint })

describe('an answer that no store may give', () => {
  test.each<[string, (sound: EventStore) => object, (store: Store) => Promise<unknown>]>([
    [
      'the same page of newest streams again',
      ({ newest }) =>
        ({
          newest: (prefixes, _, limit) => newest(prefixes, undefined, limit),
        }) satisfies Partial<EventStore>,
      (store) => list(store.conversations()),
    ],
    [
      'the same page of newest streams again, for links',
      ({ newest }) =>
        ({
          newest: (prefixes, _, limit) => newest(prefixes, undefined, limit),
        }) satisfies Partial<EventStore>,
      (store) => store.conversation('a').links(),
    ],
    [
      'the same page of streams again',
      ({ streams }) =>
        ({ streams: (prefix, _, limit) => streams(prefix, '', limit) }) satisfies Partial<EventStore>,
      (store) => list(store.conversations({ sort: 'id' })),
    ],
    [
      'the same page of events again',
      ({ readAll }) =>
        ({
          readAll: (range) => TE.map(withoutEnd)(readAll({ ...range, after: undefined })),
        }) satisfies Partial<EventStore>,
      (store) => list(store.readAll()),
    ],
    [
      'streams that were not asked for',
      () => ({ newest: () => async () => E.right(['other']) }),
      (store) => list(store.conversations()),
    ],
    [
      'no list of names',
      () => ({ newest: () => async () => E.right('a') }),
      (store) => list(store.conversations()),
    ],
    [
      'no list of events',
      () => ({ read: () => async () => E.right([null]) }),
      (store) => store.conversation('a').effective(),
    ],
    ['no count', () => ({ count: () => async () => E.right('5') }), (store) => list(store.conversations())],
    [
      'no changes',
      () => ({ changed: () => async () => E.right(undefined) }),
      (store) => list(store.conversations()),
    ],
    [
      'no end',
      () => ({ keptEnd: () => async () => E.right({}) }),
      (store) => store.conversation('a').verify({ file: false }),
    ],
    [
      'nothing that was found',
      () => ({ find: () => async () => E.right(3) }),
      (store) => store.conversation('a').append(hello, { commandId: 'k' }),
    ],
    ['no Either', () => ({ read: () => async () => [] }), (store) => store.conversation('a').effective()],
  ])('is told: %s', async (_, fault, work) => {
    expect(await failureOf(work(await withFault(fault)))).toMatchObject({ _tag: 'StoreFaulty' })
  })
})

describe('a function of one’s own that opens a store', () => {
  test.each<[string, () => unknown]>([
    ['fails with a text', () => E.left('no such database')],
    ['fails with nothing', () => E.left(undefined)],
    ['answers nothing', () => undefined],
  ])('and %s is told so, by all who open it', async (name, answer) => {
    const scheme = `foreign-${name.replaceAll(' ', '-')}`
    registerStore(scheme, () => async () => answer() as never)
    const url = `${scheme}:x`
    for (const create of [true, false, 'late'] as const)
      expect(await failureOf(openStore(url, { create }))).toMatchObject({ _tag: 'StoreFaulty', store: url })
    expect(await failureOf(copyConversations({ from: url, to: 'memory:' }))).toMatchObject({
      _tag: 'StoreFaulty',
    })
    expect(right(await diagnose(url)())).toMatchObject([{ check: 'connection', status: 'problem' }])
  })

  test('gives a store that is looked at as one that is passed', async () => {
    registerStore(
      'foreign-store',
      () => async () => E.right({ ...memoryStore(), close: () => async () => E.left(5) as never }),
    )
    const store = await openStore('foreign-store:')
    expect(await failureOf(store.close())).toMatchObject({ _tag: 'StoreFaulty' })
  })
})
