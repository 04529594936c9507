import * as E from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { beginsTurn } from '../../../src/commands/state.ts'
import type { EventsOptions } from '../../../src/conversation/reading/event-follower.ts'
import type { ConversationEvent } from '../../../src/events/events.ts'
import { effective } from '../../../src/projections/effective.ts'
import { type Log, path } from '../../../src/projections/path.ts'
import { run } from '../../../src/result/fallible.ts'
import { sinceUserMessage } from '../../../src/agent/turn/spending/since.ts'
import { histories } from '../../support/histories.ts'
import { assistant, logOf, user } from '../../support/log.ts'
import { runs } from '../../support/runs.ts'

/** What the turn of a log came of, and how many events were read for it. */
const sinceIn = async (log: Log) => {
  let read = 0
  async function* events({ from = 0, to = Infinity }: EventsOptions = {}): AsyncGenerator<
    ConversationEvent,
    void
  > {
    for (const event of log.slice(from, to + 1)) {
      read++
      yield event
    }
  }
  const since = await run(sinceUserMessage({ events }, effective(log)))
  if (E.isLeft(since)) throw new Error(since.left.message)
  return { positions: since.right.map(({ position }) => position), read }
}

describe('what has happened since the user’s last message', () => {
  it('is what the path has after it, whatever was rewound or hidden', async () => {
    await fc.assert(
      fc.asyncProperty(histories(), async (log) => {
        const positions = path(log)
        const said = positions.findLastIndex((position) => beginsTurn(log[position] as ConversationEvent))
        expect((await sinceIn(log)).positions).toEqual(positions.slice(said + 1))
      }),
      { numRuns: runs(300) },
    )
  })

  it('takes no reading if that message is the last that has happened, and else about what has', async () => {
    const before = Array.from({ length: 5_000 }, (_, n) => (n % 2 === 0 ? user('a') : assistant('b')))
    expect(await sinceIn(logOf(...before, user('c')))).toEqual({ positions: [], read: 0 })
    const turn = Array.from({ length: 100 }, () => assistant('d'))
    const { positions, read } = await sinceIn(logOf(...before, user('c'), ...turn))
    expect(positions).toHaveLength(100)
    expect(read).toBeLessThanOrEqual(32 + 64 + 128)
  })
})
