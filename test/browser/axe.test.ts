import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { sampleIds } from '../../src/cli/sample.ts'
import { bisect } from '../../src/investigate/index.ts'
import { createAccessToken } from '../../src/server/access-tokens.ts'
import { faultsInBoth, faultsOf } from '../support/axe.ts'
import { noBrowser } from '../support/browser.ts'
import { exported, opened, sample } from '../support/exported.ts'
import { looking } from '../support/looking.ts'
import { served, servedSample } from '../support/served.ts'
import { temporaryFolder } from '../support/stores.ts'

const [id, fork] = sampleIds

/** An address of each page, and what is there once it is whole. */
const routes = [
  ['the list', '/', id],
  ['a conversation with groups open', `/c/${id}?at=35&open=all&sel=2`, 'hidden · condensed by 30'],
  ['what the model sees', `/c/${id}?pane=model&text=rendered`, 'I ask to publish 1.4.0'],
  ['a request', `/c/${id}/calls/8`, 'verified'],
  ['why a request was made so', `/c/${id}/calls/12?as=why`, 'Changed since call 10'],
  ['the workers', '/workers', 'No worker has reported yet'],
  ['two conversations', `/c/${id}/compare?with=${fork}`, 'that both have'],
  ['a diff', `/c/${id}/diff?from=29&to=35`, 'summary'],
] as const

describe.skipIf(noBrowser !== '')(`axe finds nothing${noBrowser}`, () => {
  test.for(routes)('on %s, light and dark', async ([, address, text]) => {
    const { page } = await looking(await servedSample(), address)
    await page.getByRole('main').getByText(text).first().waitFor()
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
      [`/c/${id}/bisect/${bisection}`, 'Most likely'],
    ] as const
    for (const [address, text] of pages) {
      await page.goto(url + address)
      await page.getByRole('main').getByText(text).first().waitFor()
      expect({ address, faults: await faultsOf(page) }).toEqual({ address, faults: [] })
    }
    // The last one has all inks.
    await page.emulateMedia({ colorScheme: 'dark' })
    expect(await faultsOf(page)).toEqual([])
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
