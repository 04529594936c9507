import type { Locator, Page } from 'playwright-core'
import { expect } from 'vitest'

const ways: readonly Parameters<Locator['click']>[0][] = [{ modifiers: ['Control'] }, { button: 'middle' }]

/**
 * Clicks on a link with Ctrl and then with the middle button, each of which asks the browser for a new tab. What it asks for is what the page
 * answers for: a tab in the background that a click opens may never load in a driven Chromium (microsoft/playwright#42142), so another
 * page is opened at each address.
 *
 * @param shows what is looked at there, before it is closed
 */
export const opensInNewTab = async (link: Locator, shows: (tab: Page) => Promise<unknown>): Promise<void> => {
  const context = link.page().context()
  const session = await context.newCDPSession(link.page())
  const asked: { readonly url: string; readonly disposition: string }[] = []
  await session.send('Page.enable')
  session.on('Page.frameRequestedNavigation', (navigation) => asked.push(navigation))
  for (const way of ways) {
    asked.length = 0
    // Where late layout moves it, a click may miss it.
    const ask = async (): Promise<typeof asked> => {
      if (asked.length === 0) await link.click(way)
      return asked
    }
    await expect.poll(ask, { interval: 500 }).toMatchObject([{ disposition: 'newTab' }])
    const tab = await context.newPage()
    await tab.goto(asked[0]?.url ?? '')
    await shows(tab)
    await tab.close()
  }
  await session.detach()
}
