import { join } from 'node:path'
import type { Route } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { noBrowser } from '../support/browser.ts'
import { disguised } from '../support/hostile.ts'
import { sampleIds } from '../../src/cli/sample.ts'
import { openStore } from '../../src/index.ts'
import { bisect } from '../../src/investigate/index.ts'
import { serve } from '../../src/server/serve.ts'
import { atEnd } from '../support/at-end.ts'
import { builtPage } from '../support/bundle.ts'
import { looking, sheet, stoppable } from '../support/looking.ts'
import { served, servedSample } from '../support/served.ts'

const [id] = sampleIds

// What the pages show is of where one is, not of where one was.

describe.skipIf(noBrowser !== '')(`a page${noBrowser}`, () => {
  test('shows the reply of its call, also after the one before was opened in full', async () => {
    const scene = await served()
    const origin = { model: 'claude-opus-5-5' }
    const [first, second] = ['one and '.repeat(200), 'two and '.repeat(200)]
    await scene.store.conversation('talk').append([
      { role: 'user', content: 'Count.' },
      { role: 'assistant', content: first, origin },
      { role: 'user', content: 'Again.' },
      { role: 'assistant', content: second, origin },
    ])
    const { page } = await looking(scene, '/c/talk/calls/p1')
    const reply = page.locator('section.reply')
    await reply.getByRole('button', { name: /^open all/ }).click()
    await reply.getByText(first.trim(), { exact: true }).waitFor()
    await page.getByRole('link', { name: 'next call' }).click()
    await page.getByRole('heading', { name: 'Request answered at 3' }).waitFor()
    await reply.getByText('two and').waitFor()
    expect(await reply.textContent()).not.toContain('one and')
  })

  test('of a reply without a receipt says why it was shown that, and that nothing proves it', async () => {
    const scene = await served()
    const origin = { model: 'claude-opus-5-5' }
    await scene.store.conversation('talk').append([
      { role: 'user', content: 'Count.' },
      { role: 'assistant', content: 'One.', origin },
      { role: 'user', content: 'Again.' },
      { role: 'assistant', content: 'Two.', origin },
    ])
    const { page } = await looking(scene, '/c/talk/calls/p3?as=why')
    const panel = page.getByRole('tabpanel', { name: 'why' })
    await panel.getByText('Changed since the reply at 1').waitFor()
    await panel
      .getByText('not proven by a receipt. Not recorded: system prompt, tools, parameters.')
      .waitFor()
    expect(await panel.getByRole('listitem').allTextContents()).toEqual([
      expect.stringContaining('+ 2 messages 1–2 appeared, said since') as string,
    ])
  })

  test('names what is invisible wherever it shows what was said', async () => {
    const scene = await served()
    const chat = scene.store.conversation('talk')
    await chat.append([
      { role: 'user', content: disguised },
      { role: 'assistant', content: 'Run.', origin: { model: 'claude-opus-5-5' } },
    ])
    const { page } = await looking(scene, '/')
    const isNamed = async (address: string, place: string): Promise<void> => {
      await page.goto(scene.url + address)
      const shown = page.locator(place).filter({ hasText: 'gnp.exe' }).first()
      await shown.waitFor()
      expect(await shown.textContent()).toContain('RLO')
    }
    await isNamed('/', '.listed .title')
    await isNamed('/c/talk?find=gnp', '.hits .excerpt')
    await isNamed('/c/talk/diff?from=-1&to=0', '.diff .excerpt')
    await isNamed('/c/talk/calls/p1', '.request-message')
  })

  test('of the list finds titles and system prompts, and says what became of these', async () => {
    const scene = await served()
    const chat = scene.store.conversation('talk')
    await chat.configure({ system: 'You mend parsers.' })
    await chat.append({ role: 'user', content: 'Hello.' })
    await chat.configure({ system: 'You mend lexers.' })
    await chat.note({ kind: 'title', data: 'Of parsers' })
    const { page } = await looking(scene, '/?q=parsers')
    const hits = page.locator('.found .hit')
    await hits.nth(1).waitFor()
    expect(await hits.allTextContents()).toEqual([
      expect.stringContaining('Of parserstitle'),
      expect.stringContaining('replaced by 2'),
    ])
    await hits.first().click()
    await expect.poll(() => new URL(page.url()).pathname + new URL(page.url()).search).toBe('/c/talk')
    await page.getByRole('slider', { name: 'Position', exact: true }).waitFor()
    await page.keyboard.press('/')
    await page.getByRole('searchbox').fill('parsers')
    await page.getByRole('search').getByText('1 hit, and the title').waitFor()
    expect(await page.locator('.hits .titled').textContent()).toBe('titleOf parsers')
  })

  test('of a request says which tools were called', async () => {
    const { page } = await looking(await servedSample(), `/c/${id}/calls/8`)
    const call = page
      .locator('.request-message')
      .filter({ hasText: 'I will look for where minutes become money.' })
    expect(await call.textContent()).toMatch(/list_files.*grep/s)
    const one = page.locator('.request-message').filter({ hasText: 'costOf is the suspect' })
    expect(await one.textContent()).toContain('read_file')
  })

  test('of a request is shown again as it was shown, also that of the next call', async () => {
    const scene = await servedSample()
    const { page } = await looking(scene, `/c/${id}/calls/8`)
    await page.getByRole('tab', { name: 'as sent' }).click()
    await page.getByText('"max_tokens":800').waitFor()
    await page.getByRole('link', { name: 'next call' }).click()
    await page.getByRole('heading', { name: 'Request of call 9' }).waitFor()
    await page.reload()
    await page.getByText('"max_tokens":800').waitFor()
    expect(new URL(page.url()).search).toBe('?as=sent')
  })

  test('of a request says why it was so: from the inspector, by its key, and on paper', async () => {
    const { page, shows } = await looking(await servedSample(), `/c/${id}?at=23`)
    await shows(23)
    await page.getByRole('button', { name: /^Why/ }).click()
    const panel = page.getByRole('tabpanel', { name: 'why' })
    await panel.getByText('Changed since call 10').waitFor()
    expect(await panel.getByRole('listitem').allTextContents()).toEqual(
      expect.arrayContaining([
        'src/report.js is in 3, hidden by 22 · no summary names it',
        '− 16 messages 2–17 disappeared, condensed by 22 · 3,811 tokens',
        '+ 2 messages 20–21 appeared, said since · 72 tokens',
      ]),
    )
    await page.emulateMedia({ media: 'print' })
    expect(await panel.isVisible()).toBe(true)
    await page.emulateMedia({ media: 'screen' })
    await page.getByRole('tab', { name: 'reading' }).click()
    await page.keyboard.press('w')
    await panel.getByText('Hidden then').waitFor()
    expect(new URL(page.url()).search).toBe('?as=why')
  })

  test('of a conversation stays at its end when something comes in below', async () => {
    const { page, shows, row } = await looking(await servedSample(), `/c/${id}`)
    await shows(48)
    await page.keyboard.press('G')
    await page.getByRole('button', { name: 'Approve…' }).waitFor()
    const isInSight = async (): Promise<boolean> => {
      const [list, last] = [await page.locator('.rows').boundingBox(), await row(48).boundingBox()]
      return list !== null && last !== null && last.y + last.height <= list.y + list.height + 1
    }
    await expect.poll(isInSight).toBe(true)
  })

  test('of the list is where it was left when Back leads to it, and at its beginning when a link does', async () => {
    const scene = await served()
    for (let n = 0; n < 300; n++)
      await scene.store.conversation(`c${n}`).append({ role: 'user', content: `Question ${n}.` })
    const { page } = await looking(scene, '/')
    const link = page.getByRole('link', { name: 'Question 140.' })
    await page.getByText('300 conversations').waitFor()
    const isThere = async (): Promise<boolean> => {
      if ((await link.count()) > 0) return true
      await page.evaluate('scrollBy(0, 500)')
      return false
    }
    await expect.poll(isThere).toBe(true)
    await link.evaluate((it) => it.scrollIntoView({ block: 'center' }))
    const before = await link.boundingBox()
    await link.click()
    await page.getByRole('heading', { name: 'Question 140.' }).waitFor()
    await page.goBack()
    await expect.poll(async () => (await link.boundingBox())?.y).toBe(before?.y)
    await link.click()
    await page.getByRole('link', { name: 'palimpsest' }).click()
    await page.getByText('300 conversations · 100 loaded').waitFor()
    await expect.poll(() => page.evaluate('scrollY')).toBe(0)
  })

  test('says before anything is filled in that a conversation is too long to look into, and what to run', async () => {
    const scene = await served()
    const messages = Array.from({ length: 100_001 }, () => ({ role: 'user' as const, content: 'x' }))
    await scene.store.conversation('long').append(messages)
    const { page } = await looking(scene, '/c/long/bisect?bad=70', { allowed: [/status of 413/] })
    await page.getByText('This conversation has 100,001 events').waitFor()
    await page.getByText('palimpsest bisect long --good POSITION --bad 70', { exact: true }).waitFor()
    expect(await page.locator('form').count()).toBe(0)
    expect(await page.getByRole('alert').count()).toBe(0)
  })

  test('of bisections names the beginning where one is from before the first event', async () => {
    const scene = await servedSample()
    await bisect(scene.store.conversation(id), { good: -1, bad: 44 })
    const { page } = await looking(scene, `/c/${id}/bisect`)
    await page.getByRole('link', { name: 'the beginning to 44' }).click()
    await page.getByText('All was well at the beginning').waitFor()
    await page.goto(`${scene.url}/c/${id}?at=-1`)
    await page.getByRole('heading', { name: 'the beginning' }).waitFor()
    await page.getByText('the beginning · about 0 tokens').waitFor()
  })

  test('of a conversation has room for rows on a low screen, and breaks long names on a narrow one', async () => {
    const scene = await served()
    const name = `mcp__${'x'.repeat(59)}`
    const call = {
      role: 'assistant' as const,
      content: [{ type: 'tool_use' as const, id: 'call', name, input: {} }],
      origin: { model: 'claude-opus-5-5' },
    }
    for (const talk of ['talk', 'other'])
      await scene.store.conversation(talk).append([{ role: 'user', content: `Look at ${talk}.` }, call])
    const { page, row } = await looking(scene, '/c/talk', { viewport: { width: 320, height: 256 } })
    await row(1).waitFor()
    const list = await page.locator('.rows').boundingBox()
    expect(list?.height).toBeGreaterThan(150)
    const search = await page.getByRole('button', { name: 'Search', exact: true }).boundingBox()
    expect((search?.x ?? 0) + (search?.width ?? 999)).toBeLessThanOrEqual(320)
    await page.locator('.rows').evaluate((node) => node.scrollIntoView({ block: 'end' }))
    const tool = await row(1).locator('.what b').boundingBox()
    expect((tool?.x ?? 0) + (tool?.width ?? 999)).toBeLessThanOrEqual(320)
    for (const [address, there] of [
      ['/c/talk/tokens', '.costs'],
      ['/c/talk/compare?with=other', '.call-name'],
      ['/c/talk/calls/p1', '.reply .block.call'],
    ] as const) {
      await page.goto(scene.url + address)
      await page.locator(there).first().waitFor()
      expect([address, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([address, 320])
    }
  })

  test('of a conversation has its views at the bottom of a phone, and cuts no time', async () => {
    const { page, row } = await looking(await servedSample(), `/c/${id}?at=10`, {
      viewport: { width: 390, height: 844 },
    })
    await row(10).waitFor()
    const views = await page.getByRole('radiogroup', { name: 'Show' }).boundingBox()
    expect((views?.y ?? 0) + (views?.height ?? 0)).toBe(844)
    const rows = await page.locator('.rows').boundingBox()
    expect((rows?.y ?? 0) + (rows?.height ?? 999)).toBeLessThanOrEqual(views?.y ?? 0)
    await expect.poll(() => page.locator('.at small:visible').count()).toBe(0)
    await page.setViewportSize({ width: 800, height: 844 })
    await page.locator('.at small:visible').first().waitFor()
    const over = await page
      .locator('.at small')
      .evaluateAll((all) => all.map((it) => it.scrollWidth - it.clientWidth))
    expect(Math.max(...over)).toBe(0)
  })

  test('of a request shows its JSON as code', async () => {
    const { page } = await looking(await servedSample(), `/c/${id}/calls/1?as=json`)
    const font = page.getByRole('tabpanel').locator('.exact').first()
    expect(await font.evaluate((it) => getComputedStyle(it).fontFamily)).toContain('Mono')
  })

  test('of a conversation says nothing of it before it knows, and stays where it is when the ribbon comes', async () => {
    let release = (): void => undefined
    const held = new Promise<void>((resolve) => (release = resolve))
    const { page, row, slider } = await looking(await servedSample(), `/c/${id}?at=20`, {
      before: (opened) =>
        opened.route(/outline\?/, async (route) => {
          await held
          await route.continue()
        }),
    })
    await row(20).waitFor()
    const bar = page.locator('.bar-of-view')
    const before = await bar.boundingBox()
    expect(await bar.textContent()).not.toMatch(/other/i)
    expect(await page.getByRole('complementary').getByRole('heading').textContent()).toBe('20 ')
    release()
    await slider.waitFor()
    await page.getByRole('heading', { name: '20 assistant' }).waitFor()
    expect(Math.abs(((await bar.boundingBox())?.y ?? 0) - (before?.y ?? 0))).toBeLessThan(4)
  })

  test('of the list asks for all that was chosen, however quickly', async () => {
    const scene = await served()
    await scene.store.conversation('talk').append({ role: 'user', content: 'Hello there.' })
    const { page } = await looking(scene, '/')
    await page.getByLabel('search text, paths, tools, ids').fill('hello')
    await page.getByRole('link', { name: 'Condensed' }).click()
    const asked = (): string[] => [...new URL(page.url()).searchParams].map((pair) => pair.join('='))
    await expect.poll(asked).toEqual(['q=hello', 'has=condensed'])
  })

  test('of a conversation looks for up to 200 hits, however few an answer has, and for none once the search is closed', async () => {
    const scene = await served()
    await scene.store.conversation('talk').append(
      Array.from({ length: 201 }, (_, index) => ({
        role: 'user' as const,
        content: index < 120 ? 'Hello there, you.' : 'Hello there.',
      })),
    )
    const few = (route: Route) =>
      route.continue({ url: route.request().url().replace('limit=200', 'limit=50') })
    const { page, shows } = await looking(scene, '/c/talk?find=there,+you', {
      before: (opened) => opened.route(/search\?/, few),
    })
    await shows(200)
    await page.getByRole('search').getByText('120 hits', { exact: true }).waitFor()
    await page.getByRole('searchbox').fill('hello')
    await page.getByRole('search').getByText('more than 200 hits').waitFor()
    expect(await page.locator('.hits li').count()).toBe(200)
    await page.getByRole('button', { name: 'Search', exact: true }).click()
    await expect.poll(() => new URL(page.url()).search).toBe('')
  })

  test('of a conversation shows no rows of another position in place of those that could not be had', async () => {
    const { page, shows, row } = await looking(await servedSample(), `/c/${id}?at=20`, {
      allowed: [/Failed to load resource/],
      before: stoppable,
    })
    await shows(20)
    await row(20).waitFor()
    await page.route(/effective\?(?:.*&)?at=5(?:&|$)/, (route) => route.abort())
    await page.keyboard.press(':')
    await page.keyboard.type('5')
    await page.keyboard.press('Enter')
    const alert = page.locator('.reading').getByRole('alert')
    await alert.getByText('The server cannot be reached').waitFor()
    expect(await row(20).count()).toBe(0)
    // It asks again by itself, and what it says stays meanwhile: it is read out once.
    await alert.evaluate((node) => node.setAttribute('data-first', ''))
    await page.waitForRequest(/at=5(?:&|$)/)
    expect(await page.locator('.reading [data-first]').count()).toBe(1)
    await page.unroute(/effective\?(?:.*&)?at=5(?:&|$)/)
    await shows(5)
  })

  test('of a conversation asks again by itself for the ribbon, where the server could not be reached', async () => {
    const { page, slider } = await looking(await servedSample(), `/c/${id}?at=20`, {
      allowed: [/Failed to load resource/],
      before: (opened) => opened.route(/outline\?/, (route) => route.abort()),
    })
    await page.getByRole('alert').getByText('The server cannot be reached').waitFor()
    await page.unroute(/outline\?/)
    await slider.waitFor()
    expect(await page.getByRole('alert').count()).toBe(0)
  })

  test('says what of two long conversations it does not compare', async () => {
    const scene = await served()
    for (const name of ['one', 'other'])
      await scene.store.conversation(name).append(
        Array.from({ length: 1_002 }, (_, index) => ({
          role: index % 2 === 0 ? ('user' as const) : ('assistant' as const),
          content: `${name} ${index}`,
        })),
      )
    const { page } = await looking(scene, '/c/one/compare?with=other')
    await page.getByText('Only the first 1,000 of 1,002 items of one are compared.').waitFor()
    await page.getByText('Only the first 1,000 of 1,002 items of other are compared.').waitFor()
    await page.goto(`${scene.url}/c/one/diff?from=1001&to=other:1001`)
    await page.getByText('Only the first 1,000 of 1,002 items of other are compared.').waitFor()
  })

  test('says that the server is gone, also while one stands still', async () => {
    const store = await openStore('memory:')
    atEnd(store.close)
    await store.conversation('talk').append([
      { role: 'user', content: 'One.' },
      { role: 'assistant', content: 'Two.' },
    ])
    const { url, close } = await serve({ store, port: 0, page: join(await builtPage(), 'ui') })
    let closed: Promise<void> | undefined
    atEnd(() => (closed ??= close()))
    const { page, shows } = await looking({ store, url }, '/c/talk?at=0', {
      allowed: [/Failed to load resource/],
    })
    await shows(0)
    await page.getByRole('button', { name: 'paused' }).waitFor()
    closed = close()
    await page.getByRole('button', { name: /paused · offline since/i }).waitFor()
  })

  test('says that a part of it cannot be loaded, such as after the server was replaced by another version', async () => {
    const { page } = await looking(await servedSample(), `/c/${id}?at=20`, {
      allowed: [/ERR_FAILED/],
      before: stoppable,
    })
    await page.getByRole('listitem').first().waitFor()
    await page.route('**/assets/**', (route) => route.abort())
    const lost = page.getByText('it now runs another version')
    const told = page.getByRole('status').filter({ has: lost })
    for (const key of ['R', 'g e', 'Control+k']) {
      for (const one of key.split(' ')) await page.keyboard.press(one)
      await told.getByRole('button', { name: 'Load it again' }).waitFor()
      await told.getByRole('button', { name: 'Dismiss' }).click()
      await told.waitFor({ state: 'detached' })
    }
    await page.evaluate(
      `history.pushState(null, '', '/c/${id}/diff?from=22&to=35'), dispatchEvent(new PopStateEvent('popstate'))`,
    )
    await page.getByRole('alert').filter({ has: lost }).waitFor()
    await page.unroute('**/assets/**')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('heading', { name: 'What changed' }).waitFor()
  })

  test('asks before a link in what was said is followed, however it is clicked', async () => {
    const scene = await served()
    await scene.store
      .conversation('talk')
      .append({ role: 'user', content: '[look](https://example.org/x?y)' })
    const { page, shows } = await looking(scene, '/c/talk?text=rendered')
    await shows(0)
    const link = page.getByRole('link', { name: 'look' })
    for (const button of ['left', 'middle'] as const) {
      await link.click({ button })
      await sheet(page, 'Leave this page?').getByText('https://example.org/x?y').waitFor()
      expect(page.context().pages()).toHaveLength(1)
      await page.keyboard.press('Escape')
      await expect.poll(() => page.locator('dialog').count()).toBe(0)
    }
  })

  test('says of listed receipts that they are there, not that they are right', async () => {
    const { page } = await looking(await servedSample(), '/')
    await page.getByTitle('21 reply receipts').waitFor()
    expect(await page.getByRole('main').textContent()).not.toContain('✓')
  })

  test('brings the row into sight that the arrows select, and gives it the focus', async () => {
    const { page, shows } = await looking(await servedSample(), `/c/${id}?at=20`)
    await shows(20)
    for (let times = 0; times < 12; times++) await page.keyboard.press('ArrowUp')
    await expect.poll(() => new URL(page.url()).searchParams.get('sel')).toBe('9')
    const selected = page.locator('.rows [aria-current]')
    await expect.poll(() => selected.evaluate((node) => node.matches(':focus'))).toBe(true)
    const isInSight = async (): Promise<boolean> => {
      const [list, row] = [await page.locator('.rows').boundingBox(), await selected.boundingBox()]
      return list !== null && row !== null && row.y >= list.y - 1 && row.y < list.y + list.height
    }
    await expect.poll(isInSight).toBe(true)
  })
})
