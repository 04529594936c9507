import { describe, expect, test } from 'vitest'
import { noBrowser } from '../support/browser.ts'
import { hostile } from '../support/hostile.ts'
import { looking } from '../support/looking.ts'
import { served } from '../support/served.ts'

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
    }
    await page.getByText('alert(18)').first().waitFor()
    // Nothing of it became an element that could do something.
    const made =
      'script:not([src]), iframe, form[action], object, embed, base, meta[http-equiv], svg animate, math'
    expect(await page.locator('main').locator(made).count()).toBe(0)
    expect(await page.locator('main [onerror], main [onload], main a[href^="javascript:"]').count()).toBe(0)
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
