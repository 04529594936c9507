import * as E from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { modelCalls, type ReceiptVerification, verifyReceipts } from '../../../src/agent/receipts/audit.ts'
import { loadSentCall } from '../../../src/agent/receipts/sent-call.ts'
import { run } from '../../../src/result/fallible.ts'
import { fingerprintsOf } from '../../../src/agent/receipts/fingerprints.ts'
import { itemPrintsOf } from '../../../src/agent/receipts/item-prints.ts'
import { receiptOf } from '../../../src/agent/receipts/receipt.ts'
import { fingerprintsIn } from '../../../src/agent/receipts/receipt-blocks.ts'
import { requestOf, type RequestOptions } from '../../../src/agent/receipts/request.ts'
import { requestOfSummary } from '../../../src/agent/receipts/summary-request.ts'
import type { Block } from '../../../src/events/blocks.ts'
import type { ConversationEvent, Event, Origin } from '../../../src/events/events.ts'
import type { ConversationHandle } from '../../../src/conversation/conversation.ts'
import { memoryStore } from '../../../src/store/memory/store.ts'
import type { EventStore } from '../../../src/store/port.ts'
import { storeOn } from '../../../src/api/open.ts'
import { type Effective, effective as effectiveOf } from '../../../src/projections/effective.ts'
import { left, right } from '../../support/either.ts'
import { text, toolResult, toolUse } from '../../support/log.ts'
import { digestIn } from '../../support/receipts.ts'
import { write } from '../../support/write.ts'

const storeOf = (largeContent?: number) => storeOn(memoryStore(), { kind: 'test' }, largeContent)
const now = async (chat: ConversationHandle): Promise<Effective> => right(await chat.context()())
const said = async (chat: ConversationHandle, ...texts: readonly string[]): Promise<void> => {
  right(await chat.append(texts.map((content) => ({ role: 'user', content })))())
}

const cached: RequestOptions = { renderer: 1, cache: '5m' }

/** The receipt of the request that the conversation makes now, in what else a reply says of itself. */
const originOf = (effective: Effective, options = cached): Origin => ({
  model: 'some-model-2026',
  usage: { input_tokens: 10, output_tokens: 2 },
  context: receiptOf(effective, right(requestOf(effective, options)), options),
})

/** Calls a model that answers this. */
const replied = async (
  chat: ConversationHandle,
  content: string | ReturnType<typeof text>[],
  options = cached,
) => {
  const effective = await now(chat)
  const origin = originOf(effective, options)
  right(await chat.append({ role: 'assistant', content, origin }, { after: effective.at })())
}

const eventsOf = async (chat: ConversationHandle): Promise<ConversationEvent[]> => {
  const events: ConversationEvent[] = []
  for await (const event of chat.events()) events.push(event)
  return events
}

/** The conversation, each event as it would be had this been written instead, with an intact chain. */
const tampered = async (
  chat: ConversationHandle,
  change: (event: Event, position: number) => Event | undefined,
): Promise<ConversationHandle> => {
  const events = await eventsOf(chat)
  const store = memoryStore()
  const changed = events.flatMap((event) => change(event, event.position) ?? [])
  await write(store, 'copy', changed)
  return storeOn(store, { kind: 'test' }).conversation('copy')
}

const changedAt =
  (at: number, change: (data: Event<'MessageAppended'>['data']) => Event<'MessageAppended'>['data']) =>
  (event: Event, position: number): Event =>
    event.type === 'MessageAppended' && position === at ? { ...event, data: change(event.data) } : event

type Receipt = NonNullable<Origin['context']>
const receiptAt = (at: number, change: (receipt: Receipt) => Receipt) =>
  changedAt(at, (data) => {
    const { context } = data.origin ?? {}
    return context ? { ...data, origin: { ...data.origin, context: change(context) } } : data
  })

const verified = async (chat: ConversationHandle): Promise<ReceiptVerification> =>
  right(await verifyReceipts(chat)())

/** 0 configured, 1 task, 2 reply (call), 3 result, 4 reply, 5 user, 6 reply. */
const talk = async (options = cached): Promise<ConversationHandle> => {
  const chat = storeOf().conversation('talk')
  right(
    await chat.configure({
      system: 'Be brief.',
      tools: [{ name: 'read' }, { name: 'run' }],
      model: 'some-model',
      parameters: { max_tokens: 100 },
    })(),
  )
  await said(chat, 'Fix the parser.')
  await replied(chat, [text('I look.'), toolUse('a')], options)
  right(await chat.append({ role: 'user', content: [toolResult('a', 'const a = 1')] })())
  await replied(chat, 'Done.', options)
  await said(chat, 'Thanks. And the lexer?')
  await replied(chat, 'That, too.', options)
  return chat
}

