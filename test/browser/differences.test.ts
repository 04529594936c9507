import { describe, expect, test } from 'vitest'
import { sampleIds } from '../../src/cli/sample.ts'
import { noBrowser } from '../support/browser.ts'
import { exported, opened, sample } from '../support/exported.ts'
import { looking } from '../support/looking.ts'
import { served, servedSample } from '../support/served.ts'

const [id] = sampleIds

describe.skipIf(noBrowser !== '')(`two positions${noBrowser}`, () => {
  test('differ in what the model saw, in everything that happened, and in the request', async () => {
    const { page } = await looking(await servedSample(), `/c/${id}/diff?from=16&to=35`)
    const rows = page.getByRole('list')
    await rows.getByText('replaced by the summary').waitFor()
    await page.getByText(/^−\d+ removed$/).waitFor()
    await page.getByText(/^\+\d+ added$/).waitFor()
    await page.getByRole('tab', { name: 'everything' }).click()
    // It was abandoned, and so is in neither history that the model saw.
    await rows.getByText(/abandoned by the rewind at/).waitFor()
    await rows.getByText('2–16 · 15 items replaced by the summary').waitFor()
    await page.getByText(/^Rewound to \d+/).waitFor()
    await page.getByRole('tab', { name: 'the request' }).click()
    await page.getByRole('definition').filter({ hasText: 'as it would be made' }).first().waitFor()
    await page.goto(`${new URL(page.url()).origin}/c/${id}/diff?from=15&to=32&of=request`)
    await page.getByRole('definition').filter({ hasText: 'call 8, as sent' }).waitFor()
    await page.getByRole('heading', { name: 'messages' }).waitFor()
    await page.locator('.diff-row.left').first().waitFor()
    // What is looked at is in the address.
    await page.reload()
    await page.getByRole('definition').filter({ hasText: 'call 8, as sent' }).waitFor()
    expect(await page.getByRole('tab', { selected: true }).textContent()).toBe('the request')
  })

  test('differ in the words of a message that was edited, however late in it', async () => {
    const scene = await served()
    const chat = scene.store.conversation('talk')
    const long = 'and so on '.repeat(60)
    await chat.append([
      { role: 'user', content: 'Tell.' },
      { role: 'assistant', content: `${long} to the END` },
      { role: 'user', content: 'Thanks.' },
    ])
    const summary = [{ role: 'assistant' as const, content: `${long} to the FINISH` }]
    await chat.condense({ covers: { first: 1, last: 1 }, summary })
    const { page } = await looking(scene, '/c/talk/diff?from=2&to=3')
    await page.locator('del', { hasText: 'END' }).waitFor()
    await page.locator('ins', { hasText: 'FINISH' }).waitFor()
  })

  test.for([true, false])('differ in an exported file as well (with its calls: %s)', async (calls) => {
    const page = await opened(
      await exported(await sample(), id, { calls }),
      `#/c/${id}/diff?from=15&to=32&of=request`,
    )
    const from = page.getByRole('definition').first()
    await from.waitFor()
    expect(await from.textContent()).toContain(calls ? 'call 8, as sent' : 'as it would be made')
    await page.getByRole('tab', { name: 'everything' }).click()
    await page.getByRole('list').getByText('replaced by the summary').first().waitFor()
  })
})
