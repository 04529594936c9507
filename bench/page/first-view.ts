import type { Browser } from 'playwright-core'
import { atMost, count, duration, type Figure } from '../report.ts'
import { median } from '../rounds.ts'
import { watched } from './watched.ts'

interface View {
  /** When something was painted, when there were rows, and the ribbon besides: milliseconds from the beginning of the navigation. */
  readonly paint: number
  readonly rows: number
  readonly usable: number
  /** How many questions the API was asked, how many files the page has, and what came in kB. */
  readonly asked: number
  readonly files: number
  readonly kB: number
}

const kB = (value: number): string => `${count(value)} kB`

/** How long a conversation takes to be seen, in a browser that has nothing of it. */
export const firstView = async (chrome: Browser, url: string, rounds: number): Promise<readonly Figure[]> => {
  const views: View[] = []
  for (let round = -1; round < rounds; round++) {
    const { page, close } = await watched(chrome)
    await page.goto(url)
    const view: Pick<View, 'paint' | 'rows' | 'usable'> = await page.evaluate('probe.view()')
    // What comes after it: the details, what is live.
    await page.locator('.inspector dt', { hasText: 'command' }).waitFor()
    await page.waitForTimeout(600)
    const came: readonly { readonly name: string; readonly size: number }[] = await page.evaluate(
      `performance.getEntriesByType('resource').map(({ name, transferSize: size }) => ({ name, size }))`,
    )
    const asked = came.filter(({ name }) => name.includes('/api/')).length
    const size = came.reduce((sum, one) => sum + one.size, 0) / 1_000
    // The stream of what is live is no resource until it ends.
    if (round >= 0) views.push({ ...view, asked: asked + 1, files: 1 + came.length - asked, kB: size })
    await close()
  }
  const of = (field: keyof View): number => median(views.map((view) => view[field]))
  return [
    atMost('first contentful paint', of('paint'), 500, duration),
    atMost('first rows', of('rows'), 800, duration),
    { what: 'rows and ribbon', figure: duration(of('usable')) },
    atMost('questions to the API', of('asked'), 6, count),
    { what: `besides, files of the page`, figure: `${of('files')}, with all answers ${kB(of('kB'))}` },
  ]
}
