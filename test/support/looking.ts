import type { Locator, Page } from 'playwright-core'
import { expect } from 'vitest'
import { type BrowsingOptions, browsing } from './browser.ts'
import type { Served } from './served.ts'

// What tests of the page do with it, in the page's own words.

export interface Looking {
  readonly page: Page
  /** The position that the slider is at. */
  readonly at: () => Promise<number>
  readonly slider: Locator
  /** The row of a position. */
  readonly row: (position: number) => Locator
  /** Waits until slider and rows are of this position. */
  readonly shows: (position: number) => Promise<void>
}

interface LookingOptions extends BrowsingOptions {
  /** Called with the page before it asks for anything. */
  readonly before?: ((page: Page) => unknown) | undefined
}

/**
 * As `before` of pages whose requests are stopped later on: the browser begins to intercept them a moment after the first `route`, and what
 * is asked meanwhile slips past.
 */
export const stoppable = (page: Page): Promise<unknown> => page.route(/^never:/, (route) => route.continue())

/** Opens an address of the page, and waits until there is something to look at. */
export const looking = async (
  { url }: Served,
  address: string,
  { before, ...options }: LookingOptions = {},
): Promise<Looking> => {
  const page = await browsing(options)
  await before?.(page)
  await page.goto(url + address)
  await page.getByRole('main').waitFor()
  const slider = page.getByRole('slider', { name: 'Position', exact: true })
  const at = async (): Promise<number> => Number(await slider.inputValue())
  const list = page.getByRole('list', { name: /^Position -?\d+$/ })
  const rowsAt = async (): Promise<number> =>
    Number((await list.getAttribute('aria-label'))?.replace('Position ', ''))
  return {
    page,
    at,
    slider,
    row: (position) =>
      page.locator(`[role=listitem][aria-label^="${position.toLocaleString('en')},"]`).first(),
    shows: async (position) => {
      await page.getByRole('listitem').first().waitFor()
      await expect.poll(async () => [await at(), await rowsAt()]).toEqual([position, position])
    },
  }
}

/** The sheet with this title. */
export const sheet = (page: Page, title: string | RegExp): Locator =>
  page.getByRole('dialog', { name: title })
