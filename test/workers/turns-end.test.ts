import { describe, expect, test } from 'vitest'
import { storeOn } from '../../src/api/open.ts'
import { orThrow, run } from '../../src/result/steps.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { release, take } from '../../src/workers/attempt.ts'
import { ownClock } from '../../src/workers/clock.ts'
import { knownBy } from '../../src/workers/known.ts'
import { placeOfClaim } from '../../src/workers/turns-end.ts'
import { watch } from '../../src/workers/watch.ts'
import { say } from '../support/workers/hands.ts'

/** A conversation that somebody has asked about, and what a worker knows that has received nothing of its turns. */
const scene = async (answersAll = false) => {
  const store = memoryStore()
  const { conversation } = storeOn(store, { kind: 'test' })
  const chat = conversation('b')
  const { signal } = new AbortController()
  const step = async (after?: string) => {
    const known = knownBy(() => true, {}, answersAll)
    const { events } = await orThrow(store.readAll({ after, prefixes: ['conversation-'], limit: 100 }))
    for (const event of events) known.see(event, 0)
    const open = known.steps.get('b')
    if (!open) throw new Error('nothing is open')
    const observer = { known, watch: watch(ownClock, signal), around: { store } }
    return { open, place: () => placeOfClaim(observer, chat, open) }
  }
  const claimAs = async (worker: string): Promise<number> => {
    const { open, place } = await step()
    const at = await place()
    if (at === undefined) throw new Error('somebody else was first')
    return (await orThrow(run(take({ chat, worker }, open, at)))) ?? -1
  }
  if (answersAll) {
    // Positions and revisions differ in a fork.
    for (let n = 0; n < 3; n++) await say(store, 'a')
    await orThrow(conversation('a').fork('b'))
    await say(store, 'b')
  } else await say(store, 'b', true)
  return { store, chat, step, claimAs }
}

describe('a worker that has received nothing of the turns of a conversation', () => {
  test('claims it from the beginning if nobody has claimed it', async () => {
    const { step } = await scene()
    expect(await (await step()).place()).toMatchObject({ revision: -1 })
  })
  test('does not claim what another has claimed', async () => {
    const { step, claimAs } = await scene()
    await claimAs('w')
    expect(await (await step()).place()).toBeUndefined()
  })
  test('nor the next step of that, with which the other continues', async () => {
    const { store, step, claimAs } = await scene()
    await claimAs('w')
    await say(store, 'b')
    const { open, place } = await step()
    expect(open.name).toBe('conversation@1')
    expect(await place()).toBeUndefined()
  })
  test('claims, after all that is recorded, what was asked for after the claims that it has not received', async () => {
    const { store, chat, step, claimAs } = await scene()
    const claimed = await claimAs('w')
    const { checkpoint } = await orThrow(store.readAll({ limit: 100 }))
    const done = { step: 'conversation@0', reason: 'done' } as const
    await orThrow(run(release({ chat, worker: 'w' }, claimed, done, { attempt: 1, errors: [] })))
    await say(store, 'b', true)
    const { open, place } = await step(checkpoint)
    expect(open.name).toBe('conversation@1')
    expect(await place()).toMatchObject({ revision: claimed + 1 })
  })
})

describe('a worker that answers all and has received nothing of the turns of a conversation', () => {
  test('does not claim what another has claimed, however long that is on its way', async () => {
    const { step, claimAs } = await scene(true)
    await claimAs('w')
    expect(await (await step()).place()).toBeUndefined()
  })
  test('nor what another has claimed and let go of', async () => {
    const { chat, step, claimAs } = await scene(true)
    const claimed = await claimAs('w')
    const free = { step: `turns@${claimed - 1}`, reason: 'free' } as const
    await orThrow(run(release({ chat, worker: 'w' }, claimed, free, { attempt: 1, errors: [] })))
    expect(await (await step()).place()).toBeUndefined()
  })
  test('claims what was said after the claims that it has not received', async () => {
    const { store, step, claimAs } = await scene(true)
    const claimed = await claimAs('w')
    const { checkpoint } = await orThrow(store.readAll({ limit: 100 }))
    await say(store, 'b')
    const { open, place } = await step(checkpoint)
    expect(open.name).toBe('conversation@2')
    expect(await place()).toMatchObject({ revision: claimed })
  })
})
