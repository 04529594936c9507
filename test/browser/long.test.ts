import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import type { NewMessage } from '../../src/core.ts'
import { openStore } from '../../src/index.ts'
import { atEnd } from '../support/at-end.ts'
import { noBrowser } from '../support/browser.ts'
import { exported, opened } from '../support/exported.ts'
import { longText } from '../support/long.ts'
import { looking } from '../support/looking.ts'
import { served } from '../support/served.ts'

const talk = (content: string): readonly NewMessage[] => [
  { role: 'user', content: 'Read it.' },
  { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'read_file', input: {} }] },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content }] },
]
const shown = (page: Page): Promise<number> =>
  page.evaluate("document.querySelector('.rows .result .exact').textContent.length")

/** Opens the long result, finds in it, and reads on. */
const readThrough = async (page: Page, text: string): Promise<void> => {
  await page.getByRole('button', { name: /^open all \d/ }).click()
  await page.getByText(/^the first .* of .* MB shown$/).waitFor()
  const first = await shown(page)
  expect(first).toBeLessThan(1_000_001)
  const field = page.getByRole('searchbox', { name: 'Find in this text' })
  const told = page.getByRole('search').getByRole('status')
  await field.fill('Line 7000: "all"')
  await expect.poll(() => told.textContent()).toMatch(/^1 of 1 in the first \d.* of \d.*$/)
  await expect.poll(() => page.locator('mark').boundingBox()).not.toBeNull()
  // What has not been read is not found, and nobody is told that it is not there.
  const [late = ''] = /line \d+:/.exec(text.slice(first + 100_000)) ?? []
  await field.fill(late)
  await expect.poll(() => told.textContent()).toMatch(/^nothing found in the first /)
  // By the keyboard: pieces that are laid out late move what a pointer is at.
  await page.getByRole('button', { name: 'more', exact: true }).press('Enter')
  await expect.poll(() => told.textContent()).toMatch(/^1 of 1/)
  expect(await shown(page)).toBeGreaterThan(first)
}

describe.skipIf(noBrowser !== '')(`a very long block${noBrowser}`, () => {
  test('is read in pieces: 6 MB open as soon as 1 MB is there', async () => {
    const text = longText(6_000_000)
    const scene = await served()
    await scene.store.conversation('long').append([...talk(text)])
    const sizes: number[] = []
    const { page, shows } = await looking(scene, '/c/long', {
      before: (page_) =>
        page_.on('response', (response) => {
          if (response.url().includes('/blocks/')) sizes.push(Number(response.headers()['content-length']))
        }),
    })
    await shows(2)
    await readThrough(page, text)
    expect(sizes).toEqual([1_000_000, 1_000_000])
    expect(await page.evaluate("document.querySelectorAll('*').length")).toBeLessThan(1_500)
  })

  test('is read in pieces in an exported file as well, to its end', async () => {
    const text = longText(2_200_000)
    const store = await openStore('memory:')
    atEnd(store.close)
    await store.conversation('long').append([...talk(text)])
    const page = await opened(await exported(store, 'long'))
    await readThrough(page, text)
    const more = page.getByRole('button', { name: 'more', exact: true })
    for (let times = 0; times < 5 && (await more.count()) > 0; times++) {
      const before = await shown(page)
      await more.press('Enter')
      await expect.poll(() => shown(page)).toBeGreaterThan(before)
    }
    expect(await more.count()).toBe(0)
    expect(await page.evaluate("document.querySelector('.rows .result .exact').textContent")).toBe(text)
  })
})
