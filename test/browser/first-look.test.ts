import { describe, expect, test } from 'vitest'
import type { NewMessage } from '../../src/core.ts'
import { noBrowser } from '../support/browser.ts'
import { exported, opened } from '../support/exported.ts'
import { looking } from '../support/looking.ts'
import { served, servedSample } from '../support/served.ts'

const call = (id: string): NewMessage => ({
  role: 'assistant',
  content: [{ type: 'tool_use', id, name: 'Bash', input: { command: 'npm test' } }],
})
const failed = (id: string): NewMessage => ({
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: id, content: 'Exit code 1, QX-7781', is_error: true }],
})

describe.skipIf(noBrowser !== '')(`a first look${noBrowser}`, () => {
  test('at the list: rows are shown once their places are known, so that no click is lost', async () => {
    const scene = await servedSample()
    await scene.store.conversation('idle').append({ role: 'user', content: 'Nobody waits here.' })
    let release = (): void => undefined
    const held = new Promise<void>((done) => (release = done))
    let isAsked = false
    let isListed = false
    const { page } = await looking(scene, '/', {
      before: async (its) => {
        its.on('response', (response) => {
          isListed ||= /conversations\?(?!.*status=)/.test(response.url())
        })
        await its.route(/conversations\?.*status=/, async (route) => {
          isAsked = true
          await held
          await route.continue()
        })
      },
    })
    await expect.poll(() => isAsked && isListed).toBe(true)
    // The list is answered, and two frames later would be drawn.
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done, 100)))')
    expect(await page.getByRole('table', { name: 'Conversations' }).isVisible()).toBe(false)
    release()
    await page.getByText('Needs you').waitFor()
    await page.getByRole('link', { name: /Nobody waits here/ }).click()
    await expect.poll(() => new URL(page.url()).pathname).toBe('/c/idle')
  })

  test('with forced colours: what a background says is readable, and only the current tab has a line', async () => {
    const scene = await servedSample()
    const { page } = await looking(scene, '/?q=costOf', { forcedColors: 'active' })
    const coloursOf = (selector: string): Promise<readonly string[]> =>
      page.evaluate(`(() => {
        const { forcedColorAdjust, color, backgroundColor } = getComputedStyle(document.querySelector(${JSON.stringify(selector)}))
        return [forcedColorAdjust, ...new Set([color, backgroundColor])]
      })()`)
    // The browser would put a plate of the page's colour behind the text otherwise.
    for (const selector of ['button.primary', '.chip[aria-current]', '.hit mark']) {
      await page.locator(selector).first().waitFor()
      await expect.poll(() => coloursOf(selector)).toEqual(['none', expect.any(String), expect.any(String)])
    }
    await page
      .getByRole('link', { name: /^hours-invoice/ })
      .first()
      .click()
    await page.locator('.tabs a').first().waitFor()
    const lines = (): Promise<number> =>
      page.evaluate(
        "new Set([...document.querySelectorAll('.tabs a')].map((tab) => getComputedStyle(tab).borderBottomColor)).size",
      )
    await expect.poll(lines).toBe(2)
  })

  test('at an unknown address: there is no such page, and ways on', async () => {
    const { page } = await looking(await served(), '/nowhere', { allowed: [/404/] })
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor()
    await page.getByRole('main').getByRole('link', { name: 'All conversations' }).click()
    await expect.poll(() => new URL(page.url()).pathname).toBe('/')
  })

  test('at retries and a truncation, in the page and in an exported file', async () => {
    const scene = await served()
    const chat = scene.store.conversation('talk')
    await chat.append([
      { role: 'user', content: 'Test it.' },
      call('1'),
      failed('1'),
      call('2'),
      failed('2'),
      { role: 'assistant', content: 'It fails.' },
    ])
    await chat.truncate({ covers: { first: 0, last: 5 } })
    await chat.append([
      { role: 'user', content: 'And?' },
      { role: 'assistant', content: 'See QX-7781.' },
    ])
    const { page } = await looking(scene, '/c/talk?at=8&sel=6')
    const file = await opened(await exported(scene.store, 'talk'), '#/c/talk?at=8&sel=6')
    for (const shown of [page, file]) {
      await shown.getByRole('list', { name: 'Colours' }).getByText('retry 1').waitFor()
      await shown.getByText('No summary: the model sees nothing of these 6 messages.').waitFor()
      const story = shown.locator('.story')
      await story.getByRole('link', { name: '2 results' }).waitFor()
      await shown.locator('.inspector').getByText('QX-7781').first().waitFor()
      await shown.getByRole('button', { name: /^6 messages hidden/ }).click()
      await shown.getByText('○ retry').waitFor()
    }
    await file.locator('.inspector .lost').getByRole('link', { name: '2', exact: true }).first().click()
    await expect.poll(() => file.url()).toContain('sel=2')
  })
})
