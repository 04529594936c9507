import { describe, expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { atEnd } from '../support/at-end.ts'
import { noBrowser } from '../support/browser.ts'
import { looking } from '../support/looking.ts'
import { served } from '../support/served.ts'

describe.skipIf(noBrowser)('erased content', () => {
  test('goes from a page that is open, which says when, for whom and why it was erased', async () => {
    const store = await openStore('memory:')
    atEnd(store.close)
    const chat = store.conversation('a')
    await chat.append([
      { role: 'user', content: 'My number is 4711.' },
      { role: 'assistant', content: 'Noted.' },
    ])
    const scene = await served(store)
    const { page } = await looking(scene, '/c/a')
    await page.getByText('My number is 4711.').first().waitFor()
    await page.getByRole('button', { name: 'live' }).waitFor()
    await chat.erase({ positions: [0], by: 'ann', reason: 'request 17' })
    await page
      .getByText(/^erased \d{4}-/)
      .first()
      .waitFor()
    await expect.poll(() => page.getByText('4711').count()).toBe(0)
    const inspector = page.locator('.inspector')
    await page.goto(`${page.url().split('?')[0]}?at=2`)
    await inspector.getByText('request 17').waitFor()
    expect(await inspector.innerText()).toMatch(
      /erasure[\s\S]*erased events\s+0\s+decided by\s+ann\s+reason\s+request 17/,
    )
  })
})
