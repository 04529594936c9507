import { describe, expect, test } from 'vitest'
import { sampleIds } from '../../../src/cli/sample.ts'
import { noBrowser } from '../../support/browser.ts'
import { countClicks, type ClickCounter } from '../../support/clicks.ts'
import { looking } from '../../support/looking.ts'
import { served, servedSample } from '../../support/served.ts'

const [id] = sampleIds

describe.skipIf(noBrowser !== '')(`questions that the list answers${noBrowser}`, () => {
  test('what waits for me? In one click', async () => {
    let clicks: ClickCounter | undefined
    const scene = await servedSample()
    await scene.store.conversation('idle').append({ role: 'user', content: 'Nobody waits here.' })
    const { page } = await looking(scene, '/', {
      before: async (its) => void (clicks = await countClicks(its)),
    })
    // Before any click: first in the list, with the call that waits, and beside the filter with the count.
    await page.getByRole('link', { name: 'Needs approval 1' }).waitFor()
    const lines = page.getByRole('row')
    await lines.nth(1).getByText('Needs you').waitFor()
    const first = lines.nth(2)
    await first.getByText('Needs approval').waitFor()
    await first.getByText('publish waits').waitFor()
    await clicks?.click(first.getByRole('link').first())
    await page.getByRole('button', { name: 'Approve…' }).waitFor()
    expect(new URL(page.url()).pathname).toBe(`/c/${id}`)
    expect(await clicks?.made()).toBe(1)
  })

  test('which conversation mentions it, and was it in context then? In two clicks', async () => {
    let clicks: ClickCounter | undefined
    const scene = await served()
    const chat = scene.store.conversation('talk')
    await chat.append([
      { role: 'user', content: 'The key is in the greenhouse.' },
      { role: 'assistant', content: 'Noted.' },
      { role: 'user', content: 'And the ladder?' },
    ])
    await chat.condense({ covers: { first: 0, last: 1 }, summary: 'Where things are.' })
    await scene.store.conversation('other').append({ role: 'user', content: 'The greenhouse needs glass.' })
    const { page } = await looking(scene, '/', {
      before: async (its) => void (clicks = await countClicks(its)),
    })
    await clicks?.click(page.getByRole('searchbox', { name: 'search text' }))
    await page.keyboard.type('greenhouse')
    const hits = page.getByRole('region', { name: 'Where it was said' }).getByRole('link')
    await expect.poll(() => hits.count()).toBe(2)
    await hits.filter({ hasText: 'other' }).getByText('in context').waitFor()
    const hidden = hits.filter({ hasText: 'talk' })
    await hidden.getByText('hidden by 3').waitFor()
    await clicks?.click(hidden)
    await page
      .getByRole('search')
      .getByText(/in context then/)
      .first()
      .waitFor()
    expect(new URL(page.url()).pathname).toBe('/c/talk')
    expect(await clicks?.made()).toBe(2)
  })

  test('which of them are of a model, or were imported? In one choice', async () => {
    const scene = await served()
    const said = { role: 'user' as const, content: 'Go on.' }
    const origin = { model: 'claude-haiku-4-5' }
    await scene.store.conversation('asked').append([said, { role: 'assistant', content: 'Done.', origin }])
    await scene.store.conversation('said').append(said)
    const text = JSON.stringify([
      { role: 'user', content: 'Hello.' },
      { role: 'assistant', content: 'Hello!' },
    ])
    await scene.store.importSession({ file: 'talk.json', text })
    const { page } = await looking(scene, '/')
    await page.getByText('3 conversations').waitFor()
    await page.getByText(/ · (Chat Completions|Messages API)/).waitFor()
    await page.getByRole('combobox', { name: 'model' }).selectOption('claude-haiku-4-5')
    await page.getByText('1 matching of 3').waitFor()
    expect(new URL(page.url()).searchParams.get('model')).toBe('claude-haiku-4-5')
    await page.getByRole('row', { name: /asked/ }).getByRole('link', { name: '1 call' }).waitFor()
    await page.getByRole('combobox', { name: 'model' }).selectOption('')
    await page.getByRole('combobox', { name: 'actor' }).selectOption('import')
    await page.getByText('1 matching of 3').waitFor()
    await page.getByRole('row', { name: /Hello/ }).waitFor()
  })
})
