import { describe, expect, test } from 'vitest'
import type { NewMessage } from '../../src/core.ts'
import { noBrowser } from '../support/browser.ts'
import { looking } from '../support/looking.ts'
import { served } from '../support/served.ts'

describe.skipIf(noBrowser !== '')(`the overview of a long conversation${noBrowser}`, () => {
  test('has a lane for each kind of event, and says what a part of it has', async () => {
    const scene = await served()
    const chat = scene.store.conversation('long')
    const messages = Array.from({ length: 2_400 }, (_, n): NewMessage =>
      n % 2 === 0
        ? { role: 'user', content: `Question ${n}.` }
        : { role: 'assistant', content: [{ type: 'text', text: `Answer ${n}.` }] },
    )
    await chat.append(messages)
    await chat.condense({ keepLast: 10, summary: 'What was done.' })
    const { page, shows } = await looking(scene, '/c/long', { viewport: { width: 800, height: 900 } })
    await shows(2_400)
    const overview = page.getByRole('slider', { name: 'Position in the whole conversation' })
    await expect
      .poll(() => overview.getAttribute('aria-valuetext'))
      .toMatch(/^position 2,400 of 2,400, [\d,]+–2,400: 1 condensed/)
    // Condensed, user and assistant: three lanes of 10 pixels above the curve of 26.
    await expect.poll(async () => (await overview.boundingBox())?.height).toBe(3 * 10 + 26)
    await overview.hover({ position: { x: 100, y: 10 } })
    await expect
      .poll(() => page.locator('.pointed').textContent())
      .toMatch(/^[\d,]+–[\d,]+: 1 user, 1 assistant$|^[\d,]+–[\d,]+: 1 (user|assistant)$/)
  })

  test('counts retries; and a marker has its own sign', async () => {
    const scene = await served()
    const chat = scene.store.conversation('long')
    const call = (id: string) => ({ type: 'tool_use', id, name: 'run', input: {} }) as const
    const failed = { type: 'tool_result', tool_use_id: 't', content: 'No such file', is_error: true } as const
    const filling = Array.from({ length: 2_400 }, (_, n): NewMessage => ({ role: 'user', content: `${n}` }))
    await chat.append([
      ...filling,
      { role: 'assistant', content: [call('t')] },
      { role: 'user', content: [failed] },
      { role: 'assistant', content: [call('u')] },
    ])
    await chat.truncate({ covers: { first: 2, last: 9 }, reason: 'too long' })
    const { page, shows } = await looking(scene, '/c/long', { viewport: { width: 800, height: 900 } })
    await shows(2_403)
    const overview = page.getByRole('slider', { name: 'Position in the whole conversation' })
    await expect.poll(() => overview.getAttribute('aria-valuetext')).toContain('1 retry')
    const step = page.locator('.step', { hasText: 'arker' })
    await expect.poll(() => step.getAttribute('class')).toContain('tone-truncated')
  })
})
