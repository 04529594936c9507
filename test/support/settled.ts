import type { Page, Request } from 'playwright-core'
import { expect } from 'vitest'

/** Parts of pages: scripts that are loaded when they are used, and how many of them are not there yet. */
const parts = new WeakMap<Page, { begun: number; awaited: number }>()

/** Notes, before a page is opened, what it asks the server for and how many answers have not come yet: in the page, so that nothing is noted late. Its clock can be moved. */
export const noted = async (page: Page): Promise<void> => {
  const loaded = { begun: 0, awaited: 0 }
  parts.set(page, loaded)
  const isPart = (request: Request): boolean => request.resourceType() === 'script'
  const ended = (request: Request): void => void (isPart(request) && loaded.awaited--)
  page.on('request', (request) => isPart(request) && (loaded.begun++, loaded.awaited++))
  page.on('requestfinished', ended)
  page.on('requestfailed', ended)
  await page.clock.install()
  await page.addInitScript(`{
    const asked = (window.asked = [])
    window.awaited = 0
    const own = window.fetch
    window.fetch = async (url, init) => {
      asked.push(String(url).replace('/api/v1/conversations/', ''))
      window.awaited++
      try {
        const answer = await own(url, init)
        if (!answer.headers.get('content-type')?.startsWith('text/event-stream')) await answer.clone().text()
        return answer
      } finally {
        window.awaited--
      }
    }
  }`)
}

/** Longer than anything in the page waits before it asks for more, in milliseconds; shorter than a stream may be silent. */
const patience = 1_500
/** So often what was asked for may lead to something else. */
const most = 15

const awaited = async (page: Page): Promise<number> =>
  Number(await page.evaluate('window.awaited')) + (parts.get(page)?.awaited ?? 0)

/** All that the page has asked for since it was loaded, in order, once it asks for nothing more: every answer has come, every part is there, and no timer leads to another question. */
export const settled = async (page: Page): Promise<readonly string[]> => {
  for (let before = -1, round = 0; round < most; round++) {
    await expect.poll(() => awaited(page)).toBe(0)
    await page.clock.runFor(patience)
    const asked: readonly string[] = await page.evaluate('window.asked')
    const all = asked.length + (parts.get(page)?.begun ?? 0)
    if (all === before && (await awaited(page)) === 0) return asked
    before = all
  }
  throw new Error('the page asks and asks')
}
