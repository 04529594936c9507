import { describe, expect, test } from 'vitest'
import { sampleIds } from '../../src/cli/sample.ts'
import { noBrowser } from '../support/browser.ts'
import { looking } from '../support/looking.ts'
import { served, servedSample } from '../support/served.ts'

const [id] = sampleIds

describe.skipIf(noBrowser !== '')(`the head of every page${noBrowser}`, () => {
  test('says which conversation it is, and leads to its pages and its first error', async () => {
    const { page, shows } = await looking(await servedSample(), `/c/${id}`)
    const head = page.getByRole('banner')
    const title = head.getByRole('heading', { level: 1, name: /^An invoice lists 1:30/ })
    await title.waitFor()
    await head.getByText('Needs approval').waitFor()
    await expect.poll(() => page.title()).toMatch(/^An invoice lists 1:30/)
    const tabs = head.getByRole('navigation', { name: 'Conversation' })
    for (const [name, path] of [
      ['Tokens & cost', 'tokens'],
      ['Audit', 'audit'],
      ['Bisect', 'bisect'],
    ] as const) {
      await tabs.getByRole('link', { name }).click()
      await expect.poll(() => new URL(page.url()).pathname).toBe(`/c/${id}/${path}`)
      await expect.poll(() => tabs.locator('[aria-current=page]').textContent()).toBe(name)
      // The focus stays where it was: the head is the same on the next page.
      expect(await tabs.getByRole('link', { name }).evaluate((link) => link.matches(':focus'))).toBe(true)
      await title.waitFor()
    }
    await head.getByRole('link', { name: /\d errors?$/ }).click()
    await shows(7)
  })

  test('shows the current tab whole on a phone', async () => {
    const scene = await servedSample()
    const { page } = await looking(scene, `/c/${id}/bisect`, { viewport: { width: 390, height: 800 } })
    const tab = page.getByRole('banner').getByRole('link', { name: 'Bisect' })
    await page.getByRole('banner').getByText('Needs approval').waitFor()
    await expect
      .poll(async () => {
        const { x = 0, width = 390 } = (await tab.boundingBox()) ?? {}
        return x + width
      })
      .toBeLessThanOrEqual(390)
  })

  test('renames in place, by a note, which the list and the window show', async () => {
    const scene = await served()
    const chat = scene.store.conversation('talk')
    await chat.append({ role: 'user', content: 'Why does the parser fail?' })
    const { page } = await looking(scene, '/c/talk')
    const title = page.getByRole('heading', { level: 1 })
    await page.getByRole('button', { name: 'Rename' }).click()
    await page.keyboard.press('Escape')
    await title.getByText('Why does the parser fail?').waitFor()
    await page.getByRole('button', { name: 'Rename' }).click()
    await page.keyboard.type('The parser\u202E')
    await page.keyboard.press('Enter')
    await expect.poll(() => title.textContent()).toBe('The parserRLO')
    expect((await chat.notes({ kind: 'title', last: 1 })).map(({ data }) => data)).toEqual([
      'The parser\u202E',
    ])
    await expect.poll(() => page.title()).toContain('The parser')
    await page.getByRole('link', { name: 'Conversations' }).click()
    await page.getByRole('link', { name: 'The parser' }).waitFor()
  })

  test('offers no renaming to who may only read', async () => {
    const scene = await served(undefined, { isReadOnly: true })
    await scene.store.conversation('talk').append({ role: 'user', content: 'Hello.' })
    const { page } = await looking(scene, '/c/talk')
    await page.getByRole('heading', { level: 1, name: 'Hello.' }).waitFor()
    expect(await page.getByRole('button', { name: 'Rename' }).count()).toBe(0)
  })
})