describe('the receipts of a conversation are verified', () => {
  it.each<RequestOptions>([cached, { renderer: 1 }, { renderer: 1, cache: '1h', systemMessages: true }])(
    'however their requests were made: %j',
    async (options) => {
      expect(await verified(await talk(options))).toEqual({ conversation: 'talk', receipts: 3, findings: [] })
    },
  )

  it('after condense, truncate, restore and another configuration', async () => {
    const chat = await talk()
    right(await chat.condense({ covers: { first: 2, last: 4 }, summary: 'It was fixed.' })())
    await replied(chat, 'Go on?')
    right(await chat.truncate({ covers: { first: 7, last: 7 } })())
    await said(chat, 'Yes.')
    await replied(chat, 'Then I do.')
    right(await chat.restore({ marker: 9 })())
    right(await chat.configure({ system: 'Be verbose.' })())
    await said(chat, 'How?')
    await replied(chat, 'At length.')
    expect(await verified(chat)).toMatchObject({ receipts: 6, findings: [] })
  })

  it('on abandoned branches, before and after them', async () => {
    const chat = await talk()
    right(await chat.rewind({ to: 4 })())
    await said(chat, 'Thanks. That is all.')
    await replied(chat, 'Bye.')
    expect(await verified(chat)).toMatchObject({ receipts: 4, findings: [] })
  })

  it('where a reply came too late, and where markers came before it', async () => {
    const chat = await talk()
    await said(chat, 'Once more.')
    const before = await now(chat)
    right(await chat.condense({ covers: { first: 2, last: 4 }, summary: 'It was fixed.' })())
    const reply = { role: 'assistant' as const, content: 'Yes.', origin: originOf(before) }
    right(await chat.append(reply, { after: before.at, tolerate: 'markers' })())
    await said(chat, 'What was it?')
    await replied(chat, 'The parser.')
    await said(chat, 'And again.')
    right(await chat.append({ ...reply, origin: originOf(before) }, { branchAt: before.at })())
    await replied(chat, 'And again, yes.')
    expect(await verified(chat)).toMatchObject({ receipts: 7, findings: [] })
  })

  it('in a fork, those that it inherited as well', async () => {
    const store = storeOf()
    const chat = store.conversation('parent')
    await said(chat, 'Hello.')
    await replied(chat, 'Hello!')
    const fork = right(await chat.fork('fork')())
    await said(fork, 'What now?')
    await replied(fork, 'This.')
    expect(await verified(fork)).toMatchObject({ conversation: 'fork', receipts: 2, findings: [] })
  })

  it('with large content outside of the events', async () => {
    const chat = storeOf(1_024).conversation('large')
    await said(chat, 'x'.repeat(100_000))
    await replied(chat, 'That is long.')
    expect(await verified(chat)).toMatchObject({ receipts: 1, findings: [] })
  })

  it('of summaries, too', async () => {
    const chat = await talk()
    const effective = await now(chat)
    const covers = { first: 2, last: 4 }
    const options = { summarizer: 1 as const, keyed: true as const, covers, images: false }
    const context = {
      position: effective.at,
      digest: digestIn(effective, requestOfSummary(effective, options)),
      options,
    }
    right(await chat.condense({ covers, summary: 'It was fixed.', method: 'model', origin: { context } })())
    expect(await verified(chat)).toMatchObject({ receipts: 4, findings: [] })

    const other = await tampered(
      chat,
      changedAt(3, (data) => ({ ...data, content: [toolResult('a', 'b')] })),
    )
    expect((await verified(other)).findings.map(({ call, kind }) => [call, kind])).toEqual([
      [2, 'event'],
      [3, 'event'],
      [4, 'digest'],
    ])
    const unknown = await tampered(chat, (event) =>
      event.type === 'Condensed'
        ? {
            ...event,
            data: { ...event.data, origin: { context: { ...context, options: { summarizer: 99 } } } },
          }
        : event,
    )
    expect((await verified(unknown)).findings).toMatchObject([
      { call: 4, position: 7, kind: 'renderer', message: expect.stringContaining('upgrade') },
    ])
    expect(left(await loadSentCall(unknown)())).toMatchObject({
      _tag: 'UnknownRenderer',
      renderer: 99,
      message: expect.stringContaining('this version has no summarizer 99, only 1'),
    })
  })
})

