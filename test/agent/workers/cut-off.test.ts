import * as E from 'fp-ts/lib/Either.js'
import { describe, expect, test } from 'vitest'
import { memoryStore } from '../../../src/store/memory/store.ts'
import type { EventStore } from '../../../src/store/port.ts'
import type { WorkerSettings } from '../../../src/agent/workers/serving/shift.ts'
import { cuttable } from '../../support/workers/cut-off.ts'
import { handClock, settled } from '../../support/workers/hand-clock.ts'
import { hand, say } from '../../support/workers/hands.ts'

const ttl = 10_000

/** Turns that last until they are told to reply, or ended; and what became of them. */
const turns = () => {
  const running = new Map<string, () => Promise<void>>()
  const ended: string[] = []
  const giveAs =
    (worker: string): WorkerSettings['give'] =>
    (chat, signal) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          ended.push(`${worker} aborted`)
          resolve(E.left({ _tag: 'ModelAborted', message: 'aborted' }))
        })
        running.set(worker, async () => {
          const said = await chat.append({ role: 'assistant', content: 'Yes.' }, { after: 0 })()
          ended.push(`${worker} ${E.isRight(said) ? 'replied' : said.left._tag}`)
          resolve(E.left({ _tag: 'ModelFailed', message: 'it has replied by itself' }))
        })
      })
  return { giveAs, ended, reply: (worker: string) => running.get(worker)?.(), running }
}

const scene = async () => {
  const store: EventStore = memoryStore()
  const { clock, pass } = handClock()
  const { giveAs, ended, reply, running } = turns()
  const cuts = { one: cuttable(store), other: cuttable(store) }
  for (const [name, { store: own }] of Object.entries(cuts))
    hand(own, name, { ttl, give: giveAs(name) }, clock)
  await pass(100)
  await say(store, 'c', true)
  await pass(100)
  const [first = ''] = running.keys()
  const second = first === 'one' ? 'other' : 'one'
  return { pass, reply, ended, running, first, second, cuts: cuts as Record<string, typeof cuts.one> }
}

describe('a worker that cannot reach the store', () => {
  test('continues while nobody can, for however long: its reply counts once the store is back', async () => {
    const { pass, reply, ended, running, first, second, cuts } = await scene()
    for (const { cut } of Object.values(cuts)) cut()
    await pass(3 * ttl)
    for (const { mend } of Object.values(cuts)) mend()
    await pass(ttl / 2)
    expect(ended).toEqual([])
    void reply(first)
    await settled()
    expect(ended).toEqual([`${first} replied`])
    expect([...running.keys()]).not.toContain(second)
  })

  test('ends its turn as soon as it sees that another has taken over', async () => {
    const { pass, ended, running, first, second, cuts } = await scene()
    cuts[first]?.cut()
    await pass(ttl / 2)
    expect([...running.keys()]).toEqual([first])
    await pass(ttl)
    expect([...running.keys()]).toEqual([first, second])
    expect(ended).toEqual([])
    cuts[first]?.mend()
    await pass(300)
    expect(ended).toEqual([`${first} aborted`])
  })

  test('and whose reply comes late is refused: the one that took over has replied', async () => {
    const { pass, reply, ended, first, second, cuts } = await scene()
    cuts[first]?.cut()
    await pass(1.5 * ttl)
    void reply(second)
    await settled()
    cuts[first]?.mend()
    void reply(first)
    await settled()
    expect(ended).toEqual([`${second} replied`, `${first} StaleContext`])
  })
})
