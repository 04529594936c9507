import { describe, expect, test } from 'vitest'
import type { NewMessage } from '../../../src/core.ts'
import { noBrowser } from '../../support/browser.ts'
import { type ClickCounter, countClicks } from '../../support/clicks.ts'
import { looking, sheet } from '../../support/looking.ts'
import { served } from '../../support/served.ts'

// Questions of somebody who sees the page for the first time, with the clicks that an answer may take from the list.

const user = (content: string): NewMessage => ({ role: 'user', content })
const assistant = (content: string): NewMessage => ({ role: 'assistant', content })
const call = (id: string, name: string, input: unknown): NewMessage => ({
  role: 'assistant',
  content: [{ type: 'tool_use', id, name, input }],
})
const result = (id: string, content: string, isError = false): NewMessage => ({
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: id, content, ...(isError && { is_error: true }) }],
})

/** A conversation whose summary hides an error, and lost a ticket that the model needs afterwards. */
const opened = async () => {
  const scene = await served()
  const chat = scene.store.conversation('parser')
  await chat.append([
    user('Fix the parser, please.'),
    call('1', 'Edit', { file_path: '/repo/src/parser.ts', old_string: 'a', new_string: 'b' }),
    result('1', 'changed'),
    call('2', 'Bash', { command: 'npm test' }),
    result('2', 'ticket QX-7781 is not mended', true),
    assistant('A test fails.'),
  ])
  const { position: marker } = await chat.condense({
    covers: { first: 0, last: 5 },
    summary: 'The parser was changed; a test fails.',
  })
  await chat.append([user('Go on.'), assistant('I look at QX-7781.'), user('Well?'), assistant('Done.')])
  let clicks: ClickCounter | undefined
  const looked = await looking(scene, '/', {
    before: async (page) => {
      clicks = await countClicks(page)
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    },
  })
  if (!clicks) throw new Error('the clicks are not counted')
  await clicks.click(looked.page.getByRole('link', { name: /Fix the parser/ }))
  await looked.shows(marker + 4)
  return { ...scene, ...looked, ...clicks, marker }
}

describe.skipIf(noBrowser !== '')(`answers about a conversation${noBrowser}`, () => {
  test('what became of a call? (1 click)', async () => {
    const scene = await served()
    const calls = ['1', '2'].map((of) => ({ type: 'tool_use' as const, id: of, name: 'grep', input: {} }))
    await scene.store
      .conversation('greps')
      .append([
        user('Look for both.'),
        { role: 'assistant', content: calls },
        result('2', 'none', true),
        result('1', 'some'),
      ])
    const { page, row } = await looking(scene, '/c/greps')
    await row(1).getByText('✕ 2').waitFor()
    await row(3).getByText('called at 1').waitFor()
    await row(1).getByRole('link', { name: 'result at 3' }).click()
    await page.locator('.entry.selected[data-position="3"]').waitFor()
  })

  test('what did the summary hide? (2 clicks)', async () => {
    const { page, row, marker, click, made } = await opened()
    const band = row(marker)
    await band.getByText('Fix the parser, please.').waitFor()
    await band.getByText('Bash · ticket QX-7781 is not mended').waitFor()
    await band.getByRole('link', { name: '1 edit', exact: true }).waitFor()
    await band.getByRole('link', { name: '2 tool calls' }).waitFor()
    await click(page.getByRole('button', { name: '6 messages hidden · show' }))
    await expect.poll(() => row(4).textContent()).toContain('ticket QX-7781 is not mended')
    expect(await made()).toBe(2)
  })

  test('what did it lose that was needed later? (2 clicks)', async () => {
    const { page, row, click, made } = await opened()
    const lost = page.getByLabel('Inspector').locator('.lost li', { hasText: 'QX-7781' })
    expect(await lost.textContent()).toBe('QX-7781said at 4 · needed at 8')
    await click(lost.getByRole('link', { name: '4' }))
    await expect.poll(() => row(4).textContent()).toContain('ticket QX-7781 is not mended')
    expect(await made()).toBe(2)
  })

  test('where did it first fail? (2 clicks)', async () => {
    const { page, row, click, made } = await opened()
    await click(page.getByRole('button', { name: '1 error', exact: true }))
    const failed = row(4).and(page.locator('[aria-current=true]'))
    await expect.poll(() => failed.textContent()).toContain('✕ error')
    expect(await failed.isVisible()).toBe(true)
    expect(await made()).toBe(2)
  })

  test('go back before the mistake and continue (3 clicks)', async () => {
    const { page, store, marker, click, made } = await opened()
    await click(page.getByRole('button', { name: 'Fork before…' }))
    await click(sheet(page, 'Fork').getByRole('button', { name: /^Fork/ }))
    const fork = `parser-${marker - 1}`
    await page.waitForURL((url) => url.pathname === `/c/${fork}`)
    const seen = await store.conversation(fork).effective()
    expect(seen.map(({ position }) => position)).toEqual([0, 1, 2, 3, 4, 5])
    expect(await made()).toBe(3)
  })

  test('send this to a colleague (2 clicks)', async () => {
    const { page, url, row, marker, click, made } = await opened()
    await row(marker).getByText('Fix the parser, please.').waitFor()
    await click(page.getByRole('button', { name: /^Copy link/ }))
    const link = (): Promise<string> => page.evaluate('navigator.clipboard.readText()')
    await expect.poll(link).toBe(`${url}/c/parser?at=${marker + 4}&sel=${marker}`)
    expect(await made()).toBe(2)
    await page.goto(await link())
    await row(marker).getByText('Fix the parser, please.').waitFor()
  })
})
