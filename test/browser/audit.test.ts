import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { make, type Made } from '../../examples/audit/made.ts'
import { tamperings } from '../../examples/audit/tamperings.ts'
import { fileAnchor } from '../../src/audit.ts'
import { sampleIds } from '../../src/cli/sample.ts'
import { openStore } from '../../src/index.ts'
import { bisect } from '../../src/investigate/index.ts'
import { newSigner } from '../audit/ledger/scene.ts'
import { atEnd } from '../support/at-end.ts'
import { noBrowser } from '../support/browser.ts'
import { looking, sheet, stoppable } from '../support/looking.ts'
import { served, servedSample } from '../support/served.ts'
import { temporaryFolder } from '../support/stores.ts'

const [id] = sampleIds

describe.skipIf(noBrowser !== '')(`the audit page${noBrowser}`, () => {
  test('says step by step what proves a conversation, from no ledger to a checkpoint elsewhere', async () => {
    const scene = await servedSample()
    const { store } = scene
    const { page } = await looking(scene, `/c/${id}/audit`)
    const says = (title: string) => page.getByRole('heading', { level: 2, name: title }).waitFor()
    await says('The hash chain is intact, but nothing else proves it')
    await page.getByText('palimpsest audit init').waitFor()
    await expect.poll(() => page.getByRole('list', { name: 'Calls' }).getByRole('link').count()).toBe(23)
    const signer = await newSigner()
    await store.audit.init({ signer, origin: 'example.com/agents' })
    await page.reload()
    await says('Not sealed yet')
    await store.audit.seal({ signer })
    await page.reload()
    await says('Sealed through 48, but kept only here')
    await store.audit.seal({ signer, anchors: [fileAnchor(join(temporaryFolder(), 'elsewhere/'))] })
    await page.reload()
    await says('Unchanged since it was sealed, to its last event')
    await store.conversation(id).rewind({ to: 40 })
    await page.reload()
    await says('Unchanged since it was sealed, through 48')
    await page.getByRole('link', { name: 'example.com/agents' }).click()
    await says('Sealed, except for what was written since')
    await store.audit.init({ signer: await newSigner(), again: 'the key was lost', force: true })
    await page.reload()
    await page.getByText('the key was lost').waitFor()
  })

  test('saves evidence, and says which summaries were made of what is withheld', async () => {
    const { page } = await looking(await servedSample(), `/c/${id}/audit`, { acceptDownloads: true })
    await page.getByRole('button', { name: 'Save evidence' }).click()
    const dialog = sheet(page, 'Save evidence')
    await dialog.getByLabel('withhold the events at').fill('99')
    await dialog.getByText('Give positions from 0 to 48.').waitFor()
    await dialog.getByLabel('withhold the events at').fill('12')
    const downloading = page.waitForEvent('download')
    await page.keyboard.press('Enter')
    expect((await downloading).suggestedFilename()).toBe(`${id}-evidence.zip`)
    await dialog.getByText('Saved: 49 events, 1 of them withheld').waitFor()
    await dialog.getByText('This conversation is not in a ledger').waitFor()
    await dialog.getByRole('button', { name: /^Withhold .* as well$/ }).click()
    expect(await dialog.getByLabel('withhold the events at').inputValue()).toBe('12, 22, 30')
  })

  describe('of a conversation that was tampered with', () => {
    let folder: string
    let made: Made
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'palimpsest-'))
      made = await make(folder)
    })
    afterAll(() => rm(folder, { recursive: true, force: true }))

    test.each([
      [1, 'Event 1 does not contain the hash of the one before it'],
      [5, 'Event 48 differs from what was sealed'],
    ])('in way %i of the demo says so loudly', async (way, title) => {
      const tampering = tamperings[way - 1]
      const file = join(temporaryFolder(), 'store.db')
      const store = await openStore(`sqlite:${made.store}`)
      await store.backup(file)
      await store.close()
      await tampering?.act(file, made)
      const tampered = await openStore(`sqlite:${file}`)
      atEnd(tampered.close)
      const { page } = await looking(await served(tampered), `/c/${id}/audit`)
      await page.getByRole('alert').getByRole('heading', { name: title }).waitFor()
    })
  })

  test('tells who may not audit that it takes another token', async () => {
    const { page } = await looking(await servedSample(), `/c/${id}/audit`, {
      allowed: [/status of 403/],
      before: (its) =>
        its.route(/\/(?:audit|verification)$/, (route, request) =>
          request.resourceType() === 'document'
            ? route.continue()
            : route.fulfill({
                status: 403,
                contentType: 'application/problem+json',
                body: JSON.stringify({
                  title: 'Forbidden',
                  status: 403,
                  detail: 'this needs a token with the scope audit',
                  tag: 'Forbidden',
                  scope: 'audit',
                }),
              }),
        ),
    })
    await page.getByText('this needs a token with the scope audit').first().waitFor()
    expect(await page.getByRole('heading', { level: 2, name: 'Audit' }).count()).toBe(1)
  })
})

