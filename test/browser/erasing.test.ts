import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createAccessToken } from '../../src/server/access-tokens.ts'
import { browsing, noBrowser } from '../support/browser.ts'
import { sheet } from '../support/looking.ts'
import { served } from '../support/served.ts'
import { temporaryFolder } from '../support/stores.ts'

/** The page of a conversation, signed in with a token that has these scopes. */
const signedIn = async (scopes: Parameters<typeof createAccessToken>[2]) => {
  const tokenFile = join(temporaryFolder(), 'tokens.json')
  const token = createAccessToken(tokenFile, 'ann', scopes)
  const scene = await served(undefined, { tokenFile })
  const chat = scene.store.conversation('talk')
  await chat.append([
    { role: 'user', content: 'My card is 4111-2222.' },
    { role: 'assistant', content: 'Noted: 4111 2222.' },
    { role: 'user', content: 'Thanks.' },
  ])
  // What is refused is written to the console by the browser itself.
  const page = await browsing({ allowed: [/status of 40[19]/] })
  await page.goto(`${scene.url}/c/talk?at=0`)
  await sheet(page, 'Sign in').getByLabel('A token for this server').fill(token)
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Rewind to here' }).waitFor()
  return { chat, page }
}

describe.skipIf(noBrowser !== '')(`erasing on the page${noBrowser}`, () => {
  test('is not offered to a token that may not erase', async () => {
    const { page } = await signedIn(['read', 'write'])
    expect(await page.getByRole('button', { name: 'Erase …' }).count()).toBe(0)
  })

  test('shows what goes and what repeats it, and erases once the id of the conversation is typed', async () => {
    const { page, chat } = await signedIn(['read', 'write', 'erase'])
    await page.getByRole('button', { name: 'Erase …' }).click()
    const form = sheet(page, 'Erase')
    const confirm = form.getByRole('button', { name: 'Erase', exact: true })
    await form.getByText('1 event (0)').waitFor()
    await form.getByText('1: 4… (8 characters)').waitFor()
    expect(await confirm.isDisabled()).toBe(true)
    await form.getByLabel('to confirm, the id of the conversation').fill('tal')
    expect(await confirm.isDisabled()).toBe(true)

    await chat.hold({ by: 'legal', reason: 'case 7' })
    await form.getByLabel('the events at').fill('0-1')
    await form.getByText(/legal hold of legal/).waitFor()
    await chat.release({ by: 'legal' })
    await form.getByLabel('the events at').fill('0, 1')
    await form.getByText('2 events (0-1)').waitFor()

    await form.getByLabel('why').fill('request 17')
    await form.getByLabel('to confirm, the id of the conversation').fill('talk')
    await confirm.click()
    await form.getByText(/^Erased at /).waitFor()
    const [first, second, third] = await chat.effective()
    expect(JSON.stringify([first, second])).not.toMatch(/4111/)
    expect(third).toMatchObject({ content: [{ text: 'Thanks.' }] })
    const erasures: unknown[] = []
    for await (const { type, data } of chat.events()) if (type === 'Erased') erasures.push(data)
    expect(erasures).toMatchObject([{ by: 'ann', reason: 'request 17' }])
    await form.getByRole('button', { name: 'Close', exact: true }).click()
    await page
      .getByText(/^erased \d{4}-/)
      .first()
      .waitFor()
  })
})
