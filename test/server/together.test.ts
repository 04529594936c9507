import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { together } from '../../src/server/together.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

/** Requests that arrive, and how many of them may continue after so many milliseconds. */
const gate = () => {
  const gathered = together()
  let passed = 0
  const arrive = (count: number): void => {
    for (let one = 0; one < count; one++) void gathered().then(() => passed++)
  }
  const passedAfter = async (ms: number): Promise<number> => {
    for (let turns = 0; turns < 6; turns++) await turn()
    vi.advanceTimersByTime(ms)
    for (let turns = 0; turns < 6; turns++) await turn()
    return passed
  }
  return { arrive, passedAfter }
}

describe('requests that write', () => {
  test('continue together if they arrive one after the other', async () => {
    const gathered = together()
    const first = gathered()
    await turn()
    expect(gathered()).toBe(first)
    await first
    expect(gathered()).not.toBe(first)
  })

  test('wait for no clock if nobody came together with them before', async () => {
    const { arrive, passedAfter } = gate()
    arrive(1)
    expect(await passedAfter(0)).toBe(1)
    arrive(1)
    expect(await passedAfter(0)).toBe(2)
  })

  test('wait for those who came together with them before, and no longer', async () => {
    const { arrive, passedAfter } = gate()
    arrive(3)
    expect(await passedAfter(0)).toBe(3)
    arrive(1)
    expect(await passedAfter(1)).toBe(3)
    arrive(1)
    expect(await passedAfter(1)).toBe(3)
    arrive(1)
    expect(await passedAfter(0)).toBe(6)
  })

  test('soon do not wait any more for those who do not come again', async () => {
    const { arrive, passedAfter } = gate()
    arrive(3)
    await passedAfter(0)
    for (const passed of [4, 5]) {
      arrive(1)
      expect(await passedAfter(0)).toBe(passed - 1)
      expect(await passedAfter(2)).toBe(passed)
    }
    arrive(1)
    expect(await passedAfter(0)).toBe(6)
  })

  test('do not wait without an end while others come one by one', async () => {
    const { arrive, passedAfter } = gate()
    arrive(64)
    await passedAfter(0)
    for (let one = 0; one < 9; one++) {
      arrive(1)
      expect(await passedAfter(1)).toBe(64)
    }
    arrive(1)
    expect(await passedAfter(1)).toBe(74)
  })
})
