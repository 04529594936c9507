import { expect, test } from 'vitest'
import { sampleIds } from '../../../src/cli/sample.ts'
import { noBrowser } from '../../support/browser.ts'
import { type ClickCounter, countClicks } from '../../support/clicks.ts'
import { looking } from '../../support/looking.ts'
import { servedSample } from '../../support/served.ts'

// Questions about calls of somebody who sees the page for the first time, with the clicks that an answer may take from the list.

const opened = async (before?: (scene: Awaited<ReturnType<typeof servedSample>>) => Promise<void>) => {
  const scene = await servedSample()
  await before?.(scene)
  let clicks: ClickCounter | undefined
  const { page } = await looking(scene, '/', {
    before: async (given) => {
      clicks = await countClicks(given)
    },
  })
  if (!clicks) throw new Error('the clicks are not counted')
  return { ...scene, page, ...clicks }
}

test.skipIf(noBrowser)('What did the model see at call 16? Two clicks: the calls, the call', async () => {
  const { page, click, made } = await opened()
  await click(page.locator(`a[href="/c/${sampleIds[0]}/calls"]`).first())
  await click(page.getByRole('button', { name: 'Call 16', exact: true }))
  await page.getByText('16 messages').first().waitFor()
  await page.getByText('hidden by the summary at').waitFor()
  await page.getByText('since call 10, the one before on this path').waitFor()
  await page.getByText('The column of amounts has 12 characters.').first().waitFor()
  expect(await made()).toBe(2)
})

test.skipIf(noBrowser)('What did it cost, and why? One click of two: the cost', async () => {
  const { page, click, made } = await opened()
  await click(page.locator(`a[href="/c/${sampleIds[0]}/tokens"]`).first())
  const cost = page.getByRole('region', { name: 'What it cost' })
  await cost
    .getByText(/^\$0\.14$/)
    .first()
    .waitFor()
  await cost.getByText('for 4 calls that rewinds abandoned').waitFor()
  await cost.getByRole('row', { name: /^Written to the cache/ }).waitFor()
  await cost.getByRole('row', { name: /^Turn 1 / }).waitFor()
  expect(await made()).toBeLessThanOrEqual(2)
})

test.skipIf(noBrowser)('Who approved what? One click of two: the calls', async () => {
  const { page, click, made } = await opened(async ({ store }) => {
    const chat = store.conversation(sampleIds[0])
    for (const { call } of await chat.waiting()) await chat.approve(call, { by: 'ann', note: 'as agreed' })
  })
  await click(page.locator(`a[href="/c/${sampleIds[0]}/calls"]`).first())
  await page.getByText('approved by ann', { exact: true }).waitFor()
  const steps = page.getByRole('region', { name: 'Steps of turn 6' })
  await steps
    .getByRole('listitem')
    .filter({ hasText: 'publish 1.4.0' })
    .getByText(/approved by ann at /)
    .waitFor()
  expect(await made()).toBeLessThanOrEqual(2)
  // The conversation says it, too, at the call.
  await page.goto(new URL(`/c/${sampleIds[0]}?at=48`, page.url()).href)
  await page.locator('[data-position="48"]').getByText('approved by ann').waitFor()
})
