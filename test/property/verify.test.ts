import fc from 'fast-check'
import { run } from '../../src/result/fallible.ts'
import { describe, expect, test } from 'vitest'
import type { StoredEvent } from '../../src/events/codec.ts'
import { viewIn } from '../../src/projections/layout.ts'
import type { Log } from '../../src/projections/path.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { EventStore } from '../../src/store/port.ts'
import { type VerificationReport, verify } from '../../src/conversation/verify.ts'
import { right } from '../support/either.ts'
import { histories } from '../support/histories.ts'
import { runs as scaled, scale } from '../support/runs.ts'
import { chainOf, write } from '../support/write.ts'

const stream = 'conversation-c'
const runs = (usual: number): fc.Parameters<unknown> => ({ numRuns: scaled(usual) })
const logs = histories(60).filter(({ length }) => length >= 3)

/** A store whose file somebody changed: its events are others than those that it was given. */
const tampered = async (
  log: Log,
  change: (events: readonly StoredEvent[]) => readonly StoredEvent[],
): Promise<EventStore> => {
  const honest = memoryStore()
  await write(honest, 'c', log)
  const changed = memoryStore()
  const events = change(chainOf('c', log))
  if (events.length > 0) right(await changed.append({ stream, events, expected: -1 })())
  return { ...changed, keptEnd: honest.keptEnd }
}
const verified = async (store: EventStore): Promise<VerificationReport> =>
  right(await run(verify(store, 'c')))

const changed = (event: StoredEvent, change: (data: Record<string, unknown>) => object): StoredEvent => ({
  ...event,
  data: JSON.stringify(change(JSON.parse(event.data) as Record<string, unknown>)),
})

describe('verify finds', () => {
  test('every altered event', async () => {
    await fc.assert(
      fc.asyncProperty(logs, fc.nat(), async (log, picked) => {
        const at = picked % log.length
        const store = await tampered(log, (events) =>
          events.map((event, index) =>
            index === at ? changed(event, (data) => ({ ...data, altered: true })) : event,
          ),
        )
        const { discrepancy } = await verified(store)
        expect([at, at + 1]).toContain(discrepancy?.position)
      }),
      runs(180),
    )
  })

  test('every altered metadata', async () => {
    await fc.assert(
      fc.asyncProperty(logs, fc.nat(), async (log, picked) => {
        const at = picked % log.length
        const later = (event: StoredEvent): StoredEvent => ({
          ...event,
          metadata: event.metadata.replace('1970', '1971'),
        })
        const store = await tampered(log, (events) =>
          events.map((event, index) => (index === at ? later(event) : event)),
        )
        expect((await verified(store)).discrepancy).toBeDefined()
      }),
      runs(100),
    )
  })

  test('every dropped event, the last ones included', async () => {
    await fc.assert(
      fc.asyncProperty(logs, fc.nat(), fc.integer({ min: 1, max: 3 }), async (log, picked, count) => {
        const at = picked % (log.length - 1)
        const store = await tampered(log, (events) => events.toSpliced(1 + at, count))
        expect((await verified(store)).discrepancy).toMatchObject({
          kind: expect.stringMatching(/chain|end|undecodable/),
        })
      }),
      runs(180),
    )
  })

  test('every two events that were swapped', async () => {
    await fc.assert(
      fc.asyncProperty(logs, fc.nat(), fc.nat(), async (log, one, other) => {
        const [a, b] = [one % log.length, other % log.length]
        fc.pre(a !== b)
        const store = await tampered(log, (events) =>
          events.map((event, index) => events[index === a ? b : index === b ? a : index] ?? event),
        )
        expect((await verified(store)).discrepancy?.position).toBe(Math.min(a, b))
      }),
      runs(180),
    )
  })

  test('every event that was put in', async () => {
    await fc.assert(
      fc.asyncProperty(logs, fc.nat(), async (log, picked) => {
        const at = picked % (log.length + 1)
        const [alien] = chainOf('d', [{ type: 'MessageAppended', data: { role: 'user', content: [] } }])
        const store = await tampered(log, (events) => (alien ? events.toSpliced(at, 0, alien) : events))
        expect((await verified(store)).discrepancy).toBeDefined()
      }),
      runs(100),
    )
  })

  test('every view that is not the history, though the chain holds', async () => {
    let flipped = 0
    await fc.assert(
      fc.asyncProperty(logs, fc.nat(), fc.nat(3), async (log, picked, how) => {
        const withView = log.filter((event) => viewIn(event) !== undefined)
        const chosen = withView[picked % Math.max(1, withView.length)]
        const view = chosen && viewIn(chosen)
        if (!chosen || !view) return
        const wrong = [
          { ...view, items: view.items.slice(1) },
          { ...view, items: [...view.items, { first: 0, last: 0 }] },
          { ...view, restored: [...(view.restored ?? []), { after: 0, before: 1 }] },
          { ...view, configured: (view.configured ?? 0) + 1 },
        ][how]
        const forged = log.map((event) =>
          event === chosen ? { ...event, data: { ...event.data, view: wrong } } : event,
        ) as Log
        const store = memoryStore()
        await write(store, 'c', forged)
        expect((await verified(store)).discrepancy).toMatchObject({ kind: 'view', position: chosen.position })
        flipped++
      }),
      runs(180),
    )
    expect(flipped).toBeGreaterThan(40 * scale)
  })
})

describe('verify tells', () => {
  const message = { type: 'MessageAppended', data: { role: 'user', content: [] } } as const
  const marker = { covers: { first: 0, last: 9 }, messagesHidden: 1, tokens: { before: 0, after: 0 } }

  test('of a marker that hides what was not shown, and of a restore of what hid nothing', async () => {
    const store = memoryStore()
    await write(store, 'c', [message, { type: 'Truncated', data: marker }])
    expect((await verified(store)).discrepancy).toMatchObject({ kind: 'marker', position: 1 })
    const other = memoryStore()
    await write(other, 'c', [message, { type: 'Restored', data: { marker: 0 } }])
    expect((await verified(other)).discrepancy).toMatchObject({ kind: 'marker', position: 1 })
  })

  test('of what cannot be decoded, and where', async () => {
    const store = await tampered([], () => [{ id: 'x', type: 'Unheard', data: '{}', metadata: '{}' }])
    expect((await verified(store)).discrepancy).toMatchObject({ kind: 'undecodable', position: 0 })
  })

  test('of a fork whose parent is not what it was', async () => {
    const store = memoryStore()
    await write(store, 'p', [message, message])
    const from = { conversation: 'p', position: 1, hash: 'of something else' }
    await write(store, 'c', [{ type: 'Forked', data: { from } }])
    expect((await verified(store)).discrepancy).toMatchObject({ kind: 'chain', position: 2 })
  })
})
