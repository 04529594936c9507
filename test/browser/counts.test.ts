import type { Page, Request } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import type { NewMessage } from '../../src/core.ts'
import { openStore, type Store } from '../../src/index.ts'
import { noBrowser } from '../support/browser.ts'
import { looking } from '../support/looking.ts'
import { runs } from '../support/runs.ts'
import { served } from '../support/served.ts'
import { atEnd } from '../support/at-end.ts'

// What the page costs is counted, not timed.

/** About so many events, of which the last ones are shown and the others condensed. */
const long = async (events: number): Promise<Store> => {
  const store = await openStore('memory:')
  atEnd(store.close)
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

const isApi = (request: Request): boolean => new URL(request.url()).pathname.startsWith('/api/')
const nodes = (page: Page): Promise<number> => page.evaluate('document.querySelectorAll("*").length')

describe.skipIf(noBrowser !== '')(`the page${noBrowser}`, () => {
  test('has few nodes and asks little, however long a conversation is', async () => {
    const scene = await served(await long(runs(100_000)))
    const last = await scene.store.conversation('long').position()
    // The index that the ribbon is drawn from follows the store.
    const indexed = `${scene.url}/api/v1/conversations/long/hidden/${last}`
    await expect.poll(async () => (await fetch(indexed)).status).toBe(200)
    const asked: string[] = []
    let whole: Promise<unknown> | undefined
    const { page, at, shows, slider } = await looking(scene, '/c/long', {
      before: (opened) => {
        opened.on('request', (request) => isApi(request) && asked.push(request.url()))
        // What comes last, in whatever order.
        const ends = [/repairs=true/, /events\?from=/, /events\?clip=1&after=/]
        whole = Promise.all(ends.map((path) => opened.waitForResponse(path)))
      },
    })
    await shows(last)
    await whole
    // However long it is: what is seen, its outline and overview, what its marker hides, the event, its repairs, and what is live.
    const session = asked.findIndex((url) => url.endsWith('/session'))
    expect((session < 0 ? asked : asked.slice(0, session)).slice(7)).toEqual([])
    await slider.focus()
    for (let step = 0; step < 30; step++) await page.keyboard.press('ArrowLeft')
    await shows(await at())
    expect(await nodes(page)).toBeLessThan(1_500)
    await page.keyboard.press('e')
    await page
      .getByRole('listitem', { name: /hidden/ })
      .first()
      .waitFor()
    expect(await nodes(page)).toBeLessThan(1_500)
  })
})
