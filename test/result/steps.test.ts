import * as E from 'fp-ts/lib/Either.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { describe, expect, test } from 'vitest'
import { catchTyped, ok, run, type Steps, task } from '../../src/result/steps.ts'
import { toError, type TypedError } from '../../src/result/typed-error.ts'

const full: TypedError = { _tag: 'StoreFull', message: 'free some space' }
const failing = (): Steps<TypedError, never> => ok(E.left(full))

describe('steps', () => {
  test.each([
    ['an Either', () => ok(E.right(1))],
    ['a promise of one', () => ok(Promise.resolve(E.right(1)))],
    ['a TaskEither', () => ok(TE.right(1))],
  ] as const)('give the value of %s', async (_, steps) => {
    expect(await run(steps())).toEqual(E.right(1))
  })

  test('end with the first error, wherever it comes from; nothing after it runs', async () => {
    const done: string[] = []
    async function* inner(): Steps<TypedError, void> {
      done.push('before')
      yield* failing()
      done.push('after')
    }
    async function* outer(): Steps<TypedError, void> {
      yield* inner()
      done.push('outer')
    }
    expect(await task(outer)()).toEqual(E.left(full))
    expect(done).toEqual(['before'])
  })

  test('run their finally blocks, the innermost first, when they end with an error', async () => {
    const closed: string[] = []
    async function* inner(): Steps<TypedError, number> {
      try {
        return yield* failing()
      } finally {
        closed.push('inner')
      }
    }
    async function* outer(): Steps<TypedError, number> {
      try {
        return yield* inner()
      } finally {
        closed.push('outer')
      }
    }
    expect(await run(outer())).toEqual(E.left(full))
    expect(closed).toEqual(['inner', 'outer'])
  })

  test('take a typed error that was thrown as theirs', async () => {
    const result = await run(catchTyped(() => Promise.reject(toError(full))))
    expect(result).toMatchObject(E.left(full))
  })

  test('reject with a bug as it is, with its own stack', async () => {
    const bug = new TypeError('undefined is not a function')
    async function* broken(): Steps<TypedError, void> {
      yield* catchTyped(() => Promise.reject(bug))
    }
    await expect(run(broken())).rejects.toBe(bug)
  })
})
