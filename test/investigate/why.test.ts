import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cache, cost, replay, why } from '../../src/investigate/index.ts'
import { openStore } from '../../src/index.ts'
import { differences } from '../../src/investigate/differences.ts'
import { termsIn, wordsOf } from '../../src/investigate/terms.ts'
import { logOf } from '../../src/investigate/log.ts'
import { askedCallsIn } from '../../src/investigate/replies.ts'
import { effective } from '../../src/projections/effective.ts'
import { path } from '../../src/projections/path.ts'
import { full } from '../../src/projections/full.ts'
import { countsIn, inputOf } from '../../src/agent/models/usage.ts'
import { atEnd } from '../support/at-end.ts'
import { histories } from '../support/histories.ts'
import { runs, some } from '../support/runs.ts'
import { type Origin, present, sessionFile } from '../support/sessions.ts'
import { player } from '../support/investigate/player.ts'

const momentAt = (log: Parameters<typeof effective>[0], at: number) => {
  const entries = full(log, { at, abandoned: true })
  return {
    effective: effective(log, at),
    entries,
    entryAt: (where: number) => entries.find(({ position }) => position === where),
    tokensAt: () => 1,
  }
}

describe('why', () => {
  test('names the event that caused everything that a call was shown and the call before was not', async () => {
    const { chat, at, turn } = await player()
    await turn('One?')
    await turn('Two?')
    expect(await why(chat)).toMatchObject({
      call: 2,
      before: 1,
      differences: [
        { change: 'appeared', position: 1, role: 'assistant', because: 'message' },
        { change: 'appeared', position: 2, role: 'user', because: 'message' },
      ],
    })
    const { position: condensed } = await chat.condense({
      covers: { first: 0, last: 1 },
      summary: 'One was asked.',
      ...at(),
    })
    await turn('Three?')
    expect(
      (await why(chat)).differences.map(({ change, position, because, event }) => [
        change,
        position,
        because,
        event,
      ]),
    ).toEqual([
      ['disappeared', 0, 'condense', condensed],
      ['disappeared', 1, 'condense', condensed],
      ['appeared', condensed, 'condense', condensed],
      ['appeared', 3, 'message', 3],
      ['appeared', 5, 'message', 5],
    ])
    const { position: restored } = await chat.restore({ marker: condensed, ...at() })
    const { position: edited } = await chat.condense({
      covers: { first: 3, last: 3 },
      summary: [{ role: 'assistant', content: 'Cut.' }],
      method: 'client',
      ...at(),
    })
    await turn('Four?')
    const fourth = await why(chat)
    expect(fourth.hidden).toEqual([
      { by: edited, kind: 'condensed', messages: 1, tokens: expect.any(Number) },
    ])
    expect(
      new Set(
        fourth.differences.map(
          ({ change, because, event }) => `${change} ${because} ${because === 'message' ? '' : event}`,
        ),
      ),
    ).toEqual(
      new Set([
        `disappeared restore ${restored}`,
        `disappeared edit ${edited}`,
        `appeared restore ${restored}`,
        `appeared edit ${edited}`,
        'appeared message ',
      ]),
    )
    const { position: rewound } = await chat.rewind({ turns: 2, ...at() })
    await chat.configure({ system: 'Be brief.', ...at() })
    await turn('Five?')
    const fifth = await why(chat, { call: 5 })
    expect(fifth.configuration).toEqual({ event: rewound + 1, fields: ['system'] })
    expect(fifth.abandoned).toBe(4)
    expect(
      fifth.differences
        .filter(({ change }) => change === 'disappeared')
        .every(({ because, event }) => because === 'rewind' && event === rewound),
    ).toBe(true)
    await expect(why(chat, { call: 6 })).rejects.toMatchObject({ _tag: 'CallOutOfRange', calls: 5 })
    await expect(why(chat, { call: fifth.position })).rejects.toThrow(
      `name one from 1 to 5; the reply at ${fifth.position} is call 5`,
    )
    await expect(why(chat, { call: 0 })).rejects.toMatchObject({ _tag: 'InvalidInput' })
  })

  test('explains the last call on the current path, and says of an abandoned answer that it is one', async () => {
    const { chat, at, turn } = await player()
    await turn('One?')
    await turn('Two?')
    expect(await why(chat)).not.toHaveProperty('isAbandoned')
    await chat.rewind({ to: 1, ...at() })
    expect(await why(chat)).toMatchObject({ call: 1 })
    expect(await why(chat)).not.toHaveProperty('isAbandoned')
    expect(await why(chat, { call: 2 })).toMatchObject({ call: 2, isAbandoned: true })
    await chat.rewind({ to: 0, ...at() })
    expect(await why(chat)).toMatchObject({ call: 2, isAbandoned: true })
  })

  test('names of several rewinds the one that did it', async () => {
    const { chat, at, turn } = await player()
    await chat.configure({ system: 'Be brief.', ...at() })
    for (let n = 0; n < 2; n++) await turn()
    await chat.configure({ system: 'Be long.', ...at() })
    await turn()
    const { position: first } = await chat.rewind({ to: 4, ...at() })
    const { position: second } = await chat.rewind({ to: 2, ...at() })
    await turn()
    const { configuration, differences: all } = await why(chat)
    expect(configuration).toEqual({ event: first, fields: ['system'] })
    expect(
      all.flatMap(({ position, because, event }) => (because === 'rewind' ? [[position, event]] : [])),
    ).toEqual([
      [3, second],
      [4, second],
      [6, first],
    ])
  })

  test('names what the answer needs and only hidden messages hold, but nothing that was shown, and no plain word', async () => {
    const said = [
      'It is in src/parser.ts.',
      'Yes.',
      'The fix is in src/parser.ts, ticket QX-7781, as before; see docs/guide.md and total 120000.',
    ]
    const { chat, at, turn } = await player((n) => said[n] ?? '')
    await turn('Where is ticket QX-7781? The total before was 120000.')
    await turn('Is docs/guide.md right?')
    const { position } = await chat.condense({
      covers: { first: 0, last: 1 },
      summary: 'The ticket QX-7781 was found.',
      ...at(),
    })
    await turn('Fix it.')
    expect((await why(chat)).needed).toEqual([
      { term: 'src/parser.ts', hidden: [1], by: [position], inSummary: false },
      { term: '120000', hidden: [0], by: [position], inSummary: false },
      { term: 'QX-7781', hidden: [0], by: [position], inSummary: true },
    ])
  })

  describe('of a reply without a receipt', () => {
    const imported = async (file: string, origin: Origin = 'sample') => {
      const store = await openStore('memory:')
      atEnd(store.close)
      const { conversations } = await store.importSession(sessionFile(origin, file))
      return conversations.map(({ id }) => store.conversation(id))
    }

    test.each(
      present([
        ['sample', 'claude-code/session-with-compaction.jsonl'],
        ['sample', 'claude-code/microcompact.jsonl'],
        ['sample', 'pi/before-compaction.jsonl'],
        ['sample', 'tau-bench/tea-shop.json'],
        ['real', 'claude-code/session-with-compaction.jsonl'],
        ['real', 'claude-code/microcompact.jsonl'],
        ['real', 'claude-code/queued-prompts.jsonl'],
        ['real', 'repro/pi-label-after-navigation.jsonl'],
      ] as const),
    )(
      '%s %s: shows what the log has before each, with the tokens that the API counted',
      async (origin, file) => {
        const [chat] = await imported(file, origin)
        if (!chat) throw new Error('nothing was imported')
        const log = await logOf(chat)
        const calls = askedCallsIn(log)
        expect(calls.length).toBeGreaterThan(0)
        // Each takes the whole log: of many calls every third.
        const numbers = calls.keys().filter((n) => calls.length < 60 || n % 3 === 0)
        for (const n of some(numbers.toArray())) {
          const { name, position, origin: its } = calls[n] as (typeof calls)[0]
          const found = await why(chat, { call: name })
          const positions = effective(log, position - 1).items.map((item) => item.position)
          const input = inputOf(countsIn(its.usage))
          expect(found).toMatchObject({
            call: `p${position}`,
            position,
            at: position - 1,
            derived: { unrecorded: expect.arrayContaining(['tools']) as string[] },
            shown: positions.map((one) => ({ position: one })),
            repairs: [],
            ...(input > 0 && { tokens: input }),
            ...(n > 0 && { before: calls[n - 1]?.name }),
          })
          const sum = found.shown.reduce((all, { tokens }) => all + tokens, 0)
          expect(sum).toBeLessThanOrEqual(found.tokens)
        }
        const current = new Set(path(log))
        const last = calls.findLast(({ position }) => current.has(position))
        expect((await why(chat)).call).toBe(last?.name)
      },
    )

    test('is asked for by the position of any part of it, and its answer is all of them', async () => {
      const store = await openStore('memory:')
      atEnd(store.close)
      const chat = store.conversation('parts')
      const origin = { model: 'claude-opus-5-5', requestId: 'r1' }
      await chat.append([
        { role: 'user', content: 'The total in src/sum.ts is 120000.' },
        { role: 'assistant', content: 'I see.', origin: { model: 'claude-sonnet-5', requestId: 'r0' } },
        { role: 'user', content: 'Go on.' },
      ])
      await chat.condense({ covers: { first: 0, last: 1 }, summary: 'It was said.' })
      await chat.append([
        { role: 'assistant', content: 'I look.', origin },
        { role: 'assistant', content: 'It is 120000.', origin },
      ])
      const found = await why(chat, { call: 'p4' })
      expect(found).toMatchObject({
        before: 'p1',
        configuration: { fields: ['model'] },
        needed: [{ term: '120000', hidden: [0], by: [3] }],
      })
      expect(await why(chat, { call: 'p5' })).toEqual(found)
      expect(await why(chat)).toEqual(found)
      const { calls } = await replay(chat)
      expect(calls.map(({ needed }) => needed.map(({ term }) => term))).toEqual([[], ['120000']])
      expect(await why(chat, { call: 4 })).toEqual(found)
      for (const call of ['p2', 'p9', 2] as const)
        await expect(why(chat, { call })).rejects.toMatchObject({
          _tag: 'CallOutOfRange',
          call,
          calls: 0,
          message: expect.stringContaining('the last is p4') as string,
        })
      await expect(why(chat, { call: 'x' as never })).rejects.toMatchObject({ _tag: 'InvalidInput' })
    })

    test('of a model: what a program says in its place is no call, and costs nothing', async () => {
      const store = await openStore('memory:')
      atEnd(store.close)
      const chat = store.conversation('limited')
      const counted = (input: number) => ({ input_tokens: input, output_tokens: input })
      const origin = { model: 'claude-opus-5-5', usage: counted(10) }
      const synthetic = { model: '<synthetic>', usage: counted(0) }
      await chat.append([
        { role: 'user', content: 'Hello.' },
        { role: 'assistant', content: 'Hi.', origin },
        { role: 'user', content: 'Go on.' },
        { role: 'assistant', content: 'You have hit your limit.', origin: synthetic },
        { role: 'user', content: 'Now?' },
        { role: 'assistant', content: 'Yes.', origin },
      ])
      expect(await why(chat)).toMatchObject({ call: 'p5', before: 'p1' })
      await expect(why(chat, { call: 'p3' })).rejects.toMatchObject({ _tag: 'CallOutOfRange' })
      const { calls, total } = await replay(chat)
      expect(calls.map(({ position }) => position)).toEqual([1, 5])
      const { total: paid } = await cost(store)
      expect(total.usd).toBeCloseTo(paid.usd, 12)
      expect((await cache(chat)).uncounted).toBe(0)
    })

    test('has whatever usage it has: what is no count is none, and a compaction by the API counts what it left', async () => {
      const store = await openStore('memory:')
      atEnd(store.close)
      for (const [name, usage] of Object.entries({
        torn: { input_tokens: 5, output_tokens: 1, iterations: [null, 'x'] },
        vast: { input_tokens: 1e12, output_tokens: 1 },
      })) {
        const chat = store.conversation(name)
        const origin = { model: 'claude-opus-5-5', usage }
        for (let n = 0; n < 2; n++)
          await chat.append([
            { role: 'user', content: 'Hello.' },
            { role: 'assistant', content: 'Hi.', origin },
          ])
        expect((await why(chat)).tokens).toBe(usage.input_tokens)
        expect((await cache(chat)).input).toBe(2 * usage.input_tokens)
        expect((await replay(chat)).total.tokens).toBe(2 * usage.input_tokens)
      }
      const condensed = store.conversation('condensed')
      const usage = {
        input_tokens: 2,
        output_tokens: 1,
        iterations: [
          { type: 'compaction', input_tokens: 500, output_tokens: 9 },
          { type: 'message', input_tokens: 2, output_tokens: 1 },
        ],
      }
      await condensed.append([
        { role: 'user', content: 'Hello. '.repeat(100) },
        {
          role: 'assistant',
          content: [
            { type: 'compaction', content: 'Hello, 100 times.' },
            { type: 'text', text: 'Hi.' },
          ],
          origin: { model: 'claude-opus-5-5', usage },
        },
      ])
      const { tokens, shown } = await why(condensed)
      expect([tokens > 50, shown[0]?.tokens]).toEqual([true, tokens])
    })

    test('is what a call with a receipt after it is compared with', async () => {
      const { chat, turn } = await player()
      const origin = { model: 'claude-opus-5-5' }
      await chat.append([
        { role: 'user', content: 'Hello.' },
        { role: 'assistant', content: 'Hi.', origin },
      ])
      await turn()
      expect(await why(chat, { call: 1 })).toMatchObject({
        before: 'p1',
        differences: [{ position: 1 }, { position: 2 }],
      })
      expect(await why(chat, { call: 'p3' })).toEqual(await why(chat, { call: 1 }))
    })
  })

  test('takes paths, identifiers, ids and long numbers for terms', () => {
    expect([
      ...termsIn('See src/a.ts, e.g. readFile or max_tokens of 550e8400-e29b, 12,345.67 or 12 in it.'),
    ]).toEqual(['src/a.ts', 'readFile', 'max_tokens', '550e8400-e29b', '12,345.67'])
  })

  test('takes names of types, keys of tickets and ids of tool calls for terms', () => {
    const say = 'Does InvoicePrinter throw TypeError in ORD-7? An Invoice is HTML.'
    expect([...termsIn('Edit /home/dana/a.ts, see https://example.com/b/c')]).toContain('/home/dana/a.ts')
    expect([...termsIn(say)]).toEqual(['InvoicePrinter', 'TypeError', 'ORD-7'])
    const blocks = [
      { type: 'tool_use', id: 'toolu_01AbC', name: 'read', input: { path: 'src/a.ts' } },
      { type: 'tool_result', tool_use_id: 'toolu_02DeF', content: [{ type: 'text', text: 'It is 120000.' }] },
      { type: 'tool_result', tool_use_id: 'toolu_03GhI' },
    ]
    expect([...termsIn(wordsOf(blocks as never))].toSorted()).toEqual([
      '120000',
      'src/a.ts',
      'toolu_01AbC',
      'toolu_02DeF',
      'toolu_03GhI',
    ])
  })

  test('looks for no term further than a name is long, so that megabytes without a space take no time', () => {
    const terms = (text: string): readonly string[] => [...termsIn(`${text} src/a.ts`)]
    // Looking for the end of the line from each of these 200,000 characters would take minutes.
    for (const run of ['a', 'A', 'Aa', 'A-', '0f', 'a-', '-', 'a.', './', 'a_', '1.'])
      expect(terms(run.repeat(200_000 / run.length))).toContain('src/a.ts')
    expect(terms('0123456789abcdef'.repeat(1_000))).toEqual(['src/a.ts'])
  })

  test('takes what a tool was given for said, however much that is', () => {
    const input = { rows: Array.from({ length: 200_000 }, (_, n) => n) }
    expect(wordsOf([{ type: 'tool_use', id: 't', name: 'read', input }])).toContain('199999')
  })

  test('the differences turn what one call was shown into what the next was shown, each with an event after the former', () => {
    fc.assert(
      fc.property(histories(), fc.nat(), fc.nat(), (log, one, other) => {
        if (log.length === 0) return
        const [from, to] = [one % log.length, other % log.length].toSorted((a, b) => a - b) as [
          number,
          number,
        ]
        const [before, after] = [momentAt(log, from), momentAt(log, to)]
        const all = differences(log, before, after)
        const positions = new Set(before.effective.items.map(({ position }) => position))
        for (const { change, position } of all) {
          if (change === 'disappeared') expect(positions.delete(position)).toBe(true)
          else {
            expect(positions.has(position)).toBe(false)
            positions.add(position)
          }
        }
        expect(positions).toEqual(new Set(after.effective.items.map(({ position }) => position)))
        const allowed = {
          message: 'MessageAppended',
          condense: 'Condensed',
          edit: 'Condensed',
          truncate: 'Truncated',
          restore: 'Restored',
          rewind: 'Rewound',
        }
        for (const { because, event } of all) {
          expect(event).toBeGreaterThan(from)
          expect(event).toBeLessThanOrEqual(to)
          expect(log[event]?.type).toBe(allowed[because])
        }
      }),
      { numRuns: runs(240) },
    )
  })
})
