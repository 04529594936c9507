import { describe, expect, test } from 'vitest'
import { opened } from '../../support/stores.ts'
import { ask, scene } from '../../support/workers/scene.ts'

describe('the facts of turns', () => {
  test('are given from a position on, in order, and new ones as they come', async () => {
    const { store, worker } = await scene()
    const chat = store.conversation('a')
    await chat.append(ask, { answer: true })
    await chat.pause({ by: 'ann' })
    await chat.append(ask)
    await chat.resume({ by: 'ann' })
    const types = []
    for await (const { type } of chat.turnFacts()) types.push(type)
    expect(types).toEqual(['TurnsBegun', 'TurnsPaused', 'TurnsResumed'])
    const later = []
    for await (const { type, data } of chat.turnFacts({ from: 1, follow: true })) {
      later.push([type, data.at])
      if (later.length === 1) worker()
      if (type === 'TurnClaimed') break
    }
    expect(later).toEqual([
      ['TurnsResumed', 1],
      ['TurnClaimed', 1],
    ])
  })

  test('end with the signal, and an option that there is not is refused', async () => {
    const chat = (await opened('memory:')).conversation('a')
    await chat.append(ask)
    for await (const _ of chat.turnFacts({ follow: true, signal: AbortSignal.timeout(5) })) expect(_).toBe(1)
    const wrong = chat.turnFacts({ after: 1 } as never)[Symbol.asyncIterator]()
    await expect(wrong.next()).rejects.toMatchObject({ _tag: 'InvalidInput', path: 'after' })
  })

  test('are not recorded without a name, and the error shows the options of the method', async () => {
    const chat = (await opened('memory:')).conversation('a')
    await chat.append(ask)
    const messageOf = (made: Promise<unknown>): Promise<unknown> =>
      made.then(
        () => 'nothing was refused',
        ({ _tag, message }: { _tag: string; message: string }) => `${_tag} ${message}`,
      )
    const wrong = chat as unknown as Record<string, (...given: readonly unknown[]) => Promise<unknown>>
    for (const [method, given, example] of [
      ['pause', [], "{ by: 'ann' }"],
      ['approve', ['x'], "{ by: 'ann' }"],
      ['rewind', [], '{ to: 4 }'],
      ['condense', [], "{ summary: 'The parser was examined.' }"],
      ['fork', ['b', 4], '{ at: 4 }'],
    ] as const)
      expect(await messageOf(wrong[method]?.(...given) ?? Promise.resolve())).toBe(
        `InvalidInput options: must be an object, like ${example}`,
      )
    expect(await messageOf(chat.pause({} as never))).toBe('InvalidInput by: is missing: it must be a string')
  })

  test('have a request once, however often it is made under one id', async () => {
    const chat = (await opened('memory:')).conversation('a')
    await chat.append(ask)
    const actor = { kind: 'user', id: 'ann' }
    await Promise.all([1, 2, 3].map(() => chat.request({ tenant: 'acme', commandId: 'c1', actor })))
    await chat.request({ commandId: 'c2' })
    const requests = []
    for await (const { type, metadata } of chat.turnFacts())
      if (type === 'TurnRequested') requests.push([metadata.commandId, metadata.actor.kind])
    expect(requests).toEqual([
      ['c1', 'user'],
      ['c2', 'program'],
    ])
  })
})
