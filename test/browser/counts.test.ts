import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadSample, sampleIds } from '../../src/cli/sample.ts'
import type { NewMessage } from '../../src/core.ts'
import { openStore, type Store } from '../../src/index.ts'
import { noBrowser } from '../support/browser.ts'
import { looking, type Looking } from '../support/looking.ts'
import { runs } from '../support/runs.ts'
import { served, type Served } from '../support/served.ts'
import { noted, settled } from '../support/settled.ts'

// What the page costs is counted, not timed.

/** About so many events, of which the last ones are shown and the others condensed. */
const long = async (events: number): Promise<Store> => {
  const store = await openStore('memory:')
  const chat = store.conversation('long')
  for (let from = 0; from < events; from += 1_000) {
    const messages = Array.from({ length: 1_000 }, (_, index): NewMessage => {
      const role = index % 2 === 0 ? 'user' : 'assistant'
      return { role, content: `${role} says number ${from + index}` }
    })
    await chat.append(messages)
    await chat.condense({ keepLast: 20, summary: `What was said up to ${from + 1_000}.` })
  }
  return store
}

/** What the first view of an address has asked for, once all is there that it shows. */
const firstView = async (
  scene: Served,
  address: string,
  isThere: (looked: Looking) => Promise<unknown>,
): Promise<readonly string[]> => {
  const looked = await looking(scene, address, { before: noted })
  const { page } = looked
  // The rows; the details of the event; what is live.
  await page.getByRole('listitem').first().waitFor()
  await page.locator('.inspector dt', { hasText: 'command' }).waitFor()
  await page.getByRole('button', { name: /live|paused/i }).waitFor()
  await isThere(looked)
  return settled(page)
}

/** Counts what canvases draw. */
const counted = (page: Page): Promise<unknown> =>
  page.addInitScript(`{
    window.drawn = 0
    const { prototype } = CanvasRenderingContext2D
    const own = prototype.fillRect
    prototype.fillRect = function (...edges) {
      window.drawn++
      return own.apply(this, edges)
    }
  }`)

const nodes = (page: Page): Promise<number> => page.evaluate('document.querySelectorAll("*").length')

/** Ends with a marker, and shows as many as it is told to: each hides a call of a tool of its own, and the result. */
const marked = async (store: Store, markers: number): Promise<void> => {
  const chat = store.conversation('marked')
  for (let turn = 0; turn < markers; turn++) {
    const [id, name] = [`call-${turn}`, `tool-${turn}`]
    await chat.append([
      { role: 'user', content: `Look at ${turn}.` },
      { role: 'assistant', content: [{ type: 'tool_use', id, name, input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'Seen.' }] },
    ])
  }
  for (let turn = 0; turn < markers; turn++)
    await chat.truncate({ covers: { first: 3 * turn + 1, last: 3 * turn + 2 } })
}

/** The index that the ribbon is drawn from follows the store. */
const isIndexed = async ({ url, store }: Served, id = 'long'): Promise<void> => {
  const last = await store.conversation(id).position()
  const marker = `${url}/api/v1/conversations/${id}/hidden/${last}`
  await expect.poll(async () => (await fetch(marker)).status).toBe(200)
}

describe.skipIf(noBrowser !== '')(`the page${noBrowser}`, () => {
  let store: Store
  beforeAll(async () => {
    store = await long(Math.max(6_000, runs(30_000)))
  })
  afterAll(() => store.close())

  test('asks for at most six things until its first view is complete', async () => {
    const scene = await served(store)
    await loadSample(scene.store)
    await marked(scene.store, 60)
    await isIndexed(scene)
    await isIndexed(scene, 'marked')
    const overview = ({ page }: Looking) =>
      page.getByRole('slider', { name: 'Position in the whole conversation' }).waitFor()
    const ends: Record<string, (looked: Looking) => Promise<unknown>> = {
      '/c/long': overview,
      '/c/long?at=5010': overview,
      [`/c/${sampleIds[0]}`]: ({ page }) => page.getByRole('button', { name: 'Approve …' }).waitFor(),
      [`/c/${sampleIds[0]}?at=31&sel=30`]: ({ page }) =>
        page.getByRole('button', { name: /^16 messages replaced by a summary/ }).waitFor(),
      // What the markers hide is asked for at once.
      '/c/marked': ({ page }) => page.getByRole('button', { name: /1 tool-59/ }).waitFor(),
    }
    for (const [address, isThere] of Object.entries(ends)) {
      const tooMuch = (await firstView(scene, address, isThere)).slice(6)
      expect({ address, tooMuch }).toEqual({ address, tooMuch: [] })
    }
  })

  test('has few nodes, however long a conversation is, and draws its ribbon once', async () => {
    const scene = await served(store)
    const last = await scene.store.conversation('long').position()
    await isIndexed(scene)
    const { page, at, shows, slider } = await looking(scene, '/c/long', { before: counted })
    await shows(last)
    await slider.focus()
    const back = async (steps: number): Promise<void> => {
      for (let step = 0; step < steps; step++) await page.keyboard.press('ArrowLeft')
      // The page may still be taking steps.
      for (let before = NaN, now = await at(); now !== before; now = await at()) {
        before = now
        await page.waitForTimeout(500)
      }
      await shows(await at())
    }
    await back(30)
    expect(await nodes(page)).toBeLessThan(1_500)
    // From one message to the next, the ribbon is not drawn again: the line between past and future moves.
    const drawn = await page.evaluate('drawn')
    expect(drawn).toBeGreaterThan(1_000)
    await back(5)
    expect(await page.evaluate('drawn')).toBe(drawn)
    await page.keyboard.press('e')
    await page
      .getByRole('listitem', { name: /hidden/ })
      .first()
      .waitFor()
    expect(await nodes(page)).toBeLessThan(1_500)
  })
})