describe('what is not as it was sent is found', () => {
  const findingsOf = async (change: Parameters<typeof tampered>[1]) =>
    (await verified(await tampered(await talk(), change))).findings

  it('a text of the log: in every later request, by its event', async () => {
    const found = await findingsOf(
      changedAt(1, (data) => ({ ...data, content: [text('Break the parser.')] })),
    )
    expect(found.map(({ call, position, kind, event }) => [call, position, kind, event])).toEqual([
      [1, 2, 'event', 1],
      [2, 4, 'event', 1],
      [3, 6, 'event', 1],
    ])
    expect(found[1]?.message).toBe('event 1 is not what the request showed')
  })

  it('a result, only where it was sent', async () => {
    const found = await findingsOf(changedAt(3, (data) => ({ ...data, content: [toolResult('a', 'b')] })))
    expect(found.map(({ call, event }) => [call, event])).toEqual([
      [2, 3],
      [3, 3],
    ])
  })

  it('a tool and the system prompt', async () => {
    const configured = (data: object) => (event: Event) =>
      event.type === 'Configured' ? { ...event, data: { ...event.data, ...data } } : event
    const tool = await findingsOf(configured({ tools: [{ name: 'read' }, { name: 'write' }] }))
    expect(tool.map(({ event }) => event)).toEqual([0, 0, 0])
    const system = await findingsOf(configured({ system: 'Be long.' }))
    expect(system.map(({ event }) => event)).toEqual([0, 0, 0])
  })

  it('an event without a salt, of which nothing is kept that confirms a guess', async () => {
    const unsalted = (event: ConversationEvent): ConversationEvent => ({
      ...event,
      metadata: { ...event.metadata, salt: undefined },
    })
    const shown = effectiveOf((await eventsOf(await talk())).map(unsalted))
    expect(itemPrintsOf(shown)).toMatch(/^-+$/)
  })

  it('a digest, and cache breakpoints: every event is what it was', async () => {
    const digest = receiptAt(4, (receipt) => ({ ...receipt, digest: '0'.repeat(64) }))
    expect(await findingsOf(digest)).toMatchObject([{ call: 2, kind: 'digest' }])
    const hour = receiptAt(4, (receipt) => ({ ...receipt, options: { ...receipt.options, cache: '1h' } }))
    expect(await findingsOf(hour)).toMatchObject([{ call: 2, kind: 'digest' }])
  })

  it('repairs alone', async () => {
    const repairs = receiptAt(4, (receipt) => ({
      ...receipt,
      options: { ...receipt.options, repairs: { 'call-answered': 1 } },
    }))
    expect(await findingsOf(repairs)).toMatchObject([{ call: 2, kind: 'repairs' }])
  })

  it('a receipt that names another moment', async () => {
    const earlier = receiptAt(6, (receipt) => ({ ...receipt, position: 3 }))
    expect(await findingsOf(earlier)).toMatchObject([{ call: 3, position: 6, kind: 'event' }])
    expect((await findingsOf(earlier))[0]).not.toHaveProperty('event')
    const before = receiptAt(4, (receipt) => ({ ...receipt, position: 0 }))
    expect(await findingsOf(before)).toMatchObject([{ call: 2, kind: 'event' }])
    const later = receiptAt(4, (receipt) => ({ ...receipt, position: 4 }))
    expect(await findingsOf(later)).toMatchObject([{ call: 2, kind: 'receipt' }])
  })

  it.each([
    ['without options', {}],
    ['with an option of another version', { colour: 'red' }],
    ['with fingerprints that are none', { items: { shared: 0, rest: 'a' } }],
  ])('a receipt %s', async (name, options) => {
    const change = receiptAt(4, (receipt) => ({
      ...receipt,
      options: name === 'without options' ? {} : { ...receipt.options, ...options },
    }))
    expect(await findingsOf(change)).toMatchObject([{ call: 2, kind: 'receipt' }])
  })

  it('a receipt of a renderer that is not there, whatever options that has', async () => {
    const change = receiptAt(4, (receipt) => ({
      ...receipt,
      options: { renderer: 99, colour: 'red' },
    }))
    expect(await findingsOf(change)).toMatchObject([
      { call: 2, kind: 'renderer', message: expect.stringContaining('upgrade') },
    ])
  })

  it('where the receipt that it continues is gone, without its place', async () => {
    const change = (event: Event, position: number): Event =>
      position === 2 && event.type === 'MessageAppended'
        ? { ...event, data: { role: 'assistant', content: event.data.content } }
        : changedAt(3, (data) => ({ ...data, content: [toolResult('a', 'b')] }))(event, position)
    expect(await findingsOf(change)).toMatchObject([
      { call: 1, position: 4, kind: 'digest' },
      { call: 2, position: 6, kind: 'digest' },
    ])
  })
})

