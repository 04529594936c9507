import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { sampleIds } from '../../src/cli/sample.ts'
import { noBrowser } from '../support/browser.ts'
import { looking } from '../support/looking.ts'
import { served, servedSample } from '../support/served.ts'
import { noted, settled } from '../support/settled.ts'

const [id] = sampleIds

const press =
  (...keys: readonly string[]) =>
  async (page: Page): Promise<void> => {
    for (const key of keys) {
      await page.keyboard.press(key)
      await settled(page)
    }
  }

/** Somewhere, and what somebody does there until it looks as it does. */
const views: readonly (readonly [what: string, address: string, reach: (page: Page) => Promise<unknown>])[] =
  [
    ['a summary that somebody went to', `/c/${id}`, press('[', '[', '[', '[')],
    ['what a summary stands for', `/c/${id}?at=35`, press('e')],
    ['only what the model sees, rendered', `/c/${id}?at=40`, press('3', 'x')],
    ['everything open', `/c/${id}?at=27`, press('E')],
    [
      'a hit of a search',
      `/c/${id}?at=40`,
      async (page) => {
        await press('/')(page)
        await page.keyboard.type('invoice')
        await press('Enter', 'Enter')(page)
      },
    ],
    ['how two positions differ', `/c/${id}/diff?from=22&to=35`, press()],
    ['the request of a call', `/c/${id}/calls/8`, press()],
  ]

/** What is there for readers of the screen, and for the eye. Nothing has the focus: an address does not say what has. */
const seen = async (page: Page) => {
  // Parts of the page are loaded, not asked for: who waits for answers does not wait for them.
  await page.getByRole('status', { name: 'Loading' }).waitFor({ state: 'detached' })
  await settled(page)
  await page.evaluate('document.activeElement.blur()')
  await page.mouse.move(0, 0)
  const tree = await page.locator('body').ariaSnapshot()
  return { address: page.url(), tree, picture: (await page.screenshot()).toString('base64') }
}

/** How many pixels of two pictures differ by more than edges do that are drawn twice. */
const pixelsApart = async (page: Page, pictures: readonly string[]): Promise<number> => {
  const blank = await page.context().newPage()
  return blank.evaluate(`(async () => {
    const [one, other] = await Promise.all(${JSON.stringify(pictures)}.map(async (picture) => {
      const image = await createImageBitmap(await (await fetch('data:image/png;base64,' + picture)).blob())
      const context = new OffscreenCanvas(image.width, image.height).getContext('2d')
      context.drawImage(image, 0, 0)
      return context.getImageData(0, 0, image.width, image.height).data
    }))
    return one.filter((value, index) => Math.abs(value - other[index]) > 8).length
  })()`)
}

/** As `seen`, once nothing moves any more: two looks in a row show the same. */
const still = async (page: Page): ReturnType<typeof seen> => {
  for (let before = await seen(page); ;) {
    const now = await seen(page)
    if (now.tree === before.tree && (await pixelsApart(page, [before.picture, now.picture])) === 0) return now
    before = now
  }
}

describe.skipIf(noBrowser !== '')(`an address${noBrowser}`, () => {
  test.for(views)('brings back %s, to the pixel', async ([, address, reach]) => {
    const { page } = await looking(await servedSample(), address, { before: noted })
    await settled(page)
    await reach(page)
    const before = await still(page)
    await page.reload()
    await page.getByRole('main').waitFor()
    const after = await still(page)
    expect({ ...after, picture: '' }).toEqual({ ...before, picture: '' })
    expect(await pixelsApart(page, [before.picture, after.picture])).toBe(0)
  })

  test('keeps the row that it selects in sight when what comes later takes room', async () => {
    const scene = await served()
    const content = Array.from({ length: 10 }, (_, line) => `line ${line}`).join('\n')
    const messages = Array.from({ length: 40 }, () => ({ role: 'user', content }) as const)
    await scene.store.conversation('lines').append(messages)
    let find = (): void => undefined
    const isAsked = new Promise<void>((resolve) => (find = resolve))
    const { page, row } = await looking(scene, '/c/lines?sel=38&find=line', {
      before: async (it) => {
        await it.clock.install()
        await it.route('**/search?**', async (route) => isAsked.then(() => route.continue()))
      },
    })
    await row(38).waitFor()
    const isInSight = (): Promise<boolean> =>
      row(38).evaluate((it) => {
        const [list, own] = [it.closest('.rows'), it].map((one) => one?.getBoundingClientRect())
        return (
          own !== undefined && list !== undefined && own.top >= list.top - 1 && own.bottom <= list.bottom + 1
        )
      })
    await expect.poll(isInSight).toBe(true)
    await page.clock.runFor(5_000)
    find()
    await page.getByText('40 hits').waitFor()
    await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))')
    await expect.poll(isInSight).toBe(true)
  })

  test('lets go of the row that it selects once the browser itself scrolls to another one', async () => {
    const scene = await served()
    const content = Array.from({ length: 10 }, (_, line) => `line ${line}`).join('\n')
    const messages = Array.from({ length: 40 }, () => ({ role: 'user', content }) as const)
    await scene.store.conversation('lines').append(messages)
    const { page, row } = await looking(scene, '/c/lines?at=39&sel=30')
    await row(30).waitFor()
    const drawn = (): Promise<unknown> =>
      page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
    await drawn()
    // As what is found on the page is shown: without a key, a wheel or a pointer.
    await page.locator('.rows').evaluate((rows) => (rows.scrollTop = 0))
    await row(0).waitFor()
    await page.setViewportSize({ width: 1440, height: 700 })
    await drawn()
    expect(await page.locator('.rows').evaluate((rows) => rows.scrollTop)).toBe(0)
  })
})
