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
