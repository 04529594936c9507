import type { Page } from 'playwright-core'
import { expect } from 'vitest'

/** Notes, before a page is opened, what it asks the server for and how many answers have not come yet: in the page, so that nothing is noted late. Its clock can be moved. */
export const noted = async (page: Page): Promise<void> => {
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

/** All that the page has asked for since it was loaded, in order, once it asks for nothing more: every answer has come, and no timer leads to another question. */
export const settled = async (page: Page): Promise<readonly string[]> => {
  for (let before = -1, round = 0; round < most; round++) {
    await expect.poll(() => page.evaluate('window.awaited')).toBe(0)
    await page.clock.runFor(patience)
    const asked: readonly string[] = await page.evaluate('window.asked')
    if (asked.length === before && (await page.evaluate('window.awaited')) === 0) return asked
    before = asked.length
  }
  throw new Error('the page asks and asks')
}
