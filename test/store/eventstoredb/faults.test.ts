import { setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import { expect, test } from 'vitest'
import { openEventStoreDb } from '../../../src/store/eventstoredb/store.ts'
import type { EventStore } from '../../../src/store/port.ts'
import { storeOn } from '../../../src/api/open.ts'
import { right } from '../../support/either.ts'
import type { Fault } from '../../support/eventstoredb/faults.ts'
import { runs } from '../../support/runs.ts'
import { patient, temporaryServer } from '../../support/stores.ts'

const writers = 8
const appends = runs(3_000)
const faults = runs(300)
const attempt = 100
const patience = 10_000
/** How much later than promised an append may be, in milliseconds, besides what the process itself was held up. */
const slack = 5_000
/** The part of the appends that go to conversations of all writers. */
const sharing = 0.05

const seed = Number(process.env['PALIMPSEST_SEED'] ?? 0)
let state = seed
/** At least 0, below 1: mulberry32. */
const random = (): number => {
  state = (state + 0x6d2b79f5) | 0
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
}

const kinds = ['drop', 'silence', 'unavailable', 'busy', 'deadline', 'notLeader', 'delay'] as const
const anyFault = (): Fault => ({
  kind: kinds[Math.floor(random() * kinds.length)] ?? 'drop',
  written: random() < 0.5,
  ms: random() * 2 * attempt,
})

/** How long this process was held up so far, in milliseconds: what its timers were late in all. */
const heldUp = (): { readonly now: () => number; readonly stop: () => void } => {
  const every = 10
  let late = 0
  let last = performance.now()
  const due = (): number => Math.max(0, performance.now() - last - every)
  const timer = setInterval(() => {
    late += due()
    last = performance.now()
  }, every)
  return { now: () => late + due(), stop: () => clearInterval(timer) }
}

test(`${writers} writers make ${appends} appends while ${faults} calls fail at random (seed ${seed}): each acknowledged event is there once, every chain holds, nobody waits longer than agreed`, async () => {
  const server = await temporaryServer()
  let struck = 0
  let longest = 0
  const held = heldUp()
  const begun = performance.now()
  const stores = await Promise.all(
    Array.from({ length: writers }, async (_, writer) => {
      // Clients of one process share a connection if they agree in this; those of eight processes do not.
      const parameters = `defaultDeadline=${attempt}&patience=${patience}&keepAliveInterval=${10_000 + writer}`
      return right(await openEventStoreDb(`${server.url}&${parameters}`)())
    }),
  )
  // At the last calls there is none left: the faults come over all of the run.
  server.misbehave(() => (struck < faults && random() < 0.15 && ++struck ? anyFault() : undefined))

  const acknowledged: string[] = []
  const unknown: string[] = []
  const timed = (store: EventStore): EventStore => ({
    ...store,
    append: (request) => async () => {
      const before = performance.now() - held.now()
      const outcome = await store.append(request)()
      longest = Math.max(longest, performance.now() - held.now() - before)
      return outcome
    },
  })
  const writing = stores.map(async (store, writer) => {
    const own = storeOn(timed(store), { kind: 'test', id: `${writer}` })
    for (let n = writer; n < appends; n += writers) {
      const id = random() < sharing ? `shared-${n % 3}` : `own-${writer}`
      const content = `${writer}-${n}`
      const named = random() < 0.05 ? { commandId: content } : undefined
      const written = await own.conversation(id).append({ role: 'user', content }, named)()
      if (E.isRight(written)) acknowledged.push(`${id} ${written.right.position} ${content}`)
      else if (written.left._tag === 'OutcomeUnknown') unknown.push(content)
      // A read that the command needs may find no answer either: then nothing of it was written.
      else expect(written.left._tag).toBe('StoreUnavailable')
    }
  })
  await Promise.all(writing)
  const isStarved = held.now() > (performance.now() - begun) / 2
  held.stop()
  expect(struck).toBe(faults)
  expect(longest).toBeLessThan(patience + attempt + slack)
  // What is still under way of the appends that came late.
  await sleep(2 * attempt)

  const store = storeOn(right(await openEventStoreDb(server.url + patient)()), { kind: 'test' })
  const stored: string[] = []
  for await (const { id } of store.conversations()) {
    expect(right(await store.conversation(id).verify()())).not.toHaveProperty('discrepancy')
    for await (const { position, type, data } of store.conversation(id).events())
      if (type === 'MessageAppended') stored.push(`${id} ${position} ${String(data.content[0]?.['text'])}`)
  }
  expect(new Set(stored.map((line) => line.split(' ')[2])).size).toBe(stored.length)
  expect(new Set(acknowledged).difference(new Set(stored))).toEqual(new Set())
  const others = new Set(stored).difference(new Set(acknowledged))
  expect([...others].every((line) => unknown.includes(line.split(' ')[2] ?? ''))).toBe(true)
  // On a machine that has little time for this process, calls are too late that no fault has struck.
  if (!isStarved) expect(acknowledged.length).toBeGreaterThan(appends * 0.99)
  await Promise.all([...stores, store].map((each) => each.close()()))
})
