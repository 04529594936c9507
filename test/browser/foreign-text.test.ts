import { describe, expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { atEnd } from '../support/at-end.ts'
import { noBrowser } from '../support/browser.ts'
import { disguised } from '../support/hostile.ts'
import { looking } from '../support/looking.ts'
import { served } from '../support/served.ts'

const id = 'disguised'
/** U+202E makes `gnp.exe` look like `exe.png`; a zero-width space and a tag character are not seen at all. */
const text = 'rew \u202Egnp.exe\u200B\u{E0041}'
const named = 'rew RLOgnp.exeZWSPU+E0041'

/** Texts and readable attributes of the document that still have one of these characters. */
const unnamed = `(() => {
  const hidden = /[\\u202E\\u200B\\u{E0041}\\uFEFF\\u2066]/u
  const attributes = ['title', 'aria-label', 'alt', 'placeholder']
  const found = hidden.test(document.title) ? [document.title] : []
  const texts = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT)
  while (texts.nextNode()) if (hidden.test(texts.currentNode.data)) found.push(texts.currentNode.parentElement.outerHTML)
  for (const element of document.querySelectorAll('*'))
    for (const name of attributes) if (hidden.test(element.getAttribute(name) ?? '')) found.push(name + ' of ' + element.outerHTML)
  return found
})()`

/** A conversation in which everything that a program may write has such characters. */
const disguisedEverywhere = async () => {
  // The name of an actor, too.
  const store = await openStore('memory:', { actor: { kind: 'agent', id: text } })
  atEnd(store.close)
  const scene = await served(store)
  const chat = scene.store.conversation(id)
  await chat.append({ role: 'user', content: disguised })
  await chat.configure({
    model: text,
    system: [{ type: 'text', text }],
    tools: [
      {
        name: 'run',
        description: text,
        input_schema: { type: 'object', properties: { [text]: { description: text } } },
      },
    ],
  })
  await chat.append({
    role: 'assistant',
    content: [
      {
        type: 'text',
        text: `# ${text}\n\n| ${text} |\n|-|\n| \`${text}\` |\n\n[${text}](https://example.com/ "${text}")`,
      },
      { type: 'tool_use', id: 'toolu_1', name: text, input: { [text]: text } },
    ],
    origin: { model: text, requestId: text, stopReason: text },
  })
  await chat.append({
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: text, is_error: true }],
  })
  await chat.append({ role: 'assistant', content: text, origin: { model: text } })
  await chat.append({ role: 'user', content: text })
  await chat.rewind({ to: 4, reason: text })
  await chat.condense({ covers: { first: 0, last: 0 }, summary: text })
  await chat.note({ kind: 'title', data: text })
  return scene
}

describe.skipIf(noBrowser !== '')(`text of others${noBrowser}`, () => {
  test('has names in place of invisible characters, in messages and in details', async () => {
    const { page, shows } = await looking(await disguisedEverywhere(), `/c/${id}?open=all&text=rendered`)
    await shows(7)
    const details = page.getByRole('complementary')
    for (const [position, field] of [
      [1, 'model'],
      [2, 'request id'],
      [6, 'reason'],
    ] as const) {
      await page.goto(`${page.url().split('?')[0]}?open=all&text=rendered&at=${position}&sel=${position}`)
      await details.getByText(field, { exact: true }).waitFor()
      await expect.poll(() => details.textContent()).toContain(named)
      expect(await page.evaluate(unnamed)).toEqual([])
    }
    await page.goto(`${page.url().split('?')[0]}?at=2&text=rendered`)
    await page.locator('.markdown .heading').waitFor()
    expect(await page.locator('.markdown .heading').textContent()).toBe(named)
    expect(await page.locator('.markdown td').textContent()).toBe(named)
    expect(await page.locator('.markdown a').getAttribute('title')).toBe('rew [RLO]gnp.exe[ZWSP][U+E0041]')
    expect(await page.evaluate(unnamed)).toEqual([])
  })

  test('has them on every page', async () => {
    const scene = await disguisedEverywhere()
    const { page } = await looking(scene, '/')
    const pages = [
      ['/', 'RLO'],
      ['/?q=gnp', 'RLO'],
      [`/c/${id}?find=gnp`, 'RLO'],
      [`/c/${id}/calls/p2`, 'RLO'],
      [`/c/${id}/calls/p2?as=why`, 'call'],
      [`/c/${id}/tokens`, 'RLO'],
      [`/c/${id}/diff?from=0&to=7`, 'RLO'],
      [`/c/${id}/diff?from=0&to=7&of=full`, 'RLO'],
      [`/c/${id}/diff?from=0&to=4&of=request`, 'RLO'],
      [`/c/${id}/diff?from=0&to=4&of=configuration`, 'RLO'],
      [`/c/${id}/audit`, 'receipt'],
    ] as const
    for (const [address, shown] of pages) {
      await page.goto(scene.url + address)
      await page.getByRole('main').getByText(shown).filter({ visible: true }).first().waitFor()
      expect({ address, found: await page.evaluate(unnamed) }).toEqual({ address, found: [] })
    }
  })
})