describe.skipIf(noBrowser !== '')(`since when it is wrong${noBrowser}`, () => {
  test('is found with the keyboard alone, and anybody may continue by its address', async () => {
    const scene = await servedSample()
    const { page, shows } = await looking(scene, `/c/${id}?at=44`)
    await shows(44)
    await page.keyboard.press('b')
    await page.getByLabel('good at').fill('2')
    expect(await page.getByLabel('bad at').inputValue()).toBe('44')
    await page.keyboard.press('Enter')
    const asked = page.getByRole('heading', { level: 2, name: /^Is it still good at \d+\?$/ })
    await asked.waitFor()
    const answers = page.getByRole('heading', { name: /^Answers \d+$/ })
    for (let n = 1; n < 10; n++) {
      const title = await page.locator('main h2.page-title').textContent()
      const position = Number(/\d+/.exec(title ?? '')?.[0])
      if (title?.startsWith('Since')) break
      await page.keyboard.press(position >= 30 ? '-' : '+')
      await expect.poll(() => page.locator('main h2.page-title').textContent()).not.toBe(title)
      await answers.waitFor()
      // As somebody else, or later.
      if (n === 1) await page.reload()
      await page.locator('main h2.page-title').waitFor()
    }
    await page.getByRole('heading', { level: 2, name: 'Since 30, a summary' }).waitFor()
    const [found] = await scene.store.conversation(id).notes({ kind: 'palimpsest/bisection' })
    expect(found?.data).toMatchObject({ good: 2, bad: 44 })
    await page.getByRole('link', { name: 'bisect' }).click()
    await page.getByRole('link', { name: '2 to 44' }).waitFor()
  })

  test('is asked at the address of its own bisection, and an answer that was not taken is not lost from sight', async () => {
    const scene = await servedSample()
    const chat = scene.store.conversation(id)
    const ends = { good: 2, bad: 44 }
    const { id: name } = await bisect(chat, ends)
    await bisect(chat, { good: 0, bad: 20 })
    const { page } = await looking(scene, `/c/${id}/bisect/${name}`, {
      allowed: [/status of 409/, /ERR_FAILED/],
      before: stoppable,
    })
    const title = page.locator('main h2.page-title')
    const asks = (position: number) =>
      page.getByRole('heading', { level: 2, name: `Is it still good at ${position}?` }).waitFor()
    await asks(29)
    await page.getByRole('link', { name: 'bisect' }).click()
    await page.getByRole('link', { name: '0 to 20' }).click()
    const asked = title.getByRole('link')
    const before = await asked.textContent()
    await page.keyboard.press('+')
    await expect.poll(() => asked.textContent()).not.toBe(before)
    await page.evaluate('history.go(-2)')
    await asks(29)
    await page.route(/\/verdicts\?/, (route) => route.abort(), { times: 1 })
    await page.keyboard.press('+')
    const refusal = page.getByRole('alert')
    await refusal.getByText('then try again').waitFor()
    await asks(29)
    await page.keyboard.press('+')
    await asks(36)
    await refusal.waitFor({ state: 'detached' })
    await bisect(chat, { ...ends, mark: 'bad' })
    await page.keyboard.press('+')
    await refusal.getByText('has been judged').waitFor()
    await asks(32)
  })

  test('of a long conversation takes no more than can be drawn', async () => {
    const scene = await served()
    const chat = scene.store.conversation('long')
    await chat.append(Array.from({ length: 22_000 }, () => ({ role: 'user', content: 'x' }) as const))
    const { id: name } = await bisect(chat, { good: -1, bad: 21_999 })
    const sizes: number[] = []
    const { page } = await looking(scene, `/c/long/bisect/${name}`, {
      before: (its) =>
        its.on('response', (answer) => {
          if (/bisections|outline/.test(answer.url()) && answer.url().includes('/api/'))
            sizes.push(Number(answer.headers()['content-length']))
        }),
    })
    await page.getByText('is a message of the user.').waitFor()
    const title = await page.locator('main h2.page-title').textContent()
    await page.keyboard.press('+')
    await expect.poll(() => page.locator('main h2.page-title').textContent()).not.toBe(title)
    await page.getByText('is a message of the user.').waitFor()
    expect(sizes.length).toBeGreaterThan(2)
    for (const size of sizes) expect(size).toBeLessThan(60_000)
  })

  test('is listed from the beginning, not from -1', async () => {
    const scene = await served()
    const chat = scene.store.conversation('long')
    await chat.append(Array.from({ length: 1_300 }, () => ({ role: 'user', content: 'x' }) as const))
    await bisect(chat, { good: -1, bad: 1_299 })
    const { page } = await looking(scene, '/c/long/bisect')
    await page.getByRole('link', { name: 'the beginning to 1,299' }).click()
    await page.getByText('All was well at the beginning, and no longer at 1,299.').waitFor()
  })

  test('is not asked of a conversation that is not there', async () => {
    const { page } = await looking(await servedSample(), '/c/nobody/bisect', { allowed: [/status of 404/] })
    await page.getByRole('alert').getByText('nobody').first().waitFor()
    expect(await page.getByRole('button', { name: 'Begin' }).count()).toBe(0)
  })

  test('shows what happened at each position once the index knows it', async () => {
    const scene = await servedSample()
    const { id: name } = await bisect(scene.store.conversation(id), { good: 2, bad: 44 })
    let asked = 0
    const { page } = await looking(scene, `/c/${id}/bisect/${name}`, {
      before: (opened) =>
        opened.route('**/outline?*', async (route) => {
          if (++asked > 1) return route.continue()
          // As it is while the index is being built.
          const answer = await route.fetch()
          const whole = (await answer.json()) as object
          return route.fulfill({ response: answer, json: { ...whole, indexed: -1, kinds: '' } })
        }),
    })
    await page.getByText('Most likely').waitFor()
    await expect.poll(() => asked).toBeGreaterThan(1)
  })

  test('is not asked of somebody who may only read', async () => {
    const scene = await servedSample()
    const { id: name } = await bisect(scene.store.conversation(id), { good: 2, bad: 44 })
    const reading = await served(scene.store, { isReadOnly: true })
    const { page } = await looking(reading, `/c/${id}/bisect/${name}`)
    await page.getByText('This server is read-only.').waitFor()
    await page.keyboard.press('+')
    expect(await scene.store.conversation(id).notes({ kind: 'palimpsest/verdict' })).toEqual([])
  })
})

