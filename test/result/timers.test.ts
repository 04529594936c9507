import { expect, test } from 'vitest'
import { longestTimer, pause, timer } from '../../src/result/timers.ts'

test.each([longestTimer + 1, 2 ** 40])(
  'a wait of %i ms, longer than any timer, is over when its signal aborts',
  async (ms) => {
    const [over, late] = [new AbortController(), new AbortController()]
    let ended: string | undefined
    const waiting = pause(ms, over.signal).then(() => (ended = 'paused'))
    const started = timer(ms, () => (ended = 'fired'))
    // A timer that overflows fires within a millisecond.
    await pause(20, late.signal)
    expect(ended).toBeUndefined()
    clearTimeout(started)
    over.abort()
    expect(await waiting).toBe('paused')
  },
)

test('a wait ends by itself, and at once where the signal was aborted before', async () => {
  const waits = [pause(0), pause(1), pause(2 ** 40, AbortSignal.abort())]
  expect(await Promise.all(waits)).toEqual([undefined, undefined, undefined])
})
