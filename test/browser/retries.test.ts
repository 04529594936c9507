import { describe, expect, test } from 'vitest'
import { noBrowser } from '../support/browser.ts'
import { text } from '../support/log.ts'
import { looking } from '../support/looking.ts'
import { served } from '../support/served.ts'
import { ask, roles, scene, until } from '../support/workers/scene.ts'

const overloaded = { status: 529, type: 'overloaded_error', message: 'Overloaded' }

/** A conversation that was answered by a worker at its second attempt, and in this at the second call. */
const answeredAtLast = async () => {
  let calls = 0
  const answers = [overloaded, overloaded]
  const { store, worker } = await scene(() => answers[calls++] ?? { content: [text('Yes.')] })
  const chat = store.conversation('tried')
  await chat.append(ask, { answer: true })
  worker({}, () => ({ maxRetries: calls }))
  await until(async () => (await roles(chat)).length === 2)
  return store
}

describe.skipIf(noBrowser !== '')(`a turn that failed and was tried again${noBrowser}`, () => {
  test('is a retry on the ribbon and in Calls, with the error of each attempt', async () => {
    const store = await answeredAtLast()
    expect(await store.catalogue.outline('tried')).toMatchObject({ retries: [2] })
    const { page, shows } = await looking(await served(store), '/c/tried')
    await shows(2)
    await page.getByRole('list', { name: 'Colours' }).getByText('retry').waitFor()
    await page.goto(`${page.url().split('?')[0]}/calls?open=1`)
    const calls = page.getByRole('main')
    await calls.getByText('1 retry').waitFor()
    const attempts = calls.getByRole('region', { name: 'Failed before' })
    await expect.poll(() => attempts.getByRole('listitem').count()).toBe(2)
    expect(await attempts.innerText()).toMatch(/Overloaded[^]*Overloaded/)
    await calls.getByText('Call 1, attempt 1').waitFor()
  })
})
