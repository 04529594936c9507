import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { sampleIds } from '../../src/cli/sample.ts'
import { noBrowser } from '../support/browser.ts'
import { looking, sheet, stoppable } from '../support/looking.ts'
import { servedSample } from '../support/served.ts'

const [id] = sampleIds
const opened = async (before?: typeof stoppable) => {
  // What cannot be hidden is refused, and what is stale.
  const allowed = [/status of (?:400|409|412)/]
  const scene = await servedSample()
  const looked = await looking(scene, `/c/${id}?at=45`, { allowed, before })
  await looked.shows(45)
  return { ...looked, chat: scene.store.conversation(id) }
}
const noSheet = async (page: Page): Promise<void> => {
  await expect.poll(() => page.locator('dialog').count()).toBe(0)
}
/** Presses buttons in one task: what the first one opens is not there when the next one is pressed. */
const pressTogether = (page: Page, names: readonly string[]): Promise<unknown> =>
  page.evaluate(
    `for (const name of ${JSON.stringify(names)}) [...document.querySelectorAll('button')].find((one) => one.textContent.includes(name)).click()`,
  )

describe.skipIf(noBrowser !== '')(`a sheet${noBrowser}`, () => {
  test('gives the focus back to what had it, however it is closed', async () => {
    const { page } = await opened()
    const button = page.getByRole('button', { name: 'Truncate …' })
    const isFocused = () => button.evaluate((node) => node.matches(':focus'))
    const ways = [
      () => page.keyboard.press('Escape'),
      () => sheet(page, 'Truncate').getByRole('button', { name: 'Cancel' }).click(),
      () => sheet(page, 'Truncate').getByRole('button', { name: 'esc: close' }).click(),
    ]
    for (const close of ways) {
      await button.focus()
      await page.keyboard.press('Enter')
      await sheet(page, 'Truncate').waitFor()
      expect(await isFocused()).toBe(false)
      await close()
      await noSheet(page)
      await expect.poll(isFocused).toBe(true)
    }
  })

  test('gives the focus back also after another one came in its place', async () => {
    const { page, chat } = await opened()
    const button = page.getByRole('button', { name: 'Rewind to here' })
    await button.focus()
    await page.keyboard.press('Enter')
    await sheet(page, 'Rewind').getByText('Rewound to 45').waitFor()
    await chat.configure({ model: 'claude-sonnet-5-5' })
    await page.keyboard.press('Control+Enter')
    await sheet(page, '1 event arrived in the meantime').getByRole('button', { name: 'Cancel' }).click()
    await noSheet(page)
    await expect.poll(() => button.evaluate((node) => node.matches(':focus'))).toBe(true)
  })

  test('that is opened in place of another one is a new one', async () => {
    const { page } = await opened()
    // Both are loaded before.
    await page.keyboard.press('R')
    await sheet(page, 'Rewind').waitFor()
    await page.keyboard.press('Escape')
    await noSheet(page)
    await pressTogether(page, ['Rewind to here', 'Fork from here'])
    await sheet(page, 'Fork').getByLabel('id of the new conversation').waitFor()
    expect(await page.locator('dialog').count()).toBe(1)
  })

  test('stays where something was pressed in it and let go beside it, and closes where both are beside it', async () => {
    const { page } = await opened()
    await page.keyboard.press('C')
    const field = sheet(page, 'Condense').getByLabel('what the model sees instead')
    await field.fill('What I wrote.')
    await field.hover()
    await page.mouse.down()
    await page.mouse.move(3, 3)
    await page.mouse.up()
    expect(await page.locator('dialog[open]').count()).toBe(1)
    expect(await field.inputValue()).toBe('What I wrote.')
    await page.mouse.click(3, 3)
    await noSheet(page)
  })

  test('is gone where Back leads to another page', async () => {
    const { page } = await looking(await servedSample(), '/')
    await page.locator(`a[href="/c/${id}"]`).click()
    await page.getByRole('slider', { name: 'Position', exact: true }).waitFor()
    await page.keyboard.press('F')
    await sheet(page, 'Fork').waitFor()
    await page.goBack()
    await page.locator(`a[href="/c/${id}"]`).waitFor()
    await noSheet(page)
  })

  test('is gone at once where Escape closes it: the next key is for the page', async () => {
    const { page } = await opened()
    await page.keyboard.press('R')
    await sheet(page, 'Rewind').waitFor()
    // What the browser does for Escape, and a key before it does anything else.
    await page.evaluate(`(async () => {
      document.querySelector('dialog').requestClose()
      await undefined
      document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'F', bubbles: true }))
    })()`)
    await sheet(page, 'Fork').waitFor()
  })

  test('that is still loaded is announced by the bar at the top', async () => {
    let release = (): void => undefined
    const held = new Promise<void>((resolve) => (release = resolve))
    const { page } = await opened(stoppable)
    await page.route(/sheets-/, async (route) => {
      await held
      await route.continue()
    })
    await page.keyboard.press('R')
    await page.locator('.bar:visible').waitFor()
    release()
    await sheet(page, 'Rewind').waitFor()
    await page.locator('.bar:visible').waitFor({ state: 'detached' })
  })

  test('offers to hide up to the last message, also after a marker', async () => {
    const { page, chat, shows } = await opened()
    await chat.truncate({ covers: { first: 38, last: 44 } })
    await page.keyboard.press('G')
    await page.getByRole('heading', { name: '49 truncated' }).waitFor()
    await shows(49)
    await page.keyboard.press('T')
    expect(await sheet(page, 'Truncate').getByLabel('through').inputValue()).toBe('48')
  })

  test('of an undo is confirmed with Enter alone', async () => {
    const { page, chat } = await opened()
    await chat.rewind({ to: 40 })
    await page.keyboard.press('z')
    await sheet(page, 'Undo').getByText('Rewound to 48').waitFor()
    // The rewind abandoned messages; its undo brings them back.
    expect(await sheet(page, 'Undo').textContent()).not.toContain('abandoned branch')
    await sheet(page, 'Undo').getByText('as it was before the last change').waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('status').getByText('Undone').waitFor()
    expect((await chat.effective()).at(-1)?.position).toBe(48)
  })

  test('of an undo has what is typed while it looks for what there is to undo, and says if there is nothing', async () => {
    const { page, chat, shows } = await opened(stoppable)
    const look = /\/events\?.*clip=100/
    let release = (): void => undefined
    const held = new Promise<void>((resolve) => (release = resolve))
    await chat.rewind({ to: 40 })
    await page.route(look, async (route) => {
      await held
      await route.continue()
    })
    await page.keyboard.press('z')
    await page.keyboard.press('k')
    const undo = sheet(page, 'Undo')
    await undo.getByRole('status', { name: 'Loading' }).waitFor()
    await page.keyboard.press('k')
    await page.keyboard.press('Control+Enter')
    release()
    await undo.getByText('Rewound to 48').waitFor()
    await page.keyboard.press('Escape')
    await noSheet(page)
    await shows(45)
    await page.keyboard.press('Z')
    await sheet(page, 'Redo').getByText('There is nothing to redo since the last message.').waitFor()
    await page.keyboard.press('Enter')
    await noSheet(page)
    await page.route(look, (route) => route.fulfill({ status: 400, json: { detail: 'It is out of order' } }))
    await page.keyboard.press('z')
    await undo.getByRole('alert').getByText('It is out of order').waitFor()
    await page.unroute(look)
    await undo.getByRole('button', { name: 'Try again' }).click()
    await undo.getByText('Rewound to 48').waitFor()
  })

  test('does not try out what it has just sent', async () => {
    const { page } = await opened(stoppable)
    const asked: string[] = []
    const command = /\/commands(?!.*dryRun)/
    page.on('request', (request) => {
      const url = request.url()
      if (url.includes('/commands')) asked.push(command.test(url) ? 'command' : 'dry run')
    })
    // Longer than a dry run waits for the next change.
    await page.route(command, async (route) => {
      const response = await route.fetch()
      await new Promise((resolve) => setTimeout(resolve, 600))
      await route.fulfill({ response })
    })
    await page.keyboard.press('F')
    await sheet(page, 'Fork').getByLabel('id of the new conversation').waitFor()
    await pressTogether(page, ['Fork Ctrl'])
    await page.waitForURL((url) => url.pathname !== `/c/${id}`)
    expect(asked.lastIndexOf('dry run')).toBeLessThan(asked.indexOf('command'))
  })

  test('of a fork says before it is confirmed that its id is taken', async () => {
    const { page } = await opened()
    await page.keyboard.press('F')
    const fork = sheet(page, 'Fork')
    const confirm = fork.getByRole('button', { name: /^Fork/ })
    await fork.getByLabel('id of the new conversation').fill(id)
    await fork.getByText('exists').waitFor()
    expect(await confirm.isDisabled()).toBe(true)
    await fork.getByLabel('id of the new conversation').fill('two words')
    await fork.getByText('a conversation id has').waitFor()
    await fork.getByLabel('id of the new conversation').fill('free')
    await expect.poll(() => confirm.isDisabled()).toBe(false)
  })

  test('saves what is seen as a file, of the position that one looks from', async () => {
    const { page } = await opened()
    await page.keyboard.press('g')
    await page.keyboard.press('e')
    await sheet(page, 'Export').getByText('as of position 45').waitFor()
    const [file] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('Enter')])
    expect(file.suggestedFilename()).toBe(`${id}.md`)
    const text = await readFile(await file.path(), 'utf8')
    expect(text).toContain('Nothing else calls `costOf`')
    expect(text).not.toContain('I ask to publish 1.4.0')
    await noSheet(page)
  })

  test('leaves out of a file what one says, lists secrets that it refuses, and exports them only when told to', async () => {
    const { page, chat, shows } = await opened()
    const token = ['ghp', 'aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6'].join('_')
    await chat.append({ role: 'user', content: `My token is ${token}, my number is 4711-0815.` })
    const position = await chat.position()
    await page.keyboard.press('G')
    await shows(position)
    const form = sheet(page, 'Export')
    const open = async (): Promise<void> => {
      await page.keyboard.press('g')
      await page.keyboard.press('e')
      await form.waitFor()
    }
    await open()
    await form.getByText(`as of position ${position}`).waitFor()
    const save = form.getByRole('button', { name: 'Save' })
    const downloadOf = async (press: () => Promise<void>): Promise<string> => {
      const [file] = await Promise.all([page.waitForEvent('download'), press()])
      return readFile(await file.path(), 'utf8')
    }

    await form.getByLabel('redact these texts').fill('4711-0815')
    await save.click()
    const refusal = form.getByRole('alert')
    await refusal.getByText('1 secret').waitFor()
    expect(await refusal.getByRole('listitem').textContent()).toMatch(new RegExp(`^${position}: .*ghp_`))
    expect(await refusal.textContent()).not.toContain(token)
    const forced = await downloadOf(() => refusal.getByRole('button', { name: 'Export anyway' }).click())
    expect(forced).toContain(`My token is ${token}, my number is [redacted].`)
    await noSheet(page)

    await open()
    await save.click()
    await refusal.getByRole('button', { name: `Withhold ${position}` }).click()
    expect(await form.getByLabel('withhold the events at').inputValue()).toBe(String(position))
    const without = await downloadOf(() => save.click())
    expect(without).not.toContain('My token')
    await noSheet(page)

    await open()
    await form.getByLabel('withhold the events at').fill('9999')
    await form.getByText(`Give positions from 0 to ${position}.`).waitFor()
    expect(await save.isDisabled()).toBe(true)
    await form.getByLabel('events every event').check()
    await form.getByText('nothing can be left out').waitFor()
    expect(await save.isDisabled()).toBe(false)
  })

  test('is not needed for the command that continues the moment in another client', async () => {
    const { page } = await opened()
    await page.getByText('Continue in …').click()
    await page.getByText(`palimpsest continue ${id} --at 45 --in codex`).waitFor()
    expect(await page.getByRole('button', { name: /^Copy the command for/ }).count()).toBe(4)
  })
})