describe('a receipt', () => {
  it('does not grow with the conversation', async () => {
    const chat = storeOf().conversation('long')
    for (let round = 0; round < 20; round++) {
      await said(chat, `Round ${round}.`)
      await replied(chat, 'Yes.')
    }
    const sizes = []
    for await (const { receipt } of modelCalls(chat)) sizes.push(JSON.stringify(receipt).length)
    expect(Math.max(...sizes.slice(1)) - Math.min(...sizes.slice(1))).toBeLessThan(10)
  })

  it('continues the fingerprints of another, whichever that is', () => {
    const blocks = { base: 1, shared: 1, rest: 'cccccc' }
    const receipt = { position: 2, digest: '', options: { renderer: 1, repairs: {}, blocks } }
    expect(fingerprintsIn(receipt, () => 'aaaaaabbbbbb')).toBe('aaaaaacccccc')
    expect(fingerprintsIn(receipt, () => 'bbbbbb')).toBe('bbbbbbcccccc')
    expect(fingerprintsIn(receipt, () => undefined)).toBeUndefined()
  })

  it('tells who said a block, and not where its breakpoints are', () => {
    const block = text('Be brief.')
    const printed = (role: 'user' | 'system', content: Block) =>
      fingerprintsOf({ messages: [{ role, content: [content] }] })
    expect(printed('user', block)).not.toBe(printed('system', block))
    expect(printed('user', { ...block, cache_control: { type: 'ephemeral' } })).toBe(printed('user', block))
    expect(fingerprintsOf({ system: 'Be brief.', messages: [] })).toHaveLength(6)
  })

  it('holds all prints again where one that it would continue is not shown any more', async () => {
    const chat = await talk()
    right(await chat.truncate({ covers: { first: 2, last: 3 } })())
    await replied(chat, 'Well.')
    const blocks = []
    for await (const { receipt } of modelCalls(chat)) blocks.push(receipt.options['items'])
    expect(blocks).toMatchObject([
      { shared: 0 },
      { base: 2, shared: 3 },
      { base: 4, shared: 5 },
      { shared: 0, rest: expect.stringMatching(/^.{42}$/) as string },
    ])
  })
})

describe('a bug while the log is read', () => {
  it.each([
    ['verifying receipts', (chat: ConversationHandle) => verifyReceipts(chat)()],
    ['making a request again', (chat: ConversationHandle) => loadSentCall(chat)()],
  ])('rejects as itself when %s, and is not taken for a read error', async (_, read) => {
    const bug = new TypeError('not a function')
    const chat = storeOf().conversation('c')
    const events = () => {
      throw bug
    }
    await expect(read({ ...chat, events })).rejects.toBe(bug)
  })

  it('rejects as itself when catching up in a turn', async () => {
    const bug = new TypeError('not a function')
    const inner = memoryStore()
    const read: EventStore['read'] = (range) => {
      if (range.direction === 'forwards' && range.limit > 1) throw bug
      return inner.read(range)
    }
    const chat = storeOn({ ...inner, read }, { kind: 'test' }).conversation('c')
    const messages = Array.from({ length: 9 }, () => ({ role: 'user' as const, content: 'Is it there?' }))
    await chat.append(messages)()
    await expect(run(chat.later(0))).rejects.toBe(bug)
  })
})

