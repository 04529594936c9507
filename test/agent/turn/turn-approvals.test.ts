import { join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import { describe, expect, it, vi } from 'vitest'
import type { AnyBlock } from '../../../src/events/blocks.ts'
import { type Conversation, isError, openStore, type TurnOptions } from '../../../src/index.ts'
import { atEnd } from '../../support/at-end.ts'
import { text, toolUse } from '../../support/log.ts'
import { temporaryFolder } from '../../support/stores.ts'
import { scene, type Scene, yes } from '../../support/turn-scene.ts'

const use = (name: string, input: object = {}): AnyBlock => ({ ...toolUse(name, input), name })
const both = { content: [use('read'), use('pay', { euros: 5 })] }
const tools = ['read', 'pay'].map((name) => ({ name, input_schema: { type: 'object' } }))

/** A conversation whose model reads and pays at once; `done` is what was carried out. */
const payment = async (
  options: Partial<TurnOptions> = {},
  said: Parameters<typeof scene>[0] = [both, yes],
) => {
  const done: unknown[] = []
  const run = {
    read: { run: () => 'the bill', effect: 'none' as const },
    pay: { run: (input: unknown) => done.push(input) && 'paid', approve: true },
  }
  const made = await scene(said)
  const turn: Scene['turn'] = (more) => made.turn({ tools, run, ...options, ...more })
  return { ...made, turn, run, done }
}
const resultsIn = ({ api }: Scene, request: number): readonly unknown[] =>
  (api.requests[request]?.body?.messages ?? []).flatMap(({ content }) =>
    Array.isArray(content)
      ? content.flatMap((block) => (block.type === 'tool_result' ? [block.content] : []))
      : [],
  )
const statuses = ({ api }: Scene): readonly number[] => api.requests.map(({ status }) => status)

describe('a tool that somebody has to approve', () => {
  it('waits, while the other calls of the reply are run', async () => {
    const made = await payment()
    const turned = await made.turn()
    expect(turned).toMatchObject({ calls: 1, stopReason: 'tool_use', pending: [] })
    expect(turned.waiting).toEqual([{ call: 'pay', tool: 'pay', input: { euros: 5 } }])
    expect(made.done).toEqual([])
    expect((await made.chat.effective()).at(-1)).toMatchObject({
      content: [{ tool_use_id: 'read', content: 'the bill' }],
    })
    expect(await made.chat.waiting()).toMatchObject([
      { call: 'pay', tool: 'pay', input: { euros: 5 }, why: 'approval', reply: turned.position },
    ])
  })

  it('runs in the next turn after it was approved, once', async () => {
    const made = await payment()
    await made.turn()
    expect(await made.chat.approve('pay', { by: 'ann', note: 'ok' })).toEqual({
      conversation: 'c',
      call: 'pay',
      decision: 'approved',
      by: 'ann',
    })
    expect(await made.chat.waiting()).toEqual([])
    expect(await made.turn()).toMatchObject({ content: [text('Yes.')], calls: 1, waiting: [] })
    expect(made.done).toEqual([{ euros: 5 }])
    expect(resultsIn(made, 1)).toEqual(['the bill', 'paid'])
    expect(statuses(made)).toEqual([200, 200])
    expect(await made.chat.verifyReceipts()).toMatchObject({ receipts: 2, findings: [] })
  })

  it('still waits in every turn before that, and asks the model nothing', async () => {
    const made = await payment()
    await made.turn()
    const before = await made.chat.position()
    expect(await made.turn()).toMatchObject({ calls: 0, waiting: [{ call: 'pay' }] })
    expect(await made.chat.position()).toBe(before)
    expect(statuses(made)).toEqual([200])
  })

  it('is not run once it was denied; the model is told by whom, and why', async () => {
    const made = await payment()
    await made.turn()
    await made.chat.deny('pay', { by: 'ann', reason: 'too much' })
    await made.turn()
    expect(made.done).toEqual([])
    expect(resultsIn(made, 1)).toEqual(['the bill', 'This call was denied by ann: too much'])
  })

  it('is given an edited input, which the result tells; the call stays as the model made it', async () => {
    const made = await payment()
    await made.turn()
    await made.chat.approve('pay', { by: 'ann', input: { euros: 3 } })
    await made.turn()
    expect(made.done).toEqual([{ euros: 3 }])
    expect(resultsIn(made, 1)[1]).toBe('ann has changed the input. The tool was run with {"euros":3}\n\npaid')
    expect(made.api.requests[1]?.body?.messages[1]?.content).toMatchObject([{}, { input: { euros: 5 } }])
  })

  it('waits only for calls that its function says to', async () => {
    const made = await payment()
    const ask = ({ input }: { readonly input: unknown }) => (input as { euros: number }).euros > 5
    const turned = await made.turn({ run: { ...made.run, pay: { ...made.run.pay, approve: ask } } })
    expect(turned.waiting).toEqual([])
    expect(made.done).toEqual([{ euros: 5 }])
  })

  it('is decided about once', async () => {
    const made = await payment()
    await made.turn()
    await made.chat.deny('pay', { by: 'ann' })
    const second = made.chat.approve('pay', { by: 'bob' })
    await expect(second).rejects.toMatchObject({ _tag: 'AlreadyDecided', decision: 'denied', by: 'ann' })
    await made.turn()
    await expect(made.chat.approve('pay', { by: 'bob' })).rejects.toMatchObject({ _tag: 'AlreadyDecided' })
    expect(made.done).toEqual([])
  })

  it('waits again once its approval was withdrawn', async () => {
    const made = await payment({ waiting: { expires: 3_600_000 } })
    const { waiting } = await made.turn()
    await made.chat.approve('pay', { by: 'ann' })
    expect(await made.chat.withdraw('pay', { by: 'bob', reason: 'wrong account' })).toEqual({
      conversation: 'c',
      call: 'pay',
      decision: 'withdrawn',
      by: 'bob',
    })
    expect(await made.chat.waiting()).toMatchObject(waiting)
    expect(await made.turn()).toMatchObject({ ended: 'waiting', waiting })
    expect(made.done).toEqual([])
    await made.chat.deny('pay', { by: 'ann' })
    await made.turn()
    expect(resultsIn(made, 1)[1]).toBe('This call was denied by ann.')
  })

  it.each<readonly [string, (made: Awaited<ReturnType<typeof payment>>) => Promise<unknown>, string]>([
    ['nobody has decided', async () => {}, 'nobody has decided'],
    ['it was denied', ({ chat }) => chat.deny('pay', { by: 'ann' }), 'ann denied it'],
    [
      'its tool was run',
      async ({ chat, turn }) => {
        await chat.approve('pay', { by: 'ann' })
        await turn()
      },
      'it already has a result',
    ],
  ])('has no approval to withdraw if %s', async (_, happens, problem) => {
    const made = await payment()
    await made.turn()
    await happens(made)
    await expect(made.chat.withdraw('pay', { by: 'bob' })).rejects.toMatchObject({
      _tag: 'NotWithdrawn',
      message: expect.stringContaining(problem),
    })
    await expect(made.chat.withdraw('read', { by: 'bob' })).rejects.toMatchObject({ _tag: 'NotWithdrawn' })
  })

  it.each(['none', 'idempotent', 'unsafe'] as const)(
    'has no approval to withdraw while it runs (effect %s)',
    async (effect) => {
      const made = await payment()
      const seen: unknown[] = []
      const run = async (): Promise<string> => {
        const withdrawn = made.chat.withdraw('pay', { by: 'bob' })
        await withdrawn.catch((error: unknown) => seen.push(error))
        return 'paid'
      }
      const options = { run: { ...made.run, pay: { run, approve: true, effect } } }
      await made.turn(options)
      await made.chat.approve('pay', { by: 'ann' })
      await made.turn(options)
      expect(seen).toMatchObject([{ _tag: 'NotWithdrawn', started: expect.any(String) }])
      expect(resultsIn(made, 1)[1]).toBe('paid')
    },
  )

  it('is either run or withdrawn, not both, if that happens at once', async () => {
    for (let n = 0; n < 10; n++) {
      const made = await payment()
      await made.turn()
      await made.chat.approve('pay', { by: 'ann' })
      const [, withdrawn] = await Promise.allSettled([made.turn(), made.chat.withdraw('pay', { by: 'bob' })])
      expect(made.done).toHaveLength(withdrawn.status === 'fulfilled' ? 0 : 1)
    }
  })

  it('is decided about by the first of many at once', async () => {
    const made = await payment()
    await made.turn()
    const people = Array.from({ length: 10 }, (_, n) => `person-${n}`)
    const decided = await Promise.allSettled(
      people.map((by, n) => (n % 2 ? made.chat.deny('pay', { by }) : made.chat.approve('pay', { by }))),
    )
    const [first, ...others] = decided.filter(({ status }) => status === 'fulfilled')
    expect(others).toEqual([])
    const refused = decided.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []))
    expect(refused.every((error) => isError(error, 'AlreadyDecided'))).toBe(true)
    await made.turn()
    const approved = first?.status === 'fulfilled' && first.value.decision === 'approved'
    expect(made.done).toHaveLength(approved ? 1 : 0)
  })

  it.each<readonly [string, (chat: Conversation) => Promise<unknown>]>([
    ['was rewound away', (chat) => chat.rewind({ turns: 1 })],
    ['was denied by what the user said', (chat) => chat.append({ role: 'user', content: 'Stop.' })],
    [
      'has a result',
      (chat) =>
        chat.append({ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'pay', content: '' }] }),
    ],
  ])('cannot be approved after it %s', async (_, happens) => {
    const made = await payment()
    await made.turn()
    await happens(made.chat)
    await expect(made.chat.approve('pay', { by: 'ann' })).rejects.toMatchObject({
      _tag: 'NotWaiting',
      waiting: [],
    })
    expect(await made.chat.waiting()).toEqual([])
  })

  it('cannot be approved if it never waited: the error names the calls that do', async () => {
    const made = await payment()
    await made.turn()
    for (const call of ['read', 'nothing'])
      await expect(made.chat.approve(call, { by: 'ann' })).rejects.toMatchObject({
        _tag: 'NotWaiting',
        waiting: ['pay'],
      })
    await expect(made.chat.approve('pay', {} as never)).rejects.toMatchObject({
      _tag: 'InvalidInput',
      message: expect.stringContaining('by'),
    })
  })

  it('is denied by what the user says instead', async () => {
    const made = await payment()
    await made.turn()
    await made.chat.append({ role: 'user', content: 'Stop.' })
    await made.turn()
    expect(made.done).toEqual([])
    expect(resultsIn(made, 1)).toEqual(['the bill', 'This call was denied: the user said something else.'])
    expect(made.api.requests[1]?.body?.messages.at(-1)?.content).toMatchObject([{}, {}, { text: 'Stop.' }])
    expect(statuses(made)).toEqual([200, 200])
  })

  it('is run if it was approved before the user said something', async () => {
    const made = await payment()
    await made.turn()
    await made.chat.approve('pay', { by: 'ann' })
    await made.chat.append({ role: 'user', content: 'Thanks.' })
    await made.turn()
    expect(resultsIn(made, 1)).toEqual(['the bill', 'paid'])
  })

  it('with `keep` still waits after the user has said something', async () => {
    const made = await payment({ waiting: { keep: true } })
    await made.turn()
    await made.chat.append({ role: 'user', content: 'Well?' })
    expect(await made.turn()).toMatchObject({ calls: 0, waiting: [{ call: 'pay' }] })
    await made.chat.approve('pay', { by: 'ann' })
    await made.turn()
    expect(resultsIn(made, 1)).toEqual(['the bill', 'paid'])
    expect(statuses(made)).toEqual([200, 200])
  })

  it('is denied when its time is over', async () => {
    const expires = 3_600_000
    const made = await payment({ waiting: { expires } })
    const { waiting } = await made.turn()
    expect(waiting).toMatchObject([{ until: expect.any(String) }])
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + expires })
    atEnd(() => vi.useRealTimers())
    await expect(made.chat.approve('pay', { by: 'ann' })).rejects.toMatchObject({ _tag: 'NotWaiting' })
    await made.turn()
    expect(made.done).toEqual([])
    expect(resultsIn(made, 1)[1]).toBe('This call was denied: nobody approved it in time.')
  })

  it('waits anew after the conversation has gone back past it and come again', async () => {
    const made = await payment()
    const { position } = await made.turn()
    const last = await made.chat.position()
    await made.chat.approve('pay', { by: 'ann' })
    await made.chat.rewind({ to: 0 })
    await made.chat.rewind({ to: last })
    await expect(made.chat.approve('pay', { by: 'bob' })).rejects.toMatchObject({
      _tag: 'NotWaiting',
      message: expect.stringContaining('the next turn asks again'),
    })
    expect(await made.turn()).toMatchObject({ waiting: [{ call: 'pay' }], position })
    expect(made.done).toEqual([])
    await made.chat.approve('pay', { by: 'bob' })
    await made.turn()
    expect(made.done).toEqual([{ euros: 5 }])
  })

  it('is not run where its own function fails: the model is told', async () => {
    const made = await payment()
    const approve = (): never => {
      throw new Error('no connection')
    }
    await made.turn({ run: { ...made.run, pay: { ...made.run.pay, approve } } })
    expect(made.done).toEqual([])
    expect(resultsIn(made, 1)[1]).toBe('Error: no connection')
  })
})

