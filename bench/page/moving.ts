import type { Locator } from 'playwright-core'
import { atMost, count, duration, type Figure } from '../report.ts'
import { shareOf, type Watched } from './watched.ts'

/** A conversation that is looked at: its last position, and words that a few messages have. */
export interface Looked {
  readonly last: number
  readonly words: readonly string[]
}

interface Frames {
  readonly times: readonly number[]
  readonly long: readonly number[]
  readonly moves: number
}

const pause = 150

/** From one end of a slider to the other and half of the way back, in 120 moves. */
const dragged = async (
  { page, busy }: Watched,
  slider: Locator,
  name: string,
): Promise<readonly Figure[]> => {
  const box = await slider.boundingBox()
  if (!box) throw new Error('the slider is nowhere')
  const y = box.y + box.height / 2
  await page.mouse.move(box.x + box.width - 2, y)
  await page.mouse.down()
  const before = await busy()
  await page.evaluate('probe.watchFrames()')
  for (let move = 0; move < 120; move++) {
    const share = move < 80 ? 1 - move / 80 : (move - 80) / 80
    await page.mouse.move(box.x + 2 + (box.width - 4) * share, y)
  }
  const { times, long, moves }: Frames = await page.evaluate('probe.frames()')
  const work = ((await busy()) - before) / moves
  await page.mouse.up()
  await page.waitForTimeout(600)
  return [
    atMost(`${name}: frame, p50`, shareOf(times, 0.5), 17, duration),
    atMost(`${name}: frame, p95`, shareOf(times, 0.95), 34, duration),
    atMost(`${name}: main thread, a step`, work, 16, duration),
    {
      what: `${name}: longest frame; tasks over 50 ms`,
      figure: `${duration(Math.max(...times))}; ${long.length}`,
    },
  ]
}

const drags = async (watched: Watched): Promise<readonly Figure[]> => {
  const { page } = watched
  const ribbon = page.getByRole('slider', { name: 'Position', exact: true })
  const overview = page.getByRole('slider', { name: 'Position in the whole conversation' })
  return [
    ...(await dragged(watched, ribbon, 'dragging through the ribbon')),
    ...((await overview.count()) > 0 ? await dragged(watched, overview, 'through the overview') : []),
  ]
}

/** Milliseconds from a key until a test of the page holds, which it does not yet. */
const fromKey = async ({ page }: Watched, test: string, press: () => Promise<unknown>): Promise<number> => {
  await page.evaluate(`probe.fromKey(() => ${test})`)
  await press()
  const time = await page.evaluate<number>('probe.time')
  await page.waitForTimeout(pause)
  return time
}

/** Goes to a position by its number. */
const jumped = async (watched: Watched, to: number): Promise<number> => {
  const { page } = watched
  await page.keyboard.press(':')
  await page.keyboard.type(String(to))
  return fromKey(watched, `probe.shown() === ${to}`, () => page.keyboard.press('Enter'))
}

/** Steps to positions that were never seen, then back through them. */
const stepped = async (watched: Watched, from: number, rounds: number): Promise<readonly Figure[]> => {
  const { page } = watched
  await jumped(watched, from)
  const step = (key: string, to: number): Promise<number> =>
    fromKey(watched, `probe.shown() === ${to}`, () => page.keyboard.press(key))
  const there: number[] = []
  const back: number[] = []
  for (let nth = 1; nth <= rounds; nth++) there.push(await step('j', from + nth))
  for (let nth = rounds - 1; nth >= 0; nth--) back.push(await step('k', from + nth))
  return [
    atMost('step to what was not seen yet, p50', shareOf(there, 0.5), 150, duration),
    atMost('step to what was seen, p50', shareOf(back, 0.5), 50, duration),
  ]
}

const searched = async (watched: Watched, words: readonly string[]): Promise<number[]> => {
  const { page } = watched
  await page.keyboard.press('/')
  const field = page.getByRole('searchbox', { name: 'Search in this conversation' })
  const times: number[] = []
  for (const text of words) {
    await field.fill('')
    await page.locator('.hits').waitFor({ state: 'detached' })
    await field.fill(text.slice(0, -1))
    await page.waitForTimeout(2 * pause)
    const isFound = `document.querySelector('.hits mark')?.textContent.toLowerCase() === ${JSON.stringify(text.toLowerCase())}`
    times.push(await fromKey(watched, isFound, () => page.keyboard.type(text.slice(-1))))
  }
  await page.keyboard.press('Escape')
  return times
}

/** What moving through a conversation takes. The page shows its head. */
export const moved = async (
  watched: Watched,
  { last, words }: Looked,
  rounds: number,
): Promise<readonly Figure[]> => {
  const dragFigures = await drags(watched)
  const jumps: number[] = []
  for (let nth = 1; nth <= rounds; nth++)
    jumps.push(await jumped(watched, Math.floor((last * ((nth * 0.618) % 1)) / 2) * 2 + (nth % 2)))
  const steps = await stepped(watched, Math.floor(last / 3), rounds)
  const searches = await searched(watched, words)
  await watched.page.keyboard.press('E')
  await watched.page.waitForTimeout(500)
  return [
    ...dragFigures,
    ...steps,
    {
      what: 'jump to a position: p50 / p95',
      figure: `${duration(shareOf(jumps, 0.5))} / ${duration(shareOf(jumps, 0.95))}`,
    },
    {
      what: 'search, from the last key to the hits, p50',
      figure: duration(shareOf(searches, 0.5)),
    },
    atMost('search, slowest', Math.max(...searches), 500, duration),
    atMost('nodes, with everything open', await watched.nodes(), 1_500, count),
  ]
}
