import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { sampleIds } from '../../src/cli/sample.ts'
import { noBrowser } from '../support/browser.ts'
import { longLine } from '../support/hostile.ts'
import { looking } from '../support/looking.ts'
import { served, servedSample } from '../support/served.ts'
import { noted, settled } from '../support/settled.ts'

const [id] = sampleIds

// What users of other tools have asked for, in public threads: each a test.

const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

describe.skipIf(noBrowser !== '')(`users have asked that${noBrowser}`, () => {
  test('what was said before a compaction stays readable (anthropics/claude-code#26125)', async () => {
    const { shows, row } = await looking(await servedSample(), `/c/${id}?at=35&open=30&sel=2`)
    await shows(35)
    await row(2).waitFor()
    expect(await row(2).textContent()).toContain('I will look for where minutes become money.')
  })

  test('what the model no longer has is told apart, with the reason (anthropics/claude-code#75924)', async () => {
    const { shows, row } = await looking(await servedSample(), `/c/${id}?at=35&open=30&sel=2`)
    await shows(35)
    await row(2).waitFor()
    expect(await row(2).getAttribute('aria-label')).toMatch(/hidden, condensed by 30/)
    expect(await row(2).textContent()).toContain('hidden · condensed by 30')
    expect(await row(0).getAttribute('aria-label')).toMatch(/seen by the model$/)
  })

  test('folding hides whole messages, never a part of one (anthropics/claude-code#53239)', async () => {
    const { shows, row } = await looking(await servedSample(), `/c/${id}?at=31&sel=31`)
    await shows(31)
    const said = await row(31).textContent()
    for (const part of ['I look at what else prints amounts.', 'grep', 'explore', 'how wide a printed'])
      expect(said).toContain(part)
  })

  test('a compaction says how large it was before and after (RooCodeInc/Roo-Code#3673)', async () => {
    const { page, shows } = await looking(await servedSample(), `/c/${id}?at=35&sel=30`)
    await shows(35)
    await page.getByRole('button', { name: /^16 messages hidden/ }).waitFor()
    await page.getByText('5.1k → 1.5k tokens').first().waitFor()
  })

  test('nothing that is for the eye enters the request (Arsucar/RikkaRs#24)', async () => {
    const { url, store } = await servedSample()
    const sent = await (await fetch(`${url}/api/v1/conversations/${id}/calls/16/request`)).text()
    expect(sent).toContain('Asked for')
    expect(sent).not.toMatch(/hidden|condensed/)
    expect((await store.conversation(id).sent(16)).isSame).toBe(true)
  })

  test('another width of the window fetches nothing (OpenHands/OpenHands#12704)', async () => {
    const { page, shows } = await looking(await servedSample(), `/c/${id}?at=35&open=30&sel=2`, {
      before: noted,
    })
    await shows(35)
    await page.getByRole('complementary').getByText('condensed by 30').waitFor()
    const asked = await settled(page)
    for (const width of [1_100, 1_000, 880, 600, 390, 1_440]) {
      await page.setViewportSize({ width, height: 900 })
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
    }
    await shows(35)
    expect(await settled(page)).toEqual(asked)
  })

  test('one large payload does not matter to who moves through history (zalmoxisus/redux-devtools-extension#170)', async () => {
    const scene = await served()
    const chat = scene.store.conversation('large')
    await chat.append([
      { role: 'user', content: longLine },
      { role: 'assistant', content: 'So I have read.' },
      { role: 'user', content: 'Thank you.' },
    ])
    let bytes = 0
    const { page, shows } = await looking(scene, '/c/large', {
      before: (opened) =>
        opened.on('response', (response) => {
          bytes += Number(response.headers()['content-length'] ?? 0)
        }),
    })
    await shows(2)
    for (const position of [1, 0]) {
      await page.keyboard.press('k')
      await shows(position)
    }
    expect(bytes).toBeGreaterThan(0)
    expect(bytes).toBeLessThan(500_000)
    await page
      .getByText(/5\.\d MB/)
      .first()
      .waitFor()
  })

  test('a picture is shown as a picture, not as text (langfuse/langfuse#9933)', async () => {
    const scene = await served()
    const data = pixel.toString('base64')
    const source = { type: 'base64' as const, media_type: 'image/png' as const, data }
    await scene.store.conversation('picture').append({ role: 'user', content: [{ type: 'image', source }] })
    const { page, shows } = await looking(scene, '/c/picture')
    await shows(0)
    const image = page.getByRole('main').getByRole('img').first()
    await image.waitFor()
    await expect
      .poll(() => image.evaluate((node) => (node as unknown as { naturalWidth: number }).naturalWidth))
      .toBe(1)
    expect(await image.getAttribute('src')).toMatch(/^blob:/)
    expect(await page.getByRole('main').textContent()).not.toContain(data.slice(0, 20))
  })

  test('an id is never read as a number (kurrent-io/KurrentDB#4150)', async () => {
    const scene = await served()
    for (const name of ['007', '1e5', '9007199254740993'])
      await scene.store.conversation(name).append({ role: 'user', content: `I am ${name}.` })
    const { page } = await looking(scene, '/')
    for (const name of ['007', '1e5', '9007199254740993']) {
      await page.goto(`${scene.url}/c/${name}`)
      await page.getByRole('listitem').getByText(`I am ${name}.`).waitFor()
      await page.getByRole('heading', { name: `I am ${name}.` }).waitFor()
    }
  })

  test('moving is looking: what differs is there at once (microsoft/vscode#147501)', async () => {
    const { page, shows, row } = await looking(await servedSample(), `/c/${id}?at=29`)
    await shows(29)
    expect(await page.getByRole('button', { name: /messages hidden/ }).count()).toBe(0)
    await page.keyboard.press('j')
    await shows(30)
    await page.getByRole('button', { name: /^16 messages hidden/ }).waitFor()
    expect(await row(2).count()).toBe(0)
  })

  test('what was abandoned is skipped visibly, and can be opened (rr-debugger/rr#2131)', async () => {
    const { page, shows, row } = await looking(await servedSample(), `/c/${id}?at=29`)
    await shows(29)
    await page.getByRole('button', { name: /events abandoned by the rewind at 28/ }).click()
    await row(23).waitFor()
    expect(await row(23).textContent()).toContain('abandoned · rewind at 28')
  })

  test('an event can be linked to, and the link opens there (replayio/devtools#3509)', async () => {
    const scene = await servedSample()
    const { page, shows, row } = await looking(scene, `/c/${id}`)
    await shows(48)
    await page.keyboard.press('G')
    const href = await row(45).getByRole('link', { name: '45' }).getAttribute('href')
    await page.goto(`${scene.url}${href}`)
    await shows(45)
  })

  test('the page needs nothing from anywhere else (every one of them)', () => {
    const page = readFileSync(new URL('../../src/ui/index.html', import.meta.url), 'utf8')
    expect(page).not.toMatch(/https?:/)
  })
})
