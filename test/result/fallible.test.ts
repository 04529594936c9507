import * as E from 'fp-ts/lib/Either.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { describe, expect, test } from 'vitest'
import { catchTyped, unwrap, run, type Fallible, task } from '../../src/result/fallible.ts'
import { toError, type TypedError } from '../../src/result/typed-error.ts'

const full: TypedError = { _tag: 'StoreFull', message: 'free some space' }
const failing = (): Fallible<TypedError, never> => unwrap(E.left(full))

describe('fallible work', () => {
  test.each([
    ['an Either', () => unwrap(E.right(1))],
    ['a promise of one', () => unwrap(Promise.resolve(E.right(1)))],
    ['a TaskEither', () => unwrap(TE.right(1))],
  ] as const)('gives the value of %s', async (_, work) => {
    expect(await run(work())).toEqual(E.right(1))
  })

  test('ends with the first error, wherever it comes from; nothing after it runs', async () => {
    const done: string[] = []
    async function* inner(): Fallible<TypedError, void> {
      done.push('before')
      yield* failing()
      done.push('after')
    }
    async function* outer(): Fallible<TypedError, void> {
      yield* inner()
      done.push('outer')
    }
    expect(await task(outer)()).toEqual(E.left(full))
    expect(done).toEqual(['before'])
  })

  test('runs its finally blocks, the innermost first, when it ends with an error', async () => {
    const closed: string[] = []
    async function* inner(): Fallible<TypedError, number> {
      try {
        return yield* failing()
      } finally {
        closed.push('inner')
      }
    }
    async function* outer(): Fallible<TypedError, number> {
      try {
        return yield* inner()
      } finally {
        closed.push('outer')
      }
    }
    expect(await run(outer())).toEqual(E.left(full))
    expect(closed).toEqual(['inner', 'outer'])
  })

  test('takes a typed error that was thrown as its own', async () => {
    const result = await run(catchTyped(() => Promise.reject(toError(full))))
    expect(result).toMatchObject(E.left(full))
  })

  test('rejects with the original bug, with its stack', async () => {
    const bug = new TypeError('undefined is not a function')
    async function* broken(): Fallible<TypedError, void> {
      yield* catchTyped(() => Promise.reject(bug))
    }
    await expect(run(broken())).rejects.toBe(bug)
  })
})
