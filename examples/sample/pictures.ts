// npm run pictures: the pictures in the README. The page with the sample, how one drags through it, and how a session continues elsewhere
// in the terminal. The latter is what the built program prints: run `npm run build` before.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { loadSample, sampleIds } from '../../src/cli/sample.ts'
import { openStore } from '../../src/index.ts'
import { serve } from '../../src/server/serve.ts'
import { browser } from '../../test/support/browser.ts'
import { builtPage } from '../../test/support/bundle.ts'
import { printed, terminalPage } from './terminal.ts'
import { animated, type Frame } from './webp.ts'

const store = await openStore('memory:')
await loadSample(store)
const { url, close } = await serve({ store, port: 0, page: join(await builtPage(), 'ui') })
const chrome = await browser()
const opened = (width: number, height: number): Promise<Page> =>
  chrome.newPage({
    viewport: { width, height },
    colorScheme: 'light',
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: 'UTC',
  })
/** What comes after the rows: the request's repairs, the details. */
const rested = (page: Page): Promise<void> => page.waitForTimeout(1_000)

const page = await opened(1_440, 900)
await page.goto(`${url}/c/${sampleIds[0]}?at=35&open=30&sel=30`)
await page.getByText('hidden · condensed by 30').first().waitFor()
await rested(page)
await writeFile(new URL('page.png', import.meta.url), await page.screenshot())

/** Back from the last event to before the summary, then forward again, and what the summary stands for is opened. */
const stops = [
  { at: 48, ms: 1_400 },
  { at: 44, ms: 500 },
  { at: 39, ms: 500 },
  { at: 35, ms: 900 },
  { at: 29, ms: 900 },
  { at: 22, ms: 500 },
  { at: 14, ms: 1_200 },
  { at: 31, ms: 1_400 },
  { at: 31, open: 30, ms: 2_600 },
]
const [width, height] = [1_200, 750]

/** A picture in the browser's own encoding, half as large as without loss and as sharp to the eye. */
const webpOf = async (blank: Page, png: Buffer): Promise<Buffer> => {
  const encoded = await blank.evaluate<string>(`(async () => {
    const data = await (await fetch('data:image/png;base64,${png.toString('base64')}')).blob()
    const canvas = Object.assign(document.createElement('canvas'), { width: ${width}, height: ${height} })
    canvas.getContext('2d', { alpha: false }).drawImage(await createImageBitmap(data), 0, 0)
    return canvas.toDataURL('image/webp', 0.9)
  })()`)
  return Buffer.from(encoded.slice(encoded.indexOf(',') + 1), 'base64')
}

const dragged = await opened(width, height)
const blank = await opened(width, height)
const frames: Frame[] = []
for (const { at, open, ms } of stops) {
  await dragged.goto(
    `${url}/c/${sampleIds[0]}?at=${at}${open === undefined ? '' : `&open=${open}&sel=${open}`}`,
  )
  await dragged.getByRole('list', { name: `Position ${at}` }).waitFor()
  await rested(dragged)
  frames.push({ webp: await webpOf(blank, await dragged.screenshot()), ms })
}
await writeFile(new URL('dragging.webp', import.meta.url), animated(frames, width, height))

const folder = await mkdtemp(join(tmpdir(), 'palimpsest-'))
printed(folder, 'import', fileURLToPath(new URL('../sessions/claude-code.jsonl', import.meta.url)))
const log = printed(folder, 'log', '6513270e', '--all').split('\n')
const from = log.findIndex((line) => line.includes('Yes, just round.'))
const to = log.findIndex((line) => line.includes('All 173 tests pass.'))
const session = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}/g
const terminal = await opened(800, 600)
await terminal.setContent(
  terminalPage([
    ['palimpsest log 6513270e --all', ['…', ...log.slice(from, to + 1), '…'].join('\n')],
    [
      'palimpsest continue 6513270e --at 21 --in codex --dry-run',
      printed(folder, 'continue', '6513270e', '--at', '21', '--in', 'codex', '--dry-run')
        .replaceAll(folder, '~')
        .replaceAll(session, '01a22a88-8254-73c7-8449-a49ecd4c4331'),
    ],
  ]),
)
await terminal.locator('pre').screenshot({ path: fileURLToPath(new URL('continue.png', import.meta.url)) })
await rm(folder, { recursive: true })
await chrome.close()
await close()
await store.close()