describe.skipIf(noBrowser !== '')(`the page of tokens${noBrowser}`, () => {
  test('marks where the cache broke, says what did it, and draws another policy beside', async () => {
    const { page } = await looking(await servedSample(), `/c/${id}/tokens`)
    const marks = page.getByRole('figure').getByRole('link')
    await marks.nth(2).waitFor()
    expect(await marks.nth(0).getAttribute('aria-label')).toBe('break 1, at 23: messages were condensed')
    await page.getByLabel('window, in tokens').fill('24000')
    await page.getByLabel('when it is full').selectOption('truncate')
    await page.getByRole('button', { name: 'Replay' }).click()
    await page.getByText('what the policy would have sent').waitFor()
    // Summaries are numbered as calls, too.
    await page.getByText('21 replies and 2 calls for summaries').waitFor()
    const words = await page.getByText(/of 21 calls the same/).textContent()
    expect(new URL(page.url()).search).toBe('?window=24000&mode=truncate')
    await page.reload()
    await expect.poll(() => page.getByText(/of 21 calls the same/).textContent()).toBe(words)
    // A window too small for the usual answer is taken with less for it.
    await page.getByLabel('window, in tokens').fill('4000')
    await page.getByText('Make the window 9,104 or more, or keep 3,599 or fewer for the answer.').waitFor()
    await page.getByLabel('of these for the answer').fill('800')
    await page.getByRole('button', { name: 'Replay' }).click()
    await expect.poll(() => new URL(page.url()).search).toBe('?window=4000&reserved=800&mode=truncate')
    await expect.poll(() => page.getByText(/of 21 calls the same/).textContent()).not.toBe(words)
    await marks.nth(0).click()
    await expect.poll(() => new URL(page.url()).search).toBe('?at=22')
  })
})
