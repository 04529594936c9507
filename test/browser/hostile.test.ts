import { describe, expect, test } from 'vitest'
import { noBrowser } from '../support/browser.ts'
import { hostile, markedUp } from '../support/hostile.ts'
import { looking } from '../support/looking.ts'
import { served } from '../support/served.ts'

/** What nothing that somebody has said may become. */
const harmful =
  'script, style, link, iframe, form[action], object, embed, base, meta, svg animate, math, [onerror], [onload], [onfocus], [ontoggle], a[href^="javascript:" i], img:not([src^="blob:"])'

// `browsing` fails the test if a dialog opens, if the policy is broken, or if anything is asked of another origin.

describe.skipIf(noBrowser !== '')(`a conversation that means harm${noBrowser}`, () => {
  test.for(['exact', 'rendered'])('is text and nothing else: %s', async (text) => {
    const scene = await served()
    await scene.store.conversation('hostile').append(hostile)
    const { page, shows, row } = await looking(scene, `/c/hostile?text=${text}`)
    await shows(hostile.length - 1)
    for (const position of hostile.keys()) {
      await page.goto(`${scene.url}/c/hostile?text=${text}&at=${position}&sel=${position}`)
      await shows(position)
      await row(position).waitFor()
      if (text === 'rendered' && markedUp.includes(position)) {
        // What is long is shown exact until it is opened.
        await page.keyboard.press('o')
        await row(position).locator('.markdown').first().waitFor()
      }
      // Nothing of it became an element that could do something.
      expect(await page.locator('main').locator(harmful).count()).toBe(0)
    }
    await page.goto(`${scene.url}/c/hostile?text=${text}&at=1&sel=1`)
    await page.getByText('alert(18)').first().waitFor()
  })

  test('cannot disguise what it says: what is invisible has a name', async () => {
    const scene = await served()
    await scene.store.conversation('hostile').append(hostile)
    const { shows, row } = await looking(scene, '/c/hostile?at=3')
    await shows(3)
    const said = await row(3).textContent()
    for (const name of ['RLO', 'PDF', 'NUL', 'ESC', 'ZWSP', 'BOM', 'LRI']) expect(said).toContain(name)
  })
})
