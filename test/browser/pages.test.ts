import { describe, expect, test } from 'vitest'
import { noBrowser } from '../support/browser.ts'
import { disguised } from '../support/hostile.ts'
import { sampleIds } from '../../src/cli/sample.ts'
import { looking } from '../support/looking.ts'
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

  test('of a request says which tools were called', async () => {
    const { page } = await looking(await servedSample(), `/c/${id}/calls/8`)
    const call = page
      .locator('.request-message')
      .filter({ hasText: 'I will look for where minutes become money.' })
    expect(await call.textContent()).toMatch(/list_files.*grep/s)
    const one = page.locator('.request-message').filter({ hasText: '`costOf` is the suspect' })
    expect(await one.textContent()).toContain('read_file')
  })

  test('of a conversation stays at its end when something comes in below', async () => {
    const { page, shows, row } = await looking(await servedSample(), `/c/${id}`)
    await shows(48)
    await page.getByRole('button', { name: 'Approve …' }).waitFor()
    const isInSight = async (): Promise<boolean> => {
      const [list, last] = [await page.locator('.rows').boundingBox(), await row(48).boundingBox()]
      return list !== null && last !== null && last.y + last.height <= list.y + list.height + 1
    }
    await expect.poll(isInSight).toBe(true)
  })

  test('of the list asks for all that was chosen, however quickly', async () => {
    const scene = await served()
    await scene.store.conversation('talk').append({ role: 'user', content: 'Hello there.' })
    const { page } = await looking(scene, '/')
    await page.getByLabel('search text, paths, tools, ids').fill('hello')
    await page.locator('select').filter({ hasText: 'condensed' }).selectOption('condensed')
    const asked = (): string[] => [...new URL(page.url()).searchParams].map((pair) => pair.join('='))
    await expect.poll(asked).toEqual(['q=hello', 'has=condensed'])
  })

  test('of a conversation says nothing more of a search once that is closed', async () => {
    const scene = await served()
    await scene.store.conversation('talk').append({ role: 'user', content: 'Hello there.' })
    const { page, shows } = await looking(scene, '/c/talk?find=hello')
    await shows(0)
    await page.getByRole('button', { name: 'Search', exact: true }).click()
    await expect.poll(() => new URL(page.url()).search).toBe('')
  })
})
