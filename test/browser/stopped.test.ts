import { renameSync } from 'node:fs'
import { join } from 'node:path'
import type { Route } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { rewrite } from '../../examples/audit/file.ts'
import { loadSample, sampleIds } from '../../src/cli/sample.ts'
import { openStore } from '../../src/index.ts'
import { bisect } from '../../src/investigate/index.ts'
import { atEnd } from '../support/at-end.ts'
import { noBrowser } from '../support/browser.ts'
import { looking } from '../support/looking.ts'
import { served, servedSample } from '../support/served.ts'
import { temporaryFolder } from '../support/stores.ts'

const [id] = sampleIds

/** A server of the sample in a file, to which something has been done. */
const servedFile = async (change: (file: string) => void = () => undefined) => {
  const file = join(temporaryFolder(), 'store.db')
  const made = await openStore(`sqlite:${file}`)
  await loadSample(made)
  await made.close()
  change(file)
  const store = await openStore(`sqlite:${file}`)
  const scene = await served(store)
  atEnd(store.close)
  return { ...scene, file }
}

describe.skipIf(noBrowser !== '')(`a page that cannot continue says why${noBrowser}`, () => {
  test('where an event cannot be read, and asks for what is after it once', async () => {
    const unreadable = (file: string): void =>
      rewrite(
        file,
        id,
        (rows) => rows.map((row, n) => (n === 30 ? { ...row, data: '{"role":7}' } : row)),
        'careless',
      )
    let outlines = 0
    const { page } = await looking(await servedFile(unreadable), `/c/${id}?at=12`, {
      allowed: [/status of 500/],
      before: async (its) => {
        await its.clock.install()
        its.on('request', (request) => void (request.url().includes('/outline?') && outlines++))
      },
    })
    const notice = page.getByRole('alert')
    await notice.getByText(/event 30 .* cannot be read/).waitFor()
    await page.clock.runFor(3_000)
    await page.getByRole('button', { name: 'stopped since' }).waitFor()
    expect(await notice.count()).toBe(1)
    // Once before the end is known, and once after.
    expect(outlines).toBe(2)
  })

  test('in the list, and on a bisection, where the index is stopped', async () => {
    const scene = await servedSample()
    const { id: name } = await bisect(scene.store.conversation(id), { good: 2, bad: 44 })
    let asked = 0
    const stopped = async (route: Route): Promise<void> => {
      asked++
      const answer = await route.fetch()
      const whole = (await answer.json()) as object
      const problem = 'event 3 of stream x cannot be read'
      await route.fulfill({ response: answer, json: { ...whole, indexed: 9, isComplete: false, problem } })
    }
    const { page } = await looking(scene, `/c/${id}/bisect/${name}`, {
      before: async (its) => {
        await its.clock.install()
        await its.route('**/outline?*', stopped)
        await its.route('**/conversations?*', stopped)
      },
    })
    await page.getByRole('alert').getByText('Nothing after 9 is indexed: event 3 of stream x').waitFor()
    await page.clock.runFor(3_000)
    expect(asked).toBe(1)
    await page.goto(scene.url)
    await page.getByText('the rest cannot be indexed: event 3 of stream x cannot be read').waitFor()
    await page.clock.runFor(9_000)
    // The list, and what in it needs somebody.
    expect(asked).toBe(3)
  })

  test.each([
    ['the list', '/'],
    ['a conversation', `/c/${id}`],
  ])('in %s, when the store was replaced', async (_, address) => {
    const scene = await servedFile()
    // Whoever connects again meanwhile is refused.
    const { page } = await looking(scene, address, { allowed: [/status of 503/] })
    await page.getByText('live').waitFor()
    renameSync(scene.file, `${scene.file}.moved`)
    const notice = page.getByRole('alert')
    await notice.getByText(/^Store replaced:/).waitFor()
    await notice.getByText('Start the server again').waitFor()
    await page.getByText('stopped since').waitFor()
  })

  test('on a narrow screen, beside a long id, in whole words', async () => {
    const scene = await servedSample()
    const long = 'a-name-that-a-program-has-given-8463c716-a2ea-4c14-9efa-87158ebd9f20'
    await scene.store.conversation(id).fork(long)
    const { page, shows } = await looking(scene, `/c/${long}?at=35`, {
      viewport: { width: 390, height: 800 },
    })
    await shows(35)
    const button = page.getByRole('button', { name: 'paused' })
    expect(await button.evaluate((it) => it.scrollWidth - it.clientWidth)).toBe(0)
    expect(await button.evaluate((it) => it.getBoundingClientRect().right)).toBeLessThanOrEqual(390)
  })
})
