import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openStore, type Store } from '../../src/index.ts'
import { atEnd } from '../support/at-end.ts'
import { scale } from '../support/runs.ts'
import { temporaryFolder } from '../support/stores.ts'
import { randomFrom, simulatedClient, withoutAccount } from './support/simulated-client.ts'

/** Number of runs of each kind, with 120 calls each: 20,160 calls in all, or a few. */
const all = scale < 1 ? 2 : 84

interface Tally {
  readonly calls: number
  readonly wrong: readonly string[]
}

/** Records the calls of several clients at once; halfway, the recorder starts again on the same store. */
const simulate = async (seed: number, isNamed: boolean, calls: number): Promise<Tally> => {
  const url = `sqlite:${join(temporaryFolder(), 'store.db')}?synchronous=off`
  let store: Store = await openStore(url)
  atEnd(() => store.close())
  const random = randomFrom(seed)
  const clock = { now: Date.parse('2026-11-30T12:00:00Z') }
  const clients = Array.from({ length: 3 }, () => simulatedClient({ random, isNamed, clock }))
  /** The bodies that were answered, by conversation and position of the reply. */
  const sent = new Map<string, string>()
  const wrong: string[] = []
  let made = 0
  let isRestarted = false
  while (made < calls) {
    for (const call of clients[random(clients.length)]?.next() ?? []) {
      made++
      const recorded = await store.record(call.exchange)
      if (!recorded) throw new Error(`call ${made} of seed ${seed} was not recorded`)
      const { label, conversation, position, isExact } = recorded
      expect({ seed, made, isExact }).toEqual({ seed, made, isExact: call.isAnswered ? true : undefined })
      if (call.isAnswered) sent.set(`${conversation} ${position}`, withoutAccount(call.text))
      if (!call.labels.includes(label))
        wrong.push(`${seed} ${isNamed} #${made}: ${label}, not ${call.labels.join()}`)
    }
    if (!isRestarted && made > calls / 2) {
      isRestarted = true
      await store.close()
      store = await openStore(url)
    }
  }
  for await (const { id } of store.conversations()) {
    const chat = store.conversation(id)
    const { findings } = await chat.verifyReceipts()
    expect({ id, findings }).toEqual({ id, findings: [] })
    for await (const call of chat.calls()) {
      const text = sent.get(`${id} ${call.position}`)
      if (text === undefined) continue // inherited by a fork
      const { body, isSame } = await chat.sent(call)
      expect({ id, text: JSON.stringify(body), isSame }).toEqual({ id, text, isSame: true })
      sent.delete(`${id} ${call.position}`)
    }
  }
  expect([...sent.keys()]).toEqual([])
  return { calls: made, wrong }
}

describe('simulated clients', () => {
  for (const isNamed of [true, false])
    it(
      `${isNamed ? 'with' : 'without'} session ids: every request is made again to the byte, and named as it was made`,
      { timeout: 3_600_000 },
      async () => {
        const tallies: Tally[] = []
        for (let seed = 1; seed <= all; seed++)
          tallies.push(
            await simulate(seed * 7919 + Number(process.env['PALIMPSEST_SEED'] ?? 0), isNamed, 120),
          )
        const calls = tallies.reduce((sum, each) => sum + each.calls, 0)
        const wrong = tallies.flatMap((each) => each.wrong)
        // Shows the labels if there are too many.
        expect(wrong.slice(Math.ceil(calls / 1_000))).toEqual([])
      },
    )
})
