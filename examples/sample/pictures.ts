// npm run pictures: the page's picture in the README, of the sample.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { loadSample, sampleIds } from '../../src/cli/sample.ts'
import { openStore } from '../../src/index.ts'
import { serve } from '../../src/server/serve.ts'
import { browser } from '../../test/support/browser.ts'
import { builtPage } from '../../test/support/bundle.ts'

const store = await openStore('memory:')
await loadSample(store)
const { url, close } = await serve({ store, port: 0, page: join(await builtPage(), 'ui') })
const chrome = await browser()
const page = await chrome.newPage({
  viewport: { width: 1440, height: 900 },
  colorScheme: 'light',
  reducedMotion: 'reduce',
  locale: 'en-GB',
  timezoneId: 'UTC',
})
await page.goto(`${url}/c/${sampleIds[0]}?at=35&open=30&sel=30`)
await page.getByText('hidden · condensed by 30').first().waitFor()
// What comes after the rows: the request's repairs, the details.
await page.waitForTimeout(1_000)
await writeFile(new URL('page.png', import.meta.url), await page.screenshot())
await chrome.close()
await close()
await store.close()
