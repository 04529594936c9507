import * as Either from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { beforeAll, describe, expect, test } from 'vitest'
import type * as tasks from '../../src/fp.ts'
import { openStore as openTasks } from '../../src/fp.ts'
import type * as promises from '../../src/index.ts'
import { openStore } from '../../src/index.ts'
import { right } from '../support/either.ts'

// `palimpsest` and `palimpsest/fp` have the same methods: the first makes promises of what the second answers with.

type SameNames<A, B> = [keyof A, keyof B] extends [keyof B, keyof A] ? true : false

// What the compiler is told of them; the tests look at the objects themselves.
void ({
  store: true satisfies SameNames<promises.Store, tasks.Store>,
  conversation: true satisfies SameNames<promises.Conversation, tasks.Conversation>,
  worker: true satisfies SameNames<promises.Worker, tasks.Worker>,
  catalogue: true satisfies SameNames<promises.Store['catalogue'], tasks.Store['catalogue']>,
  audit: true satisfies SameNames<promises.Store['audit'], tasks.Store['audit']>,
  retention: true satisfies SameNames<promises.Store['retention'], tasks.Store['retention']>,
} as const)

const message = { role: 'user', content: 'Hello.' } as const
const noTurn = () => {
  throw new Error('nobody asks for a turn')
}

interface Objects {
  readonly conversation: object
  readonly fork: object
  readonly worker: object
  readonly catalogue: object
  readonly audit: object
  readonly retention: object
  /** The last: it is closed by one of its methods. */
  readonly store: object
}
const names = ['conversation', 'fork', 'worker', 'catalogue', 'audit', 'retention', 'store'] as const

/** What an API has: the same conversation in a store of its own. */
const ofPromises = async (): Promise<Objects> => {
  const store = await openStore('memory:')
  const conversation = store.conversation('c')
  await conversation.append(message)
  const { catalogue, audit, retention } = store
  const worker = store.worker({ turn: noTurn })
  return { store, conversation, fork: await conversation.fork('d'), worker, catalogue, audit, retention }
}
const ofTasks = async (): Promise<Objects> => {
  const store = right(await openTasks('memory:')())
  const conversation = store.conversation('c')
  right(await conversation.append(message)())
  const { catalogue, audit, retention } = store
  const worker = store.worker({ turn: noTurn })
  return {
    store,
    conversation,
    fork: right(await conversation.fork('d')()),
    worker,
    catalogue,
    audit,
    retention,
  }
}

const namesOf = (object: object): readonly string[] => Object.keys(object).toSorted()

/** Answers that do not take null differ only in how they say so: the tag of the error, or how the method has answered. */
const answers = async (
  object: object,
  outcome: (answer: unknown) => Promise<string>,
): Promise<Readonly<Record<string, string>>> => {
  const all: Record<string, string> = {}
  for (const [name, method] of Object.entries(object) as [string, unknown][])
    if (typeof method === 'function' && name !== 'conversation' && name !== 'worker')
      all[name] = await outcome(Reflect.apply(method, undefined, [null, null]))
  return all
}
const isItems = (answer: unknown): boolean =>
  typeof answer === 'object' && answer !== null && Symbol.asyncIterator in answer
const ofTask = async (answer: unknown): Promise<string> => {
  if (isItems(answer)) return 'items'
  const done = await (answer as TaskEither<{ readonly _tag: string }, unknown>)()
  return Either.isLeft(done) ? done.left._tag : 'done'
}
const ofPromise = async (answer: unknown): Promise<string> => {
  if (isItems(answer)) return 'items'
  expect(answer).toBeInstanceOf(Promise)
  return (answer as Promise<unknown>).then(
    () => 'done',
    (error: { readonly _tag: string }) => error._tag,
  )
}

describe('palimpsest and palimpsest/fp', () => {
  let [one, other]: readonly (Objects | undefined)[] = []
  beforeAll(async () => {
    one = await ofPromises()
    other = await ofTasks()
  })

  test.each(names)('have the same methods of: %s', (name) => {
    const own = namesOf(one?.[name] ?? {})
    expect(own.length).toBeGreaterThan(1)
    expect(namesOf(other?.[name] ?? {})).toEqual(own)
  })

  test.each(names)('answer alike what they do not take, to the methods of: %s', async (name) => {
    const own = await answers(one?.[name] ?? {}, ofPromise)
    expect(Object.keys(own).length).toBeGreaterThan(0)
    expect(await answers(other?.[name] ?? {}, ofTask)).toEqual(own)
  })
})
