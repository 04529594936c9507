import { describe, expect, test } from 'vitest'
import { sampleIds } from '../../src/cli/sample.ts'
import { noBrowser } from '../support/browser.ts'
import { looking, sheet } from '../support/looking.ts'
import { opensInNewTab } from '../support/new-tab.ts'
import { served, servedSample } from '../support/served.ts'

const [id] = sampleIds
/** Its last position. */
const last = 48
const opened = async (query = '') => {
  const scene = await servedSample()
  return { ...scene, ...(await looking(scene, `/c/${id}${query}`)), chat: scene.store.conversation(id) }
}

describe.skipIf(noBrowser !== '')(`the time machine${noBrowser}`, () => {
  test('opens at its newest marker, follows the end, and G leads there', async () => {
    const { page, shows, row } = await opened()
    await shows(last)
    await row(46).and(page.locator('[aria-current=true]')).waitFor()
    await page.getByRole('button', { name: 'live' }).waitFor()
    await page.keyboard.press('G')
    await expect.poll(() => new URL(page.url()).search).toBe('')
    await row(last).waitFor()
    expect(await row(last).textContent()).toContain('I ask to publish 1.4.0')
    // What waits takes room of the rows, and does not cover the last one.
    await page.getByRole('button', { name: 'Approve…' }).waitFor()
    const rows = page.locator('.rows')
    const isCovered = async (): Promise<boolean> => {
      const [whole, end] = [await rows.boundingBox(), await row(last).boundingBox()]
      return !whole || !end || end.y + end.height > whole.y + whole.height + 1
    }
    await expect.poll(isCovered).toBe(false)
  })

  test('says where the files were, and has the command that brings them there', async () => {
    const scene = await servedSample()
    const workspace = { kind: 'git', commit: '3f2a1c4'.padEnd(40, '5'), dirty: true } as const
    const chat = scene.store.conversation(id)
    const { position } = await chat.append({ role: 'user', content: 'Publish it.' }, { workspace })
    const { page, shows } = await looking(scene, `/c/${id}?at=${position}`)
    await shows(position)
    const files = page.getByLabel('Inspector').getByText('at 3f2a1c4, with changes that were not committed')
    await files.first().waitFor()
    await page.getByText('Continue in …').click()
    await page.getByText('git stash && git switch --detach 3f2a1c455555', { exact: true }).waitFor()
  })

  test('is dragged through: the rows follow the slider, and Back leads to where it began', async () => {
    const { page, slider, at, shows } = await opened('?at=40')
    await shows(40)
    const box = await slider.boundingBox()
    if (!box) throw new Error('the slider is nowhere')
    const y = box.y + box.height / 2
    await page.mouse.move(box.x + (box.width * 40) / last, y)
    await page.mouse.down()
    for (const share of [0.7, 0.6, 0.5, 0.4]) await page.mouse.move(box.x + box.width * share, y)
    await page.mouse.up()
    const position = await at()
    expect(position).toBeGreaterThan(10)
    expect(position).toBeLessThan(30)
    await shows(position)
    await expect.poll(() => new URL(page.url()).searchParams.get('at')).toBe(String(position))
    await page.goBack()
    await shows(40)
  })

  test('[ and ] go from mark to mark', async () => {
    const { page, shows } = await opened()
    await shows(last)
    for (const mark of [46, 37, 36, 30, 28, 22]) {
      await page.keyboard.press('[')
      await shows(mark)
    }
    for (const mark of [28, 30]) {
      await page.keyboard.press(']')
      await shows(mark)
    }
  })

  test('an opened group shows what was hidden, and its summary stays beside it while it scrolls', async () => {
    const { page, shows, row } = await opened('?at=35')
    await shows(35)
    const group = page.getByRole('button', { name: /^16 messages hidden/ })
    await page.keyboard.press('e')
    await expect.poll(() => new URL(page.url()).searchParams.get('open')).toBe('30')
    await group.and(page.locator('[aria-expanded=true]')).waitFor()
    await row(4).waitFor()
    expect(await row(4).textContent()).toContain('hidden · condensed by 30')
    const summary = page.locator('.beside').getByText('Asked for')
    const before = await summary.boundingBox()
    await row(4).hover()
    const scrolled = (): Promise<number> => page.locator('.rows').evaluate((rows) => rows.scrollTop)
    let from = await scrolled()
    const isMoved = async (): Promise<boolean> => {
      // The group may still come into sight by itself, in either direction.
      const earlier = from
      from = await scrolled()
      if (from <= earlier) await page.mouse.wheel(0, 100)
      return from > earlier
    }
    await expect.poll(isMoved).toBe(true)
    await row(6).waitFor()
    const after = await summary.boundingBox()
    expect(Math.abs((after?.y ?? 0) - (before?.y ?? 0))).toBeLessThan(120)
    expect(await summary.isVisible()).toBe(true)
  })

  test('the request of a call is verified, and is what was sent to the byte', async () => {
    const scene = await servedSample()
    const { page } = await looking(scene, `/c/${id}/calls/8`)
    await page.getByRole('status').filter({ hasText: 'verified' }).waitFor()
    await page.getByRole('tab', { name: 'as sent' }).click()
    await page.getByText('"max_tokens":800').waitFor()
    await page.getByRole('link', { name: 'next call' }).click()
    await page.getByRole('heading', { name: 'Request of call 9' }).waitFor()
  })

  test('a position opens in a new tab, where it shows the same; the page stays where it is', async () => {
    const { page, shows } = await opened('?at=35&open=30&sel=30')
    await shows(35)
    const link = page.locator('.rows').getByRole('link', { name: '4', exact: true })
    await opensInNewTab(link, async (tab) => {
      const { pathname, search } = new URL(tab.url())
      expect(pathname + search).toBe(`/c/${id}?at=4&open=30`)
      await tab.getByText('costOf is the suspect').first().waitFor()
    })
    await shows(35)
    await link.click()
    await shows(4)
    await page.goBack()
    await shows(35)
  })

  test('a rewind is shown before it is done, and undone after', async () => {
    const { page, chat, shows } = await opened('?at=45')
    await shows(45)
    const seen = await chat.effective()
    await page.keyboard.press('R')
    const rewind = sheet(page, 'Rewind')
    await rewind.getByText('Rewound to 45').waitFor()
    expect(await chat.position()).toBe(last)
    await page.keyboard.press('Control+Enter')
    await page.getByRole('status').getByText('Rewound to 45').waitFor()
    await shows(last + 1)
    expect((await chat.effective()).at(-1)?.position).toBe(45)
    await page.keyboard.press('z')
    await sheet(page, 'Undo').getByText(`Rewound to ${last}`).waitFor()
    await page.keyboard.press('Control+Enter')
    await page.getByRole('status').getByText('Undone').waitFor()
    await shows(last + 2)
    expect(await chat.effective()).toEqual(seen)
  })

  test('a fork begins where one looks', async () => {
    const { page, store, shows } = await opened('?at=20')
    await shows(20)
    await page.keyboard.press('F')
    await sheet(page, 'Fork').getByLabel('id of the new conversation').fill('another-try')
    await page.keyboard.press('Control+Enter')
    await page.waitForURL((url) => url.pathname === '/c/another-try')
    await page.getByRole('heading', { name: 'another-try' }).waitFor()
    expect(await store.conversation('another-try').effective()).toEqual(
      await store.conversation(id).effective({ at: 20 }),
    )
  })

  test('what somebody else has written meanwhile is shown before anything is done', async () => {
    const scene = await servedSample()
    const chat = scene.store.conversation(id)
    const { page, shows } = await looking(scene, `/c/${id}?at=45`, { allowed: [/status of 412/] })
    await shows(45)
    await page.keyboard.press('R')
    const rewind = sheet(page, 'Rewind')
    await rewind.getByText('Rewound to 45').waitFor()
    await chat.configure({ model: 'claude-sonnet-5-5' })
    await rewind.getByRole('button', { name: /^Rewind/ }).click()
    const stale = sheet(page, '1 event arrived in the meantime')
    await stale.getByText('Nothing has been written').waitFor()
    expect(await chat.position()).toBe(last + 1)
    await stale.getByRole('button', { name: /anyway, at 49/ }).click()
    await page.getByRole('status').getByText('Rewound to 45').waitFor()
    expect(await chat.position()).toBe(last + 2)
  })

  test('a new event appears at the head by itself; where one stands, it is counted', async () => {
    const scene = await served()
    const chat = scene.store.conversation('talk')
    await chat.append([
      { role: 'user', content: 'One.' },
      { role: 'assistant', content: 'Two.' },
    ])
    const { page, shows } = await looking(scene, '/c/talk')
    await shows(1)
    await page.getByRole('button', { name: 'live' }).waitFor()
    await chat.append({ role: 'user', content: 'Three.' })
    await page.getByText('Three.').waitFor()
    await shows(2)
    await page.keyboard.press('k')
    await shows(1)
    await chat.append({ role: 'assistant', content: 'Four.' })
    await page.getByRole('button', { name: '1 new' }).waitFor()
    await shows(1)
    await page.keyboard.press('G')
    await shows(3)
  })

  test.for(['?at=35&open=30&sel=12', '?at=48&pane=model&text=rendered', '?at=27&open=all', ''])(
    'an address is a view: %s is the same after a reload',
    async (query) => {
      const { page, shows } = await opened(query)
      const at = Number(new URLSearchParams(query).get('at') ?? last)
      /** What was chosen: the selected row, the buttons that are pressed (but that of the connection, which changes by itself), and the groups that are open. */
      const chosen = (): Promise<unknown> =>
        page.evaluate(`({
          selected: document.querySelector('[role=listitem][aria-current]')?.getAttribute('aria-label'),
          pressed: [...document.querySelectorAll('[aria-pressed=true]')].map((node) => node.textContent).filter((text) => !/^(?:Live|Connecting|Paused)/.test(text)),
          address: location.search,
        })`)
      await shows(at)
      // Without a position, it opens at its newest summary.
      if (query === '') await expect.poll(() => page.url()).toContain('sel=')
      if (query.includes('sel=12')) await page.locator('[aria-current][aria-label^="12,"]').waitFor()
      const before = await chosen()
      await page.reload()
      await shows(at)
      await expect.poll(chosen).toEqual(before)
    },
  )
})
