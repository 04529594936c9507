import { describe, expect, test } from 'vitest'
import { noBrowser } from '../support/browser.ts'
import { looking } from '../support/looking.ts'
import { served } from '../support/served.ts'

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } } as const

describe.skipIf(noBrowser !== '')(`many of a kind${noBrowser}`, () => {
  test('a message shows the first of 1,000 images and more when asked, and says a repair of all of them once', async () => {
    const scene = await served()
    const chat = scene.store.conversation('images')
    await chat.append({ role: 'user', content: Array.from({ length: 1_000 }, () => image) })
    const { page, row, shows } = await looking(scene, '/c/images')
    await shows(0)
    const repair = page.getByText('repaired in the request', { exact: true })
    await repair.waitFor()
    expect(await repair.locator('..').textContent()).toMatch(/\(\d+ times\)$/)
    await page.keyboard.press('Home')
    await row(0).waitFor()
    await expect.poll(() => row(0).locator('img').count()).toBe(100)
    await row(0).getByRole('button', { name: '100 more of 1,000 blocks' }).click()
    await expect.poll(() => row(0).locator('img').count()).toBe(200)
  })

  test('the list does not say that 1,000 rewinds are all, if there may be more', async () => {
    const scene = await served()
    const chat = scene.store.conversation('rewound')
    await chat.append({ role: 'user', content: 'Begin.' })
    for (let n = 0; n < 1_001; n++) {
      await chat.append({ role: 'user', content: 'Continue.' })
      await chat.rewind({ to: 0, reason: 'again' })
    }
    const { page } = await looking(scene, '/')
    await page.getByRole('cell').getByText('1,000+').waitFor()
  })
})
