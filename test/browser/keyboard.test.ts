import { describe, expect, test } from 'vitest'
import { sampleIds } from '../../src/cli/sample.ts'
import { noBrowser } from '../support/browser.ts'
import { looking } from '../support/looking.ts'
import { servedSample } from '../support/served.ts'

const [id] = sampleIds

describe.skipIf(noBrowser !== '')(`with the keyboard alone${noBrowser}`, () => {
  test('one comes from the list to a request, looks into the past, and acts', async () => {
    const scene = await servedSample()
    const chat = scene.store.conversation(id)
    const { page, shows, row, slider } = await looking(scene, '/')
    const { keyboard } = page
    const link = page.locator(`a[href="/c/${id}"]`)
    await link.waitFor()
    for (let presses = 0; presses < 40 && !(await link.evaluate((node) => node.matches(':focus'))); presses++)
      await keyboard.press('Tab')
    await keyboard.press('Enter')
    await shows(48)

    // To a position, by marks, by steps, by calls, and with the arrows of the slider.
    await keyboard.press(':')
    await keyboard.type('35')
    await keyboard.press('Enter')
    await shows(35)
    await keyboard.press('[')
    await shows(30)
    await keyboard.press('j')
    await shows(31)
    await slider.focus()
    await keyboard.press('ArrowLeft')
    await shows(30)
    await keyboard.press('End')
    await shows(48)
    await expect
      .poll(() => slider.getAttribute('aria-valuetext'))
      .toMatch(/^position 48 of 48, tool call, [\d,]+ tokens$/)

    // What is hidden is opened, walked through row by row, and closed.
    await page.evaluate('document.activeElement.blur()')
    await keyboard.press(':')
    await keyboard.type('35')
    await keyboard.press('Enter')
    await shows(35)
    await keyboard.press('e')
    await row(2).waitFor()
    await keyboard.press('ArrowDown')
    await expect.poll(() => new URL(page.url()).searchParams.get('sel')).not.toBe('30')
    await keyboard.press('e')
    await expect.poll(() => new URL(page.url()).searchParams.get('open')).toBeNull()

    // The request, and back.
    await keyboard.press('r')
    await page.getByRole('status').filter({ hasText: 'verified' }).waitFor()
    await page.goBack()
    await shows(35)

    // A sheet is left with Escape; what it would have done was not done.
    await keyboard.press('R')
    await page.getByRole('dialog', { name: 'Rewind' }).getByText('Rewound to').waitFor()
    await keyboard.press('Escape')
    await expect.poll(() => page.locator('dialog').count()).toBe(0)
    expect(await chat.position()).toBe(48)
    await keyboard.press('?')
    await page.getByRole('dialog').getByText('next marker, rewind or restore').waitFor()
    await keyboard.press('Escape')

    // Single-letter keys are off while one types.
    await keyboard.press(':')
    await keyboard.type('jR')
    expect(await page.getByRole('dialog').count()).toBe(0)
  })

  test.each(['/', '?'])('what is typed right after %s is meant for what it opens', async (key) => {
    const { page } = await looking(await servedSample(), `/c/${id}?at=35`)
    await page.getByRole('listitem').first().waitFor()
    // Nothing but what the key itself leads to has happened: no frame, no timer.
    const isThere = await page.evaluate(`(async () => {
      document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '${key}', bubbles: true }))
      for (let turn = 0; turn < 50; turn++) await undefined
      return document.activeElement.closest('dialog[open], search input') !== null
    })()`)
    expect(isThere).toBe(true)
  })

  test.each([
    ['Control+k', 'palette', 'Do anything', 'rewind to 12', 'An action'],
    ['R', 'sheets', 'Rewind', '12', 'to position'],
  ])('what is typed after %s is meant for its sheet, which loads', async (key, part, title, text, label) => {
    let load = (): void => undefined
    const { page, at, shows } = await looking(await servedSample(), `/c/${id}?at=35`, {
      before: (its) =>
        its.route(`**/${part}*.js`, async (route) => {
          await new Promise<void>((resolve) => (load = resolve))
          await route.continue()
        }),
    })
    await shows(35)
    const asked = page.waitForRequest(`**/${part}*.js`)
    await page.keyboard.press(key)
    await asked
    await page.keyboard.type(text)
    expect(await page.getByRole('dialog').count()).toBe(0)
    load()
    const field = page.getByRole('dialog', { name: title }).getByLabel(label)
    await expect.poll(() => field.inputValue()).toBe(text)
    // A position that there is: the server would refuse another, if it is asked before the test ends.
    await page.keyboard.press('Backspace')
    expect(await field.inputValue()).toBe(text.slice(0, -1))
    expect(await at()).toBe(35)
  })
})
