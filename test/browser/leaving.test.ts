import type { CDPSession } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { atEnd } from '../support/at-end.ts'
import { noBrowser } from '../support/browser.ts'
import { looking } from '../support/looking.ts'
import { served } from '../support/served.ts'

const conversations = 50
const rounds = 5

/** What is alive in the page once all garbage is collected. */
const alive = async (session: CDPSession): Promise<Readonly<Record<string, number>>> => {
  await session.send('HeapProfiler.collectGarbage')
  const { metrics } = await session.send('Performance.getMetrics')
  const of = (name: string): number => metrics.find((metric) => metric.name === name)?.value ?? Number.NaN
  const { result: prototype } = await session.send('Runtime.evaluate', { expression: 'Object.prototype' })
  const { objects } = await session.send('Runtime.queryObjects', {
    prototypeObjectId: prototype.objectId ?? '',
  })
  const { result } = await session.send('Runtime.callFunctionOn', {
    objectId: objects.objectId ?? '',
    functionDeclaration: `function () {
      const fields = (name) => this.filter((one) => Object.getOwnPropertyDescriptor(one, name)?.value !== undefined)
      return [fields('kinds').length, fields('items').length]
    }`,
    returnByValue: true,
  })
  await session.send('Runtime.releaseObject', { objectId: objects.objectId ?? '' })
  const [outlines = Number.NaN, answers = Number.NaN] = result.value as readonly number[]
  return { nodes: of('Nodes'), listeners: of('JSEventListeners'), outlines, answers }
}

describe.skipIf(noBrowser !== '')(`the page${noBrowser}`, () => {
  test('keeps nothing of the conversations that one has left', async () => {
    const store = await openStore('memory:')
    atEnd(store.close)
    for (let n = 0; n < conversations; n++) {
      const chat = store.conversation(`c${n}`)
      await chat.append([
        { role: 'user', content: `Question ${n}.` },
        { role: 'assistant', content: `Answer ${n}.` },
        { role: 'user', content: `Thanks, ${n}.` },
      ])
      await chat.condense({ summary: `All of ${n}.`, keepLast: 1 })
    }
    const { page } = await looking(await served(store), '/')
    const session = await page.context().newCDPSession(page)
    await session.send('Performance.enable')
    const visit = async (n: number): Promise<void> => {
      await page.evaluate(
        `history.pushState(null, '', '/c/c${n}'), dispatchEvent(new PopStateEvent('popstate'))`,
      )
      await page.getByText(`Thanks, ${n}.`).waitFor()
      await page.getByRole('slider').waitFor()
    }
    for (let n = 0; n < rounds; n++) await visit(n)
    const before = await alive(session)
    for (let n = rounds; n < conversations + rounds; n++) await visit(n % conversations)
    const after = await alive(session)
    // Of one more than before at most: what is dropped with the next frame.
    for (const [name, count] of Object.entries(after))
      expect({ name, isBounded: count <= (before[name] ?? 0) + conversations / 2, count }).toEqual({
        name,
        isBounded: true,
        count,
      })
  })
})
