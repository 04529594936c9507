import { expect, test } from 'vitest'
import { loadSample } from '../../src/cli/sample.ts'
import { createStepReader } from '../../src/agent/receipts/call-steps.ts'
import { serving } from '../support/server/asking.ts'

const present = <A>(value: A | undefined): A => {
  if (value === undefined) throw new Error('there is none')
  return value
}

interface Step {
  readonly time: string
  readonly begun?: string
  readonly turn?: { readonly from: number; readonly prompt: string }
  readonly before?: { readonly position: number; readonly at: number }
  readonly tools: readonly {
    readonly tool: string
    readonly time?: string
    readonly isError?: true
    readonly wait?: object
  }[]
  readonly abandoned?: number
  readonly usd?: number
  readonly isUnderstated?: true
}
interface Page {
  readonly items: readonly { readonly position: number; readonly step?: Step }[]
  readonly next?: number
}

const sample = async () => {
  const scene = await serving()
  await loadSample(scene.store)
  const pageOf = async (query = ''): Promise<Page> =>
    (await scene.ask(`conversations/hours-invoice/calls?steps=true${query}`)).json as unknown as Page
  return { ...scene, pageOf, chat: scene.store.conversation('hours-invoice') }
}

test('a call has its turn, the call before it on its path, its times, its tools, and what abandoned it', async () => {
  const { pageOf, ask } = await sample()
  const { items } = await pageOf()
  const at = (position: number): Step => present(items.find((item) => item.position === position)?.step)
  expect(at(31)).toMatchObject({
    begun: '2026-06-11T13:05:47.500Z',
    time: '2026-06-11T13:05:54.850Z',
    turn: { from: 29, position: 29, prompt: expect.stringMatching(/^Amounts of a million .*…$/) },
    before: { position: 20, at: 19 },
    tools: [
      { tool: 'grep', about: 'written(', time: '2026-06-11T13:06:02.200Z' },
      { tool: 'explore', time: expect.any(String) },
    ],
  })
  expect(items.filter(({ step }) => step?.abandoned === 28).map(({ position }) => position)).toEqual([
    22, 23, 25, 27,
  ])
  expect(items.filter(({ step }) => step?.tools.some(({ isError }) => isError)).length).toBe(3)
  expect(at(48).tools).toMatchObject([{ tool: 'publish', wait: { why: 'approval' } }])
  expect(at(48).usd).toBeGreaterThan(0)
  const plain = (await ask('conversations/hours-invoice/calls')).json as unknown as Page
  expect(plain.items.every(({ step }) => step === undefined)).toBe(true)
})

test('a decision has the person, the time and the note', async () => {
  const { pageOf, chat } = await sample()
  const [waiting] = await chat.waiting()
  await chat.approve(present(waiting).call, { by: 'ann', note: 'as agreed' })
  const { items } = await pageOf('&from=48')
  expect(items[0]?.step?.tools[0]?.wait).toMatchObject({
    why: 'approval',
    decision: 'approved',
    by: 'ann',
    time: expect.any(String),
    note: 'as agreed',
  })
})

test('pages of two calls have the same steps as one page', async () => {
  const { pageOf } = await sample()
  const { items: all } = await pageOf()
  const paged: Page['items'][number][] = []
  for (let from: number | undefined = 0; from !== undefined;) {
    const page: Page = await pageOf(`&limit=2&from=${from}`)
    paged.push(...page.items)
    from = page.next
  }
  // The call before the first one on a page may be on the page before.
  const withoutBefore = (items: Page['items']): unknown =>
    items.map(({ position, step }) => ({ position, ...step, before: undefined }))
  expect(withoutBefore(paged)).toEqual(withoutBefore(all))
})

test('a prompt that is answered again after a rewind is another turn', async () => {
  const { store } = await serving()
  const chat = store.conversation('a')
  const origin = { model: 'claude-opus-5-5' }
  await chat.append({ role: 'user', content: 'Why?' })
  await chat.append({ role: 'assistant', content: 'No.', origin })
  await chat.rewind({ to: 0 })
  await chat.append({ role: 'assistant', content: 'Because.', origin })
  const reader = createStepReader()
  for await (const event of chat.events()) reader.take(event)
  expect([1, 3].map((position) => reader.stepAt(position)?.turn)).toMatchObject([
    { from: 0, position: 0, prompt: 'Why?' },
    { from: 2, position: 0, prompt: 'Why?' },
  ])
  expect(reader.stepAt(3)?.before).toBeUndefined()
})

test('a turn that a client began is named by what it told, not by its tags', async () => {
  const { store } = await serving()
  const chat = store.conversation('a')
  const origin = { model: 'claude-opus-5-5' }
  for (const content of [
    '<task-notification>\n<task-id>a1</task-id>\n<summary>Agent "Review" completed</summary>\n</task-notification>',
    '<system-reminder>Use <b>tabs</b>.</system-reminder>',
  ]) {
    await chat.append({ role: 'user', content })
    await chat.append({ role: 'assistant', content: 'Yes.', origin })
  }
  const reader = createStepReader()
  for await (const event of chat.events()) reader.take(event)
  const prompts = [1, 3].map((position) => reader.stepAt(position)?.turn?.prompt)
  expect(prompts).toEqual(['Agent "Review" completed', 'Use tabs .'])
})
