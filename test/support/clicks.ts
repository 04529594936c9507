import type { Locator, Page } from 'playwright-core'

/** The page as somebody uses it who counts how often they must click. */
export interface ClickCounter {
  readonly click: (target: Locator) => Promise<void>
  /** Number of clicks that the page received so far. */
  readonly made: () => Promise<number>
}

/** Counts the real clicks in a page, from its next address on: those that the browser itself reports. */
export const countClicks = async (page: Page): Promise<ClickCounter> => {
  let clicks = 0
  await page.exposeFunction('clicked', () => void clicks++)
  await page.addInitScript(`addEventListener('click', (event) => event.isTrusted && window.clicked(), true)`)
  return {
    click: (target) => target.click(),
    made: () => Promise.resolve(clicks),
  }
}
