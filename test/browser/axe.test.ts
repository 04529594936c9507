import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { sampleIds } from '../../src/cli/sample.ts'
import { bisect } from '../../src/investigate/index.ts'
import { openStore } from '../../src/index.ts'
import { createAccessToken } from '../../src/server/access-tokens.ts'
import { atEnd } from '../support/at-end.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { faultsInBoth, faultsOf } from '../support/axe.ts'
import { noBrowser } from '../support/browser.ts'
import { exported, opened, sample } from '../support/exported.ts'
import { looking } from '../support/looking.ts'
import { parkStep } from '../support/park-step.ts'
import { wiper } from '../support/server/wiper.ts'
import { served, servedSample } from '../support/served.ts'
import { temporaryFolder } from '../support/stores.ts'

const [id, fork] = sampleIds

/** An address of each page, and what is there once it is whole. */
const routes = [
  ['the list', '/', id],
  ['a conversation with groups open', `/c/${id}?at=35&open=all&sel=2`, 'hidden · condensed by 30'],
  ['what the model sees', `/c/${id}?at=48&pane=model&text=rendered`, 'I ask to publish 1.4.0'],
  ['a request', `/c/${id}/calls/8`, 'verified'],
  ['the calls', `/c/${id}/calls?open=t29,16,t47`, 'since call 10'],
  ['the tokens', `/c/${id}/tokens`, 'By kind'],
  ['why a request was made so', `/c/${id}/calls/12?as=why`, 'Changed since call 10'],
  ['the workers', '/workers', 'No worker has reported yet'],
  ['two conversations', `/c/${id}/compare?with=${fork}`, 'that both have'],
  ['a diff', `/c/${id}/diff?from=29&to=35`, 'summary'],
  ['a diff of everything', `/c/${id}/diff?from=29&to=35&of=full`, 'added'],
  ['a diff of requests', `/c/${id}/diff?from=29&to=35&of=request`, 'messages'],
  ['a diff of configurations', `/c/${id}/diff?from=0&to=35&of=configuration`, 'system prompt'],
  ['a list of nothing', '/?q=nothingatall', 'No conversation matches'],
  ['a search', `/c/${id}?find=costOf`, 'costOf'],
] as const

describe.skipIf(noBrowser !== '')(`axe finds nothing${noBrowser}`, () => {
  test.for(routes)('on %s, light and dark', async ([, address, text]) => {
    const { page } = await looking(await servedSample(), address)
    await page.getByRole('main').getByText(text).first().waitFor()
    expect(await faultsInBoth(page)).toEqual([])
  })

  test('with every group open and in sight, light and dark', async () => {
    const scene = await served()
    const chat = scene.store.conversation('talk')
    await chat.append([
      { role: 'user', content: 'Read it.' },
      { role: 'assistant', content: 'It says so. '.repeat(100) },
      { role: 'user', content: 'Well?' },
      { role: 'assistant', content: 'Done.' },
    ])
    // Its summary is cut, and so has a button.
    await chat.condense({ covers: { first: 0, last: 1 }, summary: 'It was read. '.repeat(100) })
    await chat.truncate({ covers: { first: 2, last: 3 }, reason: 'Nobody needs it.' })
    const { page } = await looking(scene, '/c/talk?open=all')
    await page.locator('.beside').nth(1).waitFor({ state: 'attached' })
    expect(await faultsInBoth(page)).toEqual([])
  })

  test('in an exported file, light and dark', async () => {
    const page = await opened(await exported(await sample(), id), `#/c/${id}?at=35&open=all&sel=2`, {
      bypassCSP: true,
    })
    await page.getByText('hidden · condensed by 30').first().waitFor()
    expect(await faultsInBoth(page)).toEqual([])
  })

  test('on the pages of audits and investigations', async () => {
    const scene = await servedSample()
    const { store, url } = scene
    const chat = store.conversation(id)
    const { id: bisection } = await bisect(chat, { good: 2, bad: 44 })
    await bisect(chat, { good: 2, bad: 44, mark: 'good' })
    const { page } = await looking(scene, '/audit', { allowed: [/status of 404/] })
    const pages = [
      ['/audit', 'No ledger'],
      [`/c/${id}/audit`, '23 calls verified'],
      [`/c/${id}/tokens?window=24000&mode=truncate`, 'of 21 calls the same'],
      [`/c/${id}/bisect?bad=44`, 'Begun before'],
      [`/c/${id}/calls/99`, 'status 404'],
      ['/c/nobody/audit', 'status 404'],
      [`/c/${id}?at=9999`, 'status 404'],
      [`/c/${id}/bisect/${bisection}`, 'Most likely'],
    ] as const
    for (const [address, text] of pages) {
      await page.goto(url + address)
      await page.getByRole('main').getByText(text).first().waitFor()
      expect({ address, faults: await faultsInBoth(page) }).toEqual({ address, faults: [] })
    }
  })

  test('on workers, a call that needs approval, and an open palette', async () => {
    const events = memoryStore()
    const store = await openStore(events)
    atEnd(store.close)
    await parkStep(events, 'parked')
    await store.conversation('open').append({ role: 'user', content: 'Begin.' }, { answer: true })
    await store.conversation('waiting').append({ role: 'user', content: 'Begin.' }, { answer: true })
    await store.conversation('open').pause({ by: 'ann' })
    const worker = store.worker({
      turn: () => ({
        client: wiper,
        model: 'm',
        tools: [{ name: 'wipe', input_schema: { type: 'object' } }],
        run: { wipe: { run: () => 'wiped', approve: true } },
      }),
    })
    const stopping = new AbortController()
    const working = worker.run({ signal: stopping.signal })
    atEnd(async () => {
      stopping.abort()
      await working
    })
    const { page } = await looking(await served(store), '/workers')
    const main = page.getByRole('main')
    await main.getByRole('heading', { name: 'Needs approval or a result' }).waitFor()
    await main.getByText('needs approval · called at').waitFor()
    await main.getByRole('button', { name: 'Resume conversation' }).waitFor()
    await main.getByRole('button', { name: 'Pause worker' }).waitFor()
    expect(await main.textContent()).not.toMatch(/claims? so far/)
    expect(await faultsInBoth(page)).toEqual([])
    await page.keyboard.press('Control+K')
    await page.getByRole('combobox').fill('nothing like it')
    await page.getByRole('option', { name: 'search all conversations' }).waitFor()
    expect(await faultsInBoth(page)).toEqual([])
  })

  test('where a token is needed', async () => {
    const tokenFile = join(temporaryFolder(), 'tokens.json')
    createAccessToken(tokenFile, 'ann', ['read'])
    const { page } = await looking(await served(undefined, { tokenFile }), '/', {
      allowed: [/status of 401/],
    })
    expect(await faultsInBoth(page)).toEqual([])
  })

  test('in a sheet, and on a narrow screen', async () => {
    const { page, shows } = await looking(await servedSample(), `/c/${id}?at=35`, {
      viewport: { width: 390, height: 800 },
    })
    await shows(35)
    expect(await faultsOf(page)).toEqual([])
    await page.keyboard.press('R')
    await page.getByRole('dialog').getByText('Rewound to 35').waitFor()
    expect(await faultsOf(page)).toEqual([])
  })
})
