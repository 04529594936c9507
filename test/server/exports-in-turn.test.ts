import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { flowInTurn, lane } from '../../src/server/bounded.ts'
import { failure } from '../support/either.ts'

/** Exports of one line each, in a queue of their own: which have begun, and what ends them. */
const exports = () => {
  const inTurn = lane()
  const begun: number[] = []
  const begin = (name: number, left = new AbortController().signal) =>
    flowInTurn(
      inTurn,
      () => left,
      async () => {
        begun.push(name)
        return (async function* () {
          yield `line ${name}`
        })()
      },
    )
  return { begun, begin }
}
const taken = async (exporting: ReturnType<ReturnType<typeof exports>['begin']> | undefined) => {
  const lines: string[] = []
  for await (const line of (await exporting) ?? expect.fail('nothing was begun')) lines.push(line)
  return lines.join('\n')
}

test('of many exports two run at the same time; the next begins when one has been taken to its end', async () => {
  const { begun, begin } = exports()
  const [one, , ...rest] = [1, 2, 3, 4].map((name) => begin(name))
  await nextTurn()
  expect(begun).toEqual([1, 2])
  const first = await one
  await first?.next()
  await nextTurn()
  expect(begun).toEqual([1, 2])
  expect(await first?.next()).toMatchObject({ done: true })
  expect(await taken(rest[0])).toBe('line 3')
  expect(await taken(rest[1])).toBe('line 4')
  expect(begun).toEqual([1, 2, 3, 4])
})

test('an export whose reader leaves makes room, whether it was begun, taken in part, or waited', async () => {
  const { begun, begin } = exports()
  const [never, partly, waiting] = [new AbortController(), new AbortController(), new AbortController()]
  await begin(1, never.signal)
  await (await begin(2, partly.signal)).next()
  const left = failure(begin(3, waiting.signal))
  const [four, five] = [begin(4), begin(5)]
  await nextTurn()
  waiting.abort()
  expect(await left).toMatchObject({ _tag: 'Ending' })
  never.abort()
  expect(await taken(four)).toBe('line 4')
  partly.abort()
  expect(await taken(five)).toBe('line 5')
  expect(begun).toEqual([1, 2, 4, 5])
})

test('an export that fails as it begins makes room, and one for which there are too many is refused at once', async () => {
  const inTurn = lane()
  const signal = () => new AbortController().signal
  const broken = () => flowInTurn(inTurn, signal, () => Promise.reject(new Error('no such event')))
  for (let n = 0; n < 3; n++) expect(await failure(broken())).toMatchObject({ message: 'no such event' })
  const never = Promise.withResolvers<AsyncGenerator<string, void>>()
  const all = Array.from({ length: 34 }, () => failure(flowInTurn(inTurn, signal, () => never.promise)))
  expect(await failure(flowInTurn(inTurn, signal, () => never.promise))).toMatchObject({ _tag: 'Overloaded' })
  never.reject(new Error('the end'))
  for (const error of await Promise.all(all)) expect(error).toMatchObject({ message: 'the end' })
})
