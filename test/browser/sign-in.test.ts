import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { createAccessToken, revokeAccessToken } from '../../src/server/access-tokens.ts'
import { browsing, noBrowser } from '../support/browser.ts'
import { sheet } from '../support/looking.ts'
import { served } from '../support/served.ts'
import { noted, settled } from '../support/settled.ts'
import { temporaryFolder } from '../support/stores.ts'

/** A server that needs tokens, with a conversation: ann may write, eve only read, sam only write. */
const guarded = async () => {
  const tokenFile = join(temporaryFolder(), 'tokens.json')
  const ann = createAccessToken(tokenFile, 'ann', ['read', 'write'])
  const eve = createAccessToken(tokenFile, 'eve', ['read'])
  const sam = createAccessToken(tokenFile, 'sam', ['write'])
  const scene = await served(undefined, { tokenFile })
  const chat = scene.store.conversation('talk')
  await chat.append([
    { role: 'user', content: 'What is the secret?' },
    { role: 'assistant', content: 'The secret is 42.', origin: { model: 'claude-opus-5-5' } },
  ])
  // What is refused is written to the console by the browser itself. On a busy machine a sheet asks before its field is filled: a rewind
  // to where one is changes nothing, which is a 409.
  const page = await browsing({ allowed: [/status of 40[139]/] })
  const goTo = (address: string) => page.goto(scene.url + address)
  return { chat, tokenFile, ann, eve, sam, page, goTo }
}
const form = (page: Page) => page.getByRole('dialog', { name: 'Sign in' })
const signIn = async (page: Page, token: string): Promise<void> => {
  await form(page).getByLabel('A token for this server').fill(token)
  await page.keyboard.press('Enter')
}

describe.skipIf(noBrowser !== '')(`a server that needs tokens${noBrowser}`, () => {
  test.for(['/', '/c/talk', '/c/talk/diff?from=0&to=1', '/c/talk/calls/p1', '/workers'])(
    'shows nothing without one, and afterwards what was asked for: %s',
    async (address) => {
      const { page, goTo, ann } = await guarded()
      await goTo(address)
      await form(page).waitFor()
      expect(await page.textContent('body')).not.toMatch(/secret|talk/)
      // Escape does not lead past it.
      await page.keyboard.press('Escape')
      await page.keyboard.press('Escape')
      await signIn(page, ann)
      await page
        .getByText(address === '/workers' ? 'No worker has reported yet' : 'talk')
        .first()
        .waitFor()
      await form(page).waitFor({ state: 'detached' })
      expect(page.url()).toContain(address)
    },
  )

  test('says that a token is wrong, and takes another one', async () => {
    const { page, goTo, ann } = await guarded()
    await goTo('/c/talk')
    await signIn(page, 'pal_wrong')
    await form(page).getByRole('alert').getByText('this token is not valid').waitFor()
    expect(await page.textContent('body')).not.toContain('secret')
    await signIn(page, ann)
    await page.getByText('The secret is 42.').first().waitFor()
  })

  test('says that a token is for something else, and takes another one', async () => {
    const { page, goTo, sam, eve } = await guarded()
    await goTo('/c/talk')
    await signIn(page, sam)
    await form(page).getByText('This token does not allow reading').waitFor()
    await signIn(page, eve)
    await page.getByText('The secret is 42.').first().waitFor()
  })

  test('shows who may only read that nothing can be changed, and why', async () => {
    const { page, goTo, eve, chat } = await guarded()
    await goTo('/c/talk')
    await signIn(page, eve)
    const details = page.getByRole('complementary')
    await details.getByText('Your token is read-only.').waitFor()
    for (const act of ['Rewind to here …', 'Fork from here …', 'Condense …', 'Truncate …', 'Restore …'])
      expect(await details.getByRole('button', { name: act }).getAttribute('aria-disabled')).toBe('true')
    await page.keyboard.press('R')
    await page.getByRole('status').getByText('Your token is read-only.').first().waitFor()
    expect(await page.locator('dialog').count()).toBe(0)
    expect(await chat.position()).toBe(1)
  })

  test('takes a token from the fragment of a link, once', async () => {
    const { page, goTo, ann } = await guarded()
    await goTo(`/c/talk?at=0#token=${ann}`)
    await page.getByText('What is the secret?').first().waitFor()
    expect(page.url()).not.toContain(ann)
    expect(await page.evaluate('JSON.stringify([localStorage, sessionStorage])')).not.toContain(ann)
  })

  test('takes a token from a link that is opened in the tab that asks for one, or that is signed in', async () => {
    const { page, goTo, ann, eve } = await guarded()
    await goTo('/c/talk?at=0')
    await form(page).waitFor()
    await goTo('/c/talk?at=0#token=pal_wrong')
    await form(page).getByRole('alert').getByText('this token is not valid').waitFor()
    expect(page.url()).not.toContain('pal_wrong')
    await goTo(`/c/talk?at=0#token=${ann}`)
    await page.getByText('What is the secret?').first().waitFor()
    await form(page).waitFor({ state: 'detached' })
    expect(page.url()).not.toContain(ann)
    await goTo(`/c/talk?at=0#token=${eve}`)
    await page.getByRole('complementary').getByText('Your token is read-only.').waitFor()
    expect(page.url()).not.toContain(eve)
  })

  test('whose token is revoked meanwhile shows nothing more, and continues where it was with another one', async () => {
    const { page, goTo, ann, tokenFile } = await guarded()
    await noted(page)
    await goTo('/c/talk')
    await signIn(page, ann)
    await page.getByText('The secret is 42.').first().waitFor()
    // Otherwise it may notice before anybody does anything.
    await settled(page)
    revokeAccessToken(tokenFile, 'ann')
    await page.getByRole('slider', { name: 'Position', exact: true }).press('ArrowLeft')
    await form(page).getByText('Your token is no longer valid here.').waitFor()
    expect(await page.textContent('body')).not.toContain('secret')
    await signIn(page, ann)
    await form(page).getByRole('alert').waitFor()
    await signIn(page, createAccessToken(tokenFile, 'ann', ['read', 'write']))
    await page.getByText('What is the secret?').first().waitFor()
    await expect.poll(() => new URL(page.url()).search).toBe('?at=0')
  })

  test('whose token is revoked while somebody writes keeps what was written', async () => {
    const { page, goTo, ann, tokenFile, chat } = await guarded()
    await noted(page)
    await goTo('/c/talk')
    await signIn(page, ann)
    await page.getByText('The secret is 42.').first().waitFor()
    await page.keyboard.press('R')
    const rewind = sheet(page, 'Rewind')
    await rewind.getByLabel('to position').fill('0')
    await rewind.getByLabel('reason (optional)').fill('It told the secret.')
    await rewind.getByText('Rewound to 0').waitFor()
    await settled(page)
    revokeAccessToken(tokenFile, 'ann')
    await page.keyboard.press('Control+Enter')
    await form(page).waitFor()
    await signIn(page, createAccessToken(tokenFile, 'ann', ['read', 'write']))
    await expect.poll(() => form(page).count()).toBe(0)
    expect(await rewind.getByLabel('reason (optional)').inputValue()).toBe('It told the secret.')
    await page.keyboard.press('Control+Enter')
    await page.getByRole('status').getByText('Rewound to 0').waitFor()
    expect(await chat.position()).toBe(2)
  })
})
