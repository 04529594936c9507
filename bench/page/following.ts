import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser } from 'playwright-core'
import type { Conversation } from '../../src/index.ts'
import { messageAt } from '../messages.ts'
import { atMost, count, duration, type Figure } from '../report.ts'
import { shareOf, type Watched, watched } from './watched.ts'

const MB = (bytes: number): string => `${count(bytes / 1e6)} MB`

/** A page at the end of a conversation, which it follows. */
export const following = async (chrome: Browser, url: string): Promise<Watched> => {
  const view = await watched(chrome)
  await view.page.goto(url)
  await view.page.getByRole('button', { name: 'live' }).waitFor()
  // The page opens at the newest marker.
  await view.page.keyboard.press('G')
  return view
}

/** How soon the page has drawn what this process appends, the append included. */
export const drawn = async (
  chrome: Browser,
  {
    url,
    chat,
    times,
    name,
    bar,
  }: {
    readonly url: string
    readonly chat: Conversation
    readonly times: number
    readonly name: string
    readonly bar: number
  },
): Promise<readonly Figure[]> => {
  const { page, close } = await following(chrome, url)
  await page.evaluate('probe.watchRows()')
  const begun: (readonly [position: number, at: number])[] = []
  for (let nth = 0; nth < times; nth++) {
    // Not in step with a clock of the server or of the page.
    await sleep(120 + Math.random() * 80)
    const at = performance.timeOrigin + performance.now()
    begun.push([(await chat.append(messageAt(nth, 200))).position, at])
  }
  const last = begun.at(-1)?.[0] ?? -1
  await page.evaluate(`probe.until(() => probe.drawn.at(-1)?.[0] >= ${last})`)
  const seen: readonly (readonly [number, number])[] = await page.evaluate('probe.drawn')
  await close()
  const waits = begun.map(([position, at]) => (seen.find(([to]) => to >= position)?.[1] ?? Number.NaN) - at)
  return [
    {
      what: `${name}: appended by another process, drawn on the page, p50`,
      figure: duration(shareOf(waits, 0.5)),
    },
    atMost(`${name}: p95 of ${times}`, shareOf(waits, 0.95), bar, duration),
  ]
}

/** How much the page keeps of what it has followed. */
export const tailed = async (
  chrome: Browser,
  url: string,
  /** Appends so many events, a few at a time, and returns the last position; waits each time until they are drawn. */
  grow: (events: number, isDrawn: (position: number) => Promise<unknown>) => Promise<number>,
  events: number,
): Promise<readonly Figure[]> => {
  const { page, memory, nodes, close } = await following(chrome, url)
  const shows = (position: number) => page.evaluate(`probe.until(() => probe.shown() >= ${position})`)
  await shows(await grow(500, shows))
  const before = await memory()
  const began = performance.now()
  await shows(await grow(events, shows))
  const took = performance.now() - began
  const grown = (await memory()) - before
  const figures = [
    atMost(`${count(events)} events followed: growth of the page`, grown, 5e6, MB),
    { what: `${count(events)} events followed, in`, figure: duration(took) },
    atMost(`${count(events)} events followed: nodes`, await nodes(), 1_500, count),
  ]
  await close()
  return figures
}
