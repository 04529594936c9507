import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { sampleIds } from '../../src/cli/sample.ts'
import { openStore } from '../../src/index.ts'
import { atEnd } from '../support/at-end.ts'
import { noBrowser } from '../support/browser.ts'
import { exported, opened, sample } from '../support/exported.ts'
import { hostile, markedUp } from '../support/hostile.ts'
import { opensInNewTab } from '../support/new-tab.ts'

const [id] = sampleIds

/** Goes to the end once the summary is there at which a conversation opens. */
const toTheEnd = async (page: Page): Promise<void> => {
  await expect.poll(() => page.url()).toContain('sel=')
  await page.keyboard.press('G')
}

describe.skipIf(noBrowser !== '')(`an exported page${noBrowser}`, () => {
  test('opens without a server, at the newest summary of the conversation', async () => {
    const page = await opened(await exported(await sample(), id))
    await toTheEnd(page)
    await page.getByText('I ask to publish 1.4.0').first().waitFor()
    expect(new URL(page.url()).hash).toBe(`#/c/${id}`)
    await page.getByText('Nothing was redacted').waitFor()
  })

  test('shows the summary beside the story of what it hid', async () => {
    const page = await opened(await exported(await sample(), id))
    const marker = page.locator('.entry.group')
    await marker.locator('.cell.left').first().waitFor({ timeout: 20_000 })
    const top = async (side: string): Promise<number> =>
      (await marker.locator(side).first().boundingBox())?.y ?? Number.NaN
    // The styles of all pages are in one file.
    expect(await top('.cell.right')).toBe(await top('.cell.left'))
  })

  test('opens at a position, and goes to others', async () => {
    const page = await opened(await exported(await sample(), id), `#/c/${id}?at=5`)
    await page.getByText('costOf is the suspect').first().waitFor()
    expect(await page.getByText('I ask to publish 1.4.0').count()).toBe(0)
    await page.evaluate(`location.hash = '#/c/${id}?at=48'`)
    await page.getByText('I ask to publish 1.4.0').first().waitFor()
  })

  test('is searched as the page of a server is', async () => {
    const page = await opened(await exported(await sample(), id))
    await toTheEnd(page)
    await page.getByText('I ask to publish 1.4.0').first().waitFor()
    await page.keyboard.press('/')
    await page.getByRole('searchbox').fill('minutes become')
    const hit = page.getByRole('search').getByRole('listitem').first()
    await hit.getByText('minutes become').waitFor()
    expect(await hit.textContent()).toMatch(
      /in context then: (yes|as part of \d+|no, abandoned by \d+) · now: /,
    )
    expect(await hit.textContent()).not.toContain('other')
  })

  test('is found by the title that was noted last', async () => {
    const store = await openStore('memory:')
    atEnd(store.close)
    const chat = store.conversation('talk')
    await chat.append({ role: 'user', content: 'Hello.' })
    for (const data of ['Of lexers', 'Of parsers']) await chat.note({ kind: 'title', data })
    const page = await opened(await exported(store, 'talk'), '#/?q=parsers')
    await page.locator('.found .hit', { hasText: 'Of parsers' }).waitFor()
    await page.getByText('1 matching of 1').waitFor()
    await page.evaluate(`location.hash = '#/?q=lexers'`)
    await page.getByText('0 matching of 1').waitFor()
    await page.getByRole('link', { name: 'Show all conversations' }).waitFor()
    await page.evaluate(`location.hash = '#/c/talk?find=parsers'`)
    await page.getByRole('search').getByText('only in the title').waitFor()
  })

  test('is left by no link: all lead to other places in it', async () => {
    const page = await opened(await exported(await sample(), id), `#/c/${id}?at=30&sel=30`)
    await page.getByRole('link', { name: 'palimpsest' }).click()
    await page.getByText('1 conversation').waitFor()
    expect(await page.getByRole('banner').getByRole('link').allTextContents()).toEqual(['Palimpsest'])
    await page
      .getByRole('link', { name: /hours-invoice/ })
      .first()
      .click()
    await expect.poll(() => page.url()).toContain('sel=')
    await page.goBack()
    await page.getByText('1 conversation').waitFor()
    expect(await page.getByText('connecting').count()).toBe(0)
  })

  test('opens its links in a new tab, where they show the same', async () => {
    const page = await opened(await exported(await sample(), id), `#/c/${id}?at=35&open=30&sel=30`)
    const link = page.locator('.rows').getByRole('link', { name: '4', exact: true })
    await opensInNewTab(link, async (tab) => {
      expect(new URL(tab.url()).hash).toBe(`#/c/${id}?at=4&open=30`)
      await tab.getByText('costOf is the suspect').first().waitFor()
    })
    // What is clicked as usual is followed in the page, and Back leads back.
    await link.click()
    await page.getByText('costOf is the suspect').first().waitFor()
    await page.goBack()
    await page.getByText('16 messages hidden').waitFor()
  })

  test('has only links that lead into it', async () => {
    const page = await opened(await exported(await sample(), id, { calls: true }))
    for (const address of [
      '/',
      `/c/${id}?at=35&open=all&sel=30`,
      `/c/${id}/calls/8`,
      `/c/${id}/diff?from=29&to=35`,
      '/workers',
    ]) {
      await page.evaluate(`location.hash = '#${address}'`)
      await page.getByRole('main').getByRole('heading').first().waitFor()
      const links = await page.evaluate(
        "[...document.querySelectorAll('a[href]')].map((link) => link.getAttribute('href'))",
      )
      for (const link of links as readonly string[]) expect(link).toMatch(/^#\//)
    }
  })

  test('copies links that open it, and knows in the palette which conversation it shows', async () => {
    const page = await opened(await exported(await sample(), id), `#/c/${id}?at=5`)
    await page.getByText('costOf is the suspect').first().waitFor()
    await page.evaluate(`navigator.clipboard.writeText = async (text) => void (document.title = text)`)
    await page.keyboard.press('y')
    await expect.poll(() => page.title()).toBe(page.url())
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').fill('48')
    await page.getByRole('option', { name: 'position 48' }).click()
    await page.getByText('I ask to publish 1.4.0').first().waitFor()
  })

  test('opens whatever its address says', async () => {
    const page = await opened(await exported(await sample(), id), '#//[')
    await page.getByText('There is no such page').waitFor()
    await page.getByRole('link', { name: 'All conversations' }).click()
    await page.getByText('1 conversation').waitFor()
  })

  test('says that something was redacted, and where', async () => {
    const html = await exported(await sample(), id, { redact: /publish/i })
    expect(html).not.toContain('publish 1.4.0')
    const page = await opened(html)
    await toTheEnd(page)
    await page.getByText('I ask to [redacted] 1.4.0').first().waitFor()
    await page.getByText(/\d+ places are redacted/).waitFor()
  })

  test.for(['exact', 'rendered'])('is not broken by what is in it: hostile, %s', async (text) => {
    const store = await openStore('memory:')
    atEnd(store.close)
    await store.conversation('hostile').append(hostile)
    const html = await exported(store, 'hostile')
    const page = await opened(html, `#/c/hostile?text=${text}`)
    await page.locator(`[role=listitem][aria-label^="${hostile.length - 1},"]`).waitFor()
    for (const position of text === 'rendered' ? markedUp : []) {
      await page.evaluate(`location.hash = '#/c/hostile?text=rendered&at=${position}&sel=${position}'`)
      const row = page.locator(`[role=listitem][aria-current][aria-label^="${position},"]`)
      await row.waitFor()
      await page.keyboard.press('o')
      await row.locator('.markdown').first().waitFor()
      expect(
        await page.locator('main').locator('img:not([src^="blob:"]), iframe, style, form[action]').count(),
      ).toBe(0)
    }
    expect(await page.evaluate('document.scripts.length')).toBe(4)
    let content = 0
    for await (const event of store.conversation('hostile').events()) content += JSON.stringify(event).length
    expect(html.length).toBeLessThan(1.1 * content + 400_000)
  })
})