describe('calls of a tool without a function here', () => {
  it('are handed back, and the turn goes on once their results are there', async () => {
    const made = await payment()
    const turned = await made.turn({ run: { read: made.run.read } })
    expect(turned).toMatchObject({
      waiting: [],
      pending: [{ call: 'pay', tool: 'pay', input: { euros: 5 } }],
    })
    expect(await made.chat.waiting()).toMatchObject([{ call: 'pay', why: 'handed-back' }])
    await expect(made.chat.approve('pay', { by: 'ann' })).rejects.toMatchObject({
      _tag: 'NotWaiting',
      message: expect.stringContaining('waits for its result'),
    })
    const content = [{ type: 'tool_result' as const, tool_use_id: 'pay', content: 'paid elsewhere' }]
    await made.chat.append({ role: 'user', content })
    expect(await made.turn()).toMatchObject({ content: [text('Yes.')], pending: [] })
    expect(resultsIn(made, 1)).toEqual(['the bill', 'paid elsewhere'])
    expect(statuses(made)).toEqual([200, 200])
  })

  it('stay handed back though a later turn could run them: somebody may be at work on them', async () => {
    const made = await payment()
    await made.turn({ run: { read: made.run.read } })
    expect(await made.turn()).toMatchObject({ pending: [{ call: 'pay' }] })
    expect(made.done).toEqual([])
  })

  const elsewhere = { type: 'tool_result' as const, tool_use_id: 'pay', content: 'paid elsewhere' }

  it('have the result that comes beside a text, or after one', async () => {
    for (const said of [[[elsewhere, text('Go on.')]], [[text('Well?')], [elsewhere]]]) {
      const made = await payment()
      await made.turn({ run: { read: made.run.read } })
      for (const content of said) await made.chat.append({ role: 'user', content })
      expect(await made.chat.waiting()).toEqual([])
      await made.turn()
      expect(made.done).toEqual([])
      expect(resultsIn(made, 1)).toEqual(['the bill', 'paid elsewhere'])
      expect(statuses(made)).toEqual([200, 200])
    }
  })

  it('have the result that is said beside a text while the conversation is busy', async () => {
    const made = await payment()
    await made.turn({ run: { read: made.run.read } })
    const said = await made.chat.say({ role: 'user', content: [text('Done:'), elsewhere] })
    expect(said).toMatchObject({ status: 'recorded' })
    await made.turn()
    expect(resultsIn(made, 1)).toEqual(['the bill', 'paid elsewhere'])
    expect(await made.chat.queued()).toEqual([])
  })

  it('have the result after a search was called beside them, and the search is kept', async () => {
    const search: AnyBlock = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }
    const found: AnyBlock = { type: 'web_search_tool_result', tool_use_id: 's', content: [] }
    const made = await payment({}, [
      { content: [search, use('pay')] },
      { content: [found, text('So.')] },
      yes,
    ])
    await made.turn({ run: {} })
    await made.chat.append({ role: 'user', content: [elsewhere, text('Well?')] })
    await made.turn({ run: {} })
    expect(statuses(made)).toEqual([200, 200, 200])
    expect(resultsIn(made, 1)).toEqual(['paid elsewhere'])
    expect(JSON.stringify(made.api.requests[2]?.body?.messages)).toContain('web_search_tool_result')
  })

  it('are given up for what the user says instead', async () => {
    const made = await payment()
    await made.turn({ run: { read: made.run.read } })
    await made.chat.append({ role: 'user', content: 'Never mind.' })
    await made.turn()
    expect(resultsIn(made, 1)[1]).toBe(
      'This call has no result: the user said something else. Whether it took effect is not known.',
    )
  })
})

describe('an approval in another process', () => {
  it('is seen through another handle of the same file, at every restart', async () => {
    const made = await payment()
    const url = `sqlite:${join(temporaryFolder(), 'store.db')}`
    const handle = async (): Promise<Conversation> => {
      const store = await openStore(url)
      atEnd(store.close)
      return store.conversation('c')
    }
    const client = new Anthropic({ baseURL: made.api.url, apiKey: 'key' })
    const turn = (chat: Conversation) => chat.turn({ client, model: 'claude-opus-5-5', tools, run: made.run })
    await (await handle()).append({ role: 'user', content: 'Pay.' })
    expect((await turn(await handle())).waiting).toHaveLength(1)
    await (await handle()).approve('pay', { by: 'ann' })
    expect((await turn(await handle())).waiting).toEqual([])
    expect(made.done).toEqual([{ euros: 5 }])
  })
})