describe('the calls of a conversation', () => {
  it('are numbered in the order of their answers, abandoned ones included', async () => {
    const chat = await talk()
    right(await chat.rewind({ to: 1 })())
    await replied(chat, 'Which one?')
    const calls = []
    for await (const { number, position, kind } of modelCalls(chat)) calls.push([number, position, kind])
    expect(calls).toEqual([
      [1, 2, 'reply'],
      [2, 4, 'reply'],
      [3, 6, 'reply'],
      [4, 8, 'reply'],
    ])
  })

  it('are shown as they were sent, with model and parameters', async () => {
    const chat = await talk()
    right(await chat.configure({ model: 'other-model', parameters: null })())
    const breakpoint = { cache_control: { type: 'ephemeral' } }
    expect(right(await loadSentCall(chat, 2)())).toMatchObject({
      number: 2,
      position: 4,
      isSame: true,
      request: {
        model: 'some-model',
        parameters: { max_tokens: 100 },
        system: [{ ...text('Be brief.'), ...breakpoint }],
        tools: [{ name: 'read' }, { name: 'run' }],
        messages: [
          { role: 'user', content: [{ ...text('Fix the parser.'), ...breakpoint }] },
          { role: 'assistant', content: [text('I look.'), toolUse('a')] },
          { role: 'user', content: [{ ...toolResult('a', 'const a = 1'), ...breakpoint }] },
        ],
      },
    })
    expect(right(await loadSentCall(chat)()).number).toBe(3)
  })

  it('are not the same where the log is not', async () => {
    const chat = await tampered(
      await talk(),
      changedAt(1, (data) => ({ ...data, content: [text('Break it.')] })),
    )
    expect(right(await loadSentCall(chat, 1)()).isSame).toBe(false)
  })

  it.each<readonly [string, (receipt: Receipt) => Receipt, object]>([
    [
      'of a newer version',
      (receipt) => ({ ...receipt, options: { renderer: 99 } }),
      {
        _tag: 'UnknownRenderer',
        message: expect.stringContaining('the request was made by a newer palimpsest: upgrade'),
      },
    ],
    [
      'with other options',
      (receipt) => ({ ...receipt, options: {} }),
      { _tag: 'InvalidInput', message: expect.stringContaining('it was changed') },
    ],
    [
      'of a position that is not there',
      (receipt) => ({ ...receipt, position: 1_000 }),
      { _tag: 'InvalidInput', message: expect.stringContaining('1000 is not before the answer') },
    ],
  ])('say which receipt cannot be used, and why: one %s', async (_, change, error) => {
    const chat = await tampered(await talk(), receiptAt(4, change))
    const failed = left(await loadSentCall(chat, 2)())
    expect(failed).toMatchObject(error)
    expect(failed.message).toMatch(
      /^the receipt of call 2 \(answered at position 4\) cannot be used: .*; run verify --receipts to list all such calls$/,
    )
    expect(E.isRight(await loadSentCall(chat, 3)())).toBe(true)
  })

  it('made of nothing are made again', async () => {
    const chat = await tampered(
      await talk(),
      receiptAt(2, (receipt) => ({ ...receipt, position: -1 })),
    )
    expect(right(await loadSentCall(chat, 1)())).toMatchObject({ isSame: false, request: { messages: [] } })
  })

  it('are one where a summary was recorded again, before what was said', async () => {
    const chat = await talk()
    await said(chat, 'And then?')
    const covers = { first: 2, last: 4 }
    const options = { summarizer: 1 as const, keyed: true as const, covers, images: false }
    const before = await now(chat)
    const digest = digestIn(before, requestOfSummary(before, options))
    const origin = { usage: { input_tokens: 40 }, context: { position: 7, digest, options } }
    right(await chat.condense({ covers, summary: 'It was fixed.', method: 'model', origin })())
    const again = (await eventsOf(chat)).flatMap((event) => {
      if (event.type !== 'Condensed') return []
      const { view: _, ...data } = event.data
      return [{ type: event.type, data }]
    })
    right(await chat.append({ role: 'user', content: 'And then?' }, { rewindTo: 6, again, after: 8 })())
    await replied(chat, 'That is all.')
    const calls = []
    for await (const { number, position, kind } of modelCalls(chat)) calls.push([number, position, kind])
    expect(calls.slice(3)).toEqual([
      [4, 8, 'summary'],
      [5, 12, 'reply'],
    ])
    expect(right(await loadSentCall(chat, 5)())).toMatchObject({ position: 12, isSame: true })
    expect(await verified(chat)).toMatchObject({ receipts: 5, findings: [] })
  })

  it('are as many as there are', async () => {
    expect(left(await loadSentCall(await talk(), 4)())).toMatchObject({
      _tag: 'CallOutOfRange',
      call: 4,
      calls: 3,
    })
    const chat = storeOf().conversation('none')
    await said(chat, 'Hello.')
    expect(left(await loadSentCall(chat)())).toMatchObject({ _tag: 'CallOutOfRange', calls: 0 })
  })

  it('of a conversation that does not exist are an error', async () => {
    const chat = storeOf().conversation('nothing')
    expect(left(await loadSentCall(chat)())._tag).toBe('ConversationNotFound')
    expect(left(await verifyReceipts(chat)())._tag).toBe('ConversationNotFound')
  })
})
