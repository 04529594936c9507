import { describe, expect, test } from 'vitest'
import { storeOn } from '../../../../src/api/open.ts'
import { orThrow, run } from '../../../../src/result/fallible.ts'
import { memoryStore } from '../../../../src/store/memory/store.ts'
import { release, take, placeOfClaim } from '../../../../src/agent/workers/serving/claim.ts'
import { ownClock, watch } from '../../../../src/agent/workers/peers/clock.ts'
import { createWorkBoard } from '../../../../src/agent/workers/board/work-board.ts'
import { isSeenWhole } from '../../../../src/agent/workers/board/open-step.ts'
import { refusals } from '../../../../src/agent/workers/choosing/own-claims.ts'
import { say } from '../../../support/workers/hands.ts'

/** A conversation that somebody has asked about, and what a worker knows that has received nothing of its turns. */
const scene = async ({ answersAll = false, asksFirst = false } = {}) => {
  const store = memoryStore()
  const { conversation } = storeOn(store, { kind: 'test' })
  const chat = conversation('b')
  const { signal } = new AbortController()
  const step = async (after?: string) => {
    const known = createWorkBoard(() => true, {}, answersAll)
    const { events } = await orThrow(store.readAll({ after, prefixes: ['conversation-'], limit: 100 }))
    for (const event of events) known.see(event, 0)
    const open = known.steps.get('b')
    if (!open) throw new Error('nothing is open')
    const refused = refusals(known, ownClock, 1_000)
    const observer = { known, refused, watch: watch(ownClock, signal), around: { store } }
    const place = () => placeOfClaim(observer, chat, open, chat.position()())
    return { open, place, refuse: () => refused.add('b', known.turnsAt('b')) }
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
  } else {
    // Of a conversation whose beginning asks, a worker has received everything.
    if (!asksFirst) await say(store, 'b')
    await say(store, 'b', true)
  }
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
    expect(open.name).toBe('conversation@2')
    expect(await place()).toBeUndefined()
  })
  test('claims, after all that is recorded, what was asked for after the claims that it has not received', async () => {
    const { store, chat, step, claimAs } = await scene()
    const claimed = await claimAs('w')
    const { checkpoint } = await orThrow(store.readAll({ limit: 100 }))
    const done = { step: 'conversation@1', reason: 'done' } as const
    await orThrow(run(release({ chat, worker: 'w' }, claimed, done, { attempt: 1, errors: [] })))
    await say(store, 'b', true)
    const { open, place } = await step(checkpoint)
    expect(open.name).toBe('conversation@2')
    expect(await place()).toMatchObject({ revision: claimed + 1 })
  })
})

describe('a worker that has seen the conversation begin, and received nothing of its turns', () => {
  test('claims it from the beginning; if another was first, that is refused, and it looks', async () => {
    const { step, claimAs } = await scene({ asksFirst: true })
    await claimAs('w')
    const { place, refuse } = await step()
    expect(await place()).toMatchObject({ revision: -1 })
    await expect(claimAs('v')).rejects.toMatchObject({ _tag: 'Conflict' })
    refuse()
    expect(await place()).toBeUndefined()
  })
})

describe('a worker that answers all and has received nothing of the turns of a conversation', () => {
  test('does not claim what another has claimed, however long that is on its way', async () => {
    const { step, claimAs } = await scene({ answersAll: true })
    await claimAs('w')
    expect(await (await step()).place()).toBeUndefined()
  })
  test('nor takes a fork for a conversation of which it has received everything', async () => {
    const { store, step } = await scene({ answersAll: true })
    await say(store, 'b', true)
    const { open } = await step()
    expect(open.begunBy).toBe('conversation@0')
    expect(isSeenWhole(open)).toBe(false)
  })
  test('nor what another has claimed and let go of', async () => {
    const { chat, step, claimAs } = await scene({ answersAll: true })
    const claimed = await claimAs('w')
    const free = { step: `turns@${claimed - 1}`, reason: 'free' } as const
    await orThrow(run(release({ chat, worker: 'w' }, claimed, free, { attempt: 1, errors: [] })))
    expect(await (await step()).place()).toBeUndefined()
  })
  test('claims what was said after the claims that it has not received', async () => {
    const { store, step, claimAs } = await scene({ answersAll: true })
    const claimed = await claimAs('w')
    const { checkpoint } = await orThrow(store.readAll({ limit: 100 }))
    await say(store, 'b')
    const { open, place } = await step(checkpoint)
    expect(open.name).toBe('conversation@2')
    expect(await place()).toMatchObject({ revision: claimed })
  })
})
