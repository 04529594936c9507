import * as fc from 'fast-check'
import { openStore } from 'palimpsest'
import { diff, full, timeline } from 'palimpsest/core'
import { expect, test } from 'vitest'
import type { ConversationEvent } from '../../src/events/events.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { histories } from '../support/histories.ts'
import { runs } from '../support/runs.ts'
import { chainOf } from '../support/write.ts'

/** Metadata that only the parser and the schema recognise: with a field of another program, or with an escape. */
const foreign = [
  (metadata: string) => metadata.replace('{', '{"of":"another program",'),
  (metadata: string) => metadata.replace('"kind":"test"', String.raw`"kind":"t\u0065st"`),
  (metadata: string) => metadata,
]

test('what a store reads of a long log is what the plain projections make of all its events', async () => {
  await fc.assert(
    fc.asyncProperty(
      histories(40),
      fc.array(fc.nat(2), { minLength: 1, maxLength: 7 }),
      fc.tuple(fc.nat(), fc.nat(), fc.boolean()),
      async (written, which, [one, other, abandoned]) => {
        if (written.length === 0) return
        const adapter = memoryStore()
        const events = chainOf('c', written).map((event, index) => {
          const change = foreign[which[index % which.length] ?? 0]
          return { ...event, metadata: change?.(event.metadata) ?? event.metadata }
        })
        await adapter.append({ stream: 'conversation-c', events, expected: -1 })()
        const store = await openStore(adapter)
        const chat = store.conversation('c')
        const log: ConversationEvent[] = []
        for await (const event of chat.events()) log.push(event)
        const [at, from] = [one % log.length, other % log.length]
        expect(await chat.full({ at, abandoned })).toStrictEqual(full(log, { at, abandoned }))
        expect(await chat.diff({ from, to: at })).toStrictEqual(diff(log, from, at))
        expect(await chat.timeline()).toStrictEqual(timeline(log))
        await store.close()
      },
    ),
    { numRuns: runs(100) },
  )
})
