import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { gather, type HtmlOptions } from '../../src/cli/html/gather.ts'
import { htmlPage } from '../../src/cli/html/page.ts'
import { loadSample, sampleIds } from '../../src/cli/sample.ts'
import { openStore, type Store } from '../../src/index.ts'
import { atEnd } from '../support/at-end.ts'
import { browsing, noBrowser } from '../support/browser.ts'
import { builtPage } from '../support/bundle.ts'
import { hostile } from '../support/hostile.ts'

const [id] = sampleIds

const sample = async (): Promise<Store> => {
  const store = await openStore('memory:')
  atEnd(store.close)
  await loadSample(store)
  return store
}

const exported = async (store: Store, of: string, options: HtmlOptions = {}): Promise<string> => {
  const folder = pathToFileURL(join(await builtPage(), 'ui-file/'))
  let html = ''
  for await (const piece of htmlPage(await gather(store, store.conversation(of), options), folder))
    html += piece
  return html
}

/** Opens a file as a double click does, at an address of the page. */
const opened = async (html: string, address = ''): Promise<Page> => {
  const folder = await mkdtemp(join(tmpdir(), 'palimpsest-file-'))
  atEnd(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'a.html'), html)
  const page = await browsing()
  await page.goto(`${pathToFileURL(join(folder, 'a.html')).href}${address}`)
  return page
}

describe.skipIf(noBrowser !== '')(`an exported page${noBrowser}`, () => {
  test('opens without a server, at the end of the conversation', async () => {
    const page = await opened(await exported(await sample(), id))
    await page.getByText('I ask to publish 1.4.0').first().waitFor()
    expect(new URL(page.url()).hash).toBe(`#/c/${id}`)
    await page.getByText('Nothing was redacted').waitFor()
  })

  test('opens at a position, and goes to others', async () => {
    const page = await opened(await exported(await sample(), id), `#/c/${id}?at=5`)
    await page.getByText('`costOf` is the suspect').first().waitFor()
    expect(await page.getByText('I ask to publish 1.4.0').count()).toBe(0)
    await page.evaluate(`location.hash = '#/c/${id}?at=48'`)
    await page.getByText('I ask to publish 1.4.0').first().waitFor()
  })

  test('says that something was redacted, and where', async () => {
    const html = await exported(await sample(), id, { redact: /publish/i })
    expect(html).not.toContain('publish 1.4.0')
    const page = await opened(html)
    await page.getByText('I ask to [redacted] 1.4.0').first().waitFor()
    await page.getByText(/\d+ places are redacted/).waitFor()
  })

  test.for(['exact', 'rendered'])('is not broken by what is in it: hostile, %s', async (text) => {
    const store = await openStore('memory:')
    atEnd(store.close)
    await store.conversation('hostile').append(hostile)
    const html = await exported(store, 'hostile')
    const page = await opened(html, `#/c/hostile?text=${text}`)
    await page.getByText('alert(18)').first().waitFor()
    expect(await page.evaluate('document.scripts.length')).toBe(4)
    let content = 0
    for await (const event of store.conversation('hostile').events()) content += JSON.stringify(event).length
    expect(html.length).toBeLessThan(1.1 * content + 400_000)
  })
})
