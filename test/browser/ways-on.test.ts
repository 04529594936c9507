import { describe, expect, test } from 'vitest'
import { sampleIds } from '../../src/cli/sample.ts'
import { noBrowser } from '../support/browser.ts'
import { looking } from '../support/looking.ts'
import { servedSample } from '../support/served.ts'

const [id] = sampleIds

describe.skipIf(noBrowser !== '')(`a page that has nothing to show${noBrowser}`, () => {
  test('leads to the last position and to the list, or to what a search can find', async () => {
    const scene = await servedSample()
    const { page } = await looking(scene, `/c/${id}/calls/99`, { allowed: [/status of 404/] })
    const problem = page.getByRole('alert')
    await problem.getByText('status 404').waitFor()
    await problem.getByRole('link', { name: 'All conversations' }).waitFor()
    await problem.getByRole('link', { name: 'Last position' }).click()
    await expect.poll(() => new URL(page.url()).pathname).toBe(`/c/${id}`)
    await page.goto(`${scene.url}/c/nobody`)
    await problem.getByText('status 404').waitFor()
    expect(await problem.getByRole('link').allTextContents()).toEqual(['All conversations'])
    await problem.getByRole('link').click()
    await page.getByText(id).first().waitFor()
    await page.goto(`${scene.url}/?q=nothingatall&has=condensed`)
    await page.getByText('Try fewer or other words.').waitFor()
    await page.getByRole('link', { name: 'Show all conversations' }).click()
    await page.getByText(id).first().waitFor()
  })

  test('tells the bars of the ribbon apart if the system forces its colours', async () => {
    const { page, shows } = await looking(await servedSample(), `/c/${id}?at=35`, {
      forcedColors: 'active',
      allowed: [/willReadFrequently/],
    })
    await shows(35)
    /** Reports whether the ribbon has many opaque pixels of a system colour. */
    const has = (colour: string) =>
      page.evaluate(`(() => {
        const probe = document.body.appendChild(document.createElement('i'))
        probe.style = 'forced-color-adjust: none; color: ${colour}'
        const wanted = getComputedStyle(probe).color.match(/\\d+/g).slice(0, 3).join()
        probe.remove()
        let found = 0
        for (const canvas of document.querySelectorAll('.ribbon canvas')) {
          const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
          for (let at = 0; at < data.length; at += 4)
            if (data[at + 3] === 255 && data.slice(at, at + 3).join() === wanted) found++
        }
        return found > 20
      })()`)
    // Some systems' Highlight is translucent.
    for (const colour of ['CanvasText', 'LinkText', 'GrayText'])
      await expect.poll(() => has(colour), { message: colour }).toBe(true)
    // The legend has the same colours, and other forms where two kinds share one.
    const forms = await page.evaluate(`[...document.querySelectorAll('.legend li')].map((item) => {
      const { backgroundColor, height, verticalAlign } = getComputedStyle(item, '::before')
      return [backgroundColor, height, verticalAlign].join(' ')
    })`)
    expect(new Set(forms as readonly string[]).size).toBeGreaterThanOrEqual(6)
  })
})
