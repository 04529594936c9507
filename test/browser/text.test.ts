import { describe, expect, test } from 'vitest'
import type { NewMessage } from '../../src/core.ts'
import { noBrowser } from '../support/browser.ts'
import { looking, type Looking } from '../support/looking.ts'
import { served } from '../support/served.ts'

const call = (id: string, name: string, input: object): NewMessage => ({
  role: 'assistant',
  content: [{ type: 'tool_use', id, name, input }],
})
const result = (id: string, content: string): NewMessage => ({
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: id, content }],
})

const words = 'Each of these words is as long as it is. '.repeat(14)
const table = `| Commit | Task |\n|---|---|\n${'| `3bb8701` | a task of some words |\n'.repeat(12)}`

const shownWith = async (messages: readonly NewMessage[], address = ''): Promise<Looking> => {
  const scene = await served()
  await scene.store.conversation('text').append([...messages])
  const looked = await looking(scene, `/c/text${address}`)
  await looked.shows(messages.length - 1)
  return looked
}

describe.skipIf(noBrowser !== '')(`what was said${noBrowser}`, () => {
  test('is rendered, also where it is cut: a table is whole or not there, and no word is cut', async () => {
    const { row } = await shownWith([
      { role: 'user', content: `Read **this**.\n\n\`\`\`js\nconst a = 'b' // c\n\`\`\`` },
      { role: 'assistant', content: `${words}\n\n${table}` },
      { role: 'user', content: `${table}\n${words}` },
    ])
    await row(0).locator('strong', { hasText: 'this' }).waitFor()
    await row(0).locator('.code .hljs-keyword', { hasText: 'const' }).waitFor()
    await row(1).locator('.markdown').waitFor()
    expect((await row(1).locator('.markdown').textContent())?.trim()).toBe(words.trim())
    expect(await row(2).locator('.markdown td').count()).toBe(24)
    await row(1)
      .getByRole('button', { name: /^open all/ })
      .click()
    await expect.poll(() => row(1).locator('.markdown td').count()).toBe(24)
  })

  test('is exact if one chooses so, which is remembered', async () => {
    const { page, row } = await shownWith([{ role: 'user', content: 'Read **this**.' }])
    const form = page.getByRole('group', { name: 'Text' })
    const pressed = async (): Promise<string | null> => form.locator('[aria-pressed=true]').textContent()
    await row(0).locator('strong').waitFor()
    expect(await pressed()).toBe('Rendered')
    await form.getByRole('button', { name: 'Exact' }).click()
    await row(0).getByText('Read **this**.').waitFor()
    await page.goto(new URL('/c/text', page.url()).href)
    await row(0).getByText('Read **this**.').waitFor()
    expect(await pressed()).toBe('Exact')
    await page.keyboard.press('x')
    await row(0).locator('strong').waitFor()
  })

  test('has what programs put between tags behind its name', async () => {
    const reminder = '<system-reminder>\nBe brief.\nAnd kind.\n</system-reminder>'
    const { row } = await shownWith([{ role: 'user', content: `Do it.\n\n${reminder}` }])
    await row(0).locator('.chip', { hasText: 'system reminder' }).waitFor()
    expect(await row(0).getByText('And kind.').isVisible()).toBe(false)
    await row(0).locator('.chip').click()
    await row(0).getByText('And kind.').waitFor()
  })

  test('to a tool is a diff if it edits a file, and so is what a tool prints', async () => {
    const long = Array.from({ length: 60 }, (_, index) => `line ${index} of a file\n`).join('')
    const diff = '--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new'
    const { row } = await shownWith([
      call('t1', 'Edit', { file_path: 'a.ts', old_string: 'one\ntwo', new_string: 'one\n2' }),
      result('t1', diff),
      call('t2', 'Edit', { file_path: 'a.ts', old_string: long, new_string: `${long}the end\n` }),
      result('t2', 'Done.'),
    ])
    const lines = (position: number, kind: string) => row(position).locator(`.changes .${kind} .line-text`)
    expect(await lines(0, 'removed').allTextContents()).toEqual(['two'])
    expect(await lines(0, 'added').allTextContents()).toEqual(['2'])
    expect(await lines(1, 'added').allTextContents()).toEqual(['new'])
    // The server sends the beginnings of long texts, which are the same here.
    expect(await lines(2, 'added').count()).toBe(0)
    await row(2)
      .getByRole('button', { name: /^open all/ })
      .click()
    await expect.poll(() => lines(2, 'added').allTextContents()).toEqual(['the end'])
  })

  test('in JSON is a tree, of which only what is opened is made', async () => {
    const many = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`k${index}`, { n: index }]))
    const { page, row } = await shownWith([
      call('t1', 'find', { many }),
      result('t1', '{"total":2,"items":[{"path":"a.ts"}]}'),
    ])
    await row(1).locator('.json', { hasText: 'total' }).first().waitFor()
    expect(await row(1).getByText('a.ts').count()).toBe(0)
    await row(1).locator('summary', { hasText: 'items' }).click()
    await row(1).locator('summary', { hasText: '0' }).last().click()
    await row(1).getByText('a.ts').waitFor()
    // The server sends the beginning of so much.
    await row(0).locator('summary', { hasText: 'many' }).click()
    await row(0)
      .getByRole('button', { name: /^50 more of 1\d,\d{3} fields$/ })
      .waitFor()
    expect(await page.locator('*').count()).toBeLessThan(1_500)
    await row(0)
      .getByRole('button', { name: /open all 1 MB$/ })
      .click()
    await row(0).getByRole('button', { name: 'more', exact: true }).waitFor()
    expect(await page.locator('*').count()).toBeLessThan(1_500)
  })
})
