import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { cacheReport } from '../../src/investigate/cache-report.ts'
import { mayContain, packedItemIn, packedLogOf } from '../../src/investigate/packed-log.ts'
import { replayLog } from '../../src/investigate/replay-log.ts'
import { termsIn, wordsOf } from '../../src/investigate/terms.ts'
import { whyCall } from '../../src/investigate/why.ts'
import { contentOf } from '../../src/events/events.ts'
import { itemIn } from '../../src/projections/effective.ts'
import type { Log } from '../../src/projections/path.ts'
import { prices } from '../../src/agent/models/prices.ts'
import { histories } from '../support/histories.ts'
import { logOf, user } from '../support/log.ts'
import { runs } from '../support/runs.ts'

const packed = (log: Log): Promise<Log> =>
  packedLogOf({
    events: async function* () {
      yield* log
    },
  })

test('a packed log has the types, the data and the times of all events', async () => {
  const long = logOf(...Array.from({ length: 300 }, (_, n) => user(`${n} ${'ä😀"\\\n'.repeat(n)}`)))
  const checked = async (log: Log): Promise<void> => {
    const found = await packed(log)
    for (const [index, { type, position, data, metadata }] of [...log.entries(), ...log.entries()]) {
      expect(found[index]).toMatchObject({ type, position, metadata: { time: metadata.time } })
      expect(found[index]?.data).toEqual(data)
    }
  }
  await checked(long)
  await fc.assert(fc.asyncProperty(histories(), checked), { numRuns: runs(50) })
})

test('a packed log is investigated like any other', async () => {
  await fc.assert(
    fc.asyncProperty(histories(), async (log) => {
      const found = await packed(log)
      const policy = { context: { window: 2_000 }, mode: 'truncate' } as const
      for (const investigate of [
        (each: Log) => whyCall('c', each, undefined),
        (each: Log) => cacheReport('c', each, prices, 0),
        (each: Log) => replayLog('c', each, undefined, prices),
        (each: Log) => replayLog('c', each, policy, prices),
      ])
        expect(investigate(found)).toEqual(investigate(log))
    }),
    { numRuns: runs(50) },
  )
})

test('an item of a packed message shows what the message says, and the terms in it', async () => {
  const log = logOf(user('Look at src/ä"b/file_one.ts, ABC-12 and 1,234.5.'))
  const [event] = await packed(log)
  const item = event && packedItemIn(event)
  if (!item || !log[0]) throw new Error('there is no item')
  const { position, time, content } = itemIn(log[0]) as never
  expect(item).toMatchObject({ kind: 'message', role: 'user', position, time, content })
  const terms = [...termsIn(wordsOf(contentOf(log[0]).flatMap((message) => message.content)))]
  expect(terms).not.toHaveLength(0)
  for (const term of terms) expect(mayContain(item, term)).toBe(true)
  expect(mayContain(item, 'file_two.ts')).toBe(false)
})
