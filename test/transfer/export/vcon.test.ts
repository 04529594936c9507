import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ConversationEvent, Event } from '../../../src/events/events.ts'
import { openStore } from '../../../src/index.ts'
import { vcon } from '../../../src/transfer/formats/vcon/vcon.ts'
import type { Log } from '../../../src/projections/path.ts'
import { atEnd } from '../../support/at-end.ts'
import { histories, rawLogs } from '../../support/histories.ts'
import { importFile, logsOf, sample } from '../../support/import-log.ts'
import {
  assistant,
  condensed,
  configured,
  logOf,
  restored,
  rewound,
  text,
  thinking,
  toolResult,
  toolUse,
  truncated,
  user,
} from '../../support/log.ts'
import { runs } from '../../support/runs.ts'
import { wrongWithVcon } from '../../support/vcon-schema.ts'

interface Exported {
  readonly uuid: string
  readonly redacted?: { readonly uuid?: string; readonly type: string }
  readonly parties: readonly { readonly name?: string }[]
  readonly dialog: readonly { readonly body?: string; readonly parties?: readonly number[] }[]
  readonly analysis: readonly [
    { readonly dialog: readonly number[]; readonly body: { readonly session: Session } },
  ]
}
interface Session {
  readonly 'agent-meta': object
  readonly entries: readonly Entry[]
}
interface Entry {
  readonly id: string
  readonly type: string
  readonly 'parent-id'?: string
  readonly [name: string]: unknown
}

const forked: Event = {
  type: 'Forked',
  data: { from: { conversation: 'parent', position: 0, hash: '0'.repeat(64) } },
}

/** What is exported, once it was checked against the schema. */
const checked = (log: Log, withheld?: ReadonlyMap<number, string>) => {
  const document = JSON.parse([...vcon(log, 'c', withheld)].join('')) as Exported
  expect(wrongWithVcon(document)).toEqual([])
  const { session } = document.analysis[0].body
  return { document, session, entries: session.entries }
}

describe('a vCon', () => {
  it('has what was said as dialog, by whom, and everything as a trace', () => {
    const log = logOf(
      configured({ system: 'Be brief.', model: 'm' }),
      user('Why?'),
      assistant([thinking('sig', 'hm'), text('I look.'), toolUse('a', { path: 'x' })], {
        model: 'm-1',
        usage: { input_tokens: 5, cache_read_input_tokens: 2, output_tokens: 3 },
      }),
      user([toolResult('a', 'found')]),
      assistant('There.'),
    )
    const { document, entries } = checked(log)
    expect(document.dialog.map(({ body, parties }) => [body, parties])).toEqual([
      ['Why?', [0]],
      ['I look.', [1]],
      ['There.', [2]],
    ])
    expect(document.parties.map(({ name }) => name)).toEqual(['test', 'm-1', 'unknown'])
    expect(document.analysis[0].dialog).toEqual([0, 1, 2])
    expect(entries).toMatchObject([
      { id: '0', type: 'system-event', 'event-type': 'configured', data: { system: 'Be brief.' } },
      { id: '1', type: 'user', 'parent-id': '0' },
      { id: '2', type: 'reasoning', content: 'hm', 'parent-id': '1' },
      {
        id: '2.1',
        type: 'assistant',
        content: [text('I look.')],
        'model-id': 'm-1',
        'token-usage': { input: 7, cached: 2, output: 3 },
      },
      { id: '2.2', type: 'tool-call', name: 'run', input: { path: 'x' }, 'call-id': 'a' },
      { id: '3', type: 'tool-result', output: 'found', 'call-id': 'a', 'parent-id': '2.2' },
      { id: '4', type: 'assistant', 'parent-id': '3' },
    ])
  })

  it('says of a reply that only calls tools which model it was', () => {
    const { entries } = checked(logOf(user('Go.'), assistant([toolUse('a')], { model: 'm-1' })))
    expect(entries.slice(1)).toMatchObject([
      { type: 'assistant', 'model-id': 'm-1' },
      { type: 'tool-call', 'call-id': 'a' },
    ])
  })

  it('names the model of replies that only call tools as a party, and as a model of the session', () => {
    const log = logOf(
      user('Go.'),
      assistant([toolUse('a')], { model: 'm-1' }),
      user([toolResult('a')]),
      assistant([text('\n\n'), toolUse('b')], { model: 'm-2' }),
    )
    const { document, session } = checked(log)
    expect(document.parties.map(({ name }) => name)).toEqual(['test', 'm-1', 'm-2'])
    expect(document.dialog).toHaveLength(1)
    expect(document.analysis[0]).toMatchObject({ product: 'm-2', dialog: [0] })
    expect(session['agent-meta']).toMatchObject({ 'model-id': 'm-2', models: ['m-1', 'm-2'] })
  })

  it('does not say of a person whose session was imported that it was a program', () => {
    const imported = logOf(user('Go.')).map((event) => ({
      ...event,
      metadata: { ...event.metadata, actor: { kind: 'import', id: 'pi' } },
    }))
    expect(checked(imported).document.parties).toEqual([{ name: 'pi', validation: 'none' }])
  })

  it('has another UUID where a text was redacted', () => {
    const [one, other] = ['secret', '[redacted]'].map((said) => checked(logOf(user(said))).document.uuid)
    expect(one).not.toBe(other)
  })

  it('continues after a rewind where it led to, and has every marker', () => {
    const log = logOf(
      user('one'),
      assistant('two'),
      condensed(0, 1, 'Both.'),
      restored(2),
      truncated(0, 1),
      user('left'),
      rewound(1),
      user('right'),
    )
    const { entries } = checked(log)
    expect(entries.map((entry) => entry['event-type'] ?? entry.type)).toEqual([
      'user',
      'assistant',
      'condensed',
      'restored',
      'truncated',
      'user',
      'rewound',
      'user',
    ])
    expect(entries.at(-1)?.['parent-id']).toBe('1')
  })

  it('of a fork has what it was forked from', () => {
    const { entries } = checked(logOf(user('one'), forked, user('two')))
    expect(entries[1]).toMatchObject({
      'event-type': 'forked',
      data: { from: { conversation: 'parent', position: 0 } },
    })
  })

  it('has the hash of what is withheld and nothing else of it, at the same places', () => {
    const log = logOf(user('public'), assistant('SECRET', { model: 'HIDDEN' }), user('more'))
    const whole = checked(log).document
    const { document, entries } = checked(log, new Map([[1, 'f'.repeat(64)]]))
    expect(JSON.stringify(document)).not.toMatch(/SECRET|HIDDEN|event-1/)
    expect(entries[1]).toEqual({
      id: '1',
      type: 'system-event',
      'event-type': 'withheld',
      data: { hash: 'f'.repeat(64) },
      'parent-id': '0',
    })
    expect([document.dialog[1], document.parties[1]]).toEqual([{}, {}])
    expect(document.dialog[2]).toEqual(whole.dialog[2])
    expect(document.redacted).toEqual({ uuid: whole.uuid, type: 'events' })
    expect(document.uuid).not.toBe(whole.uuid)
  })

  it('says what was erased, when and by whom, and that no vCon has it any more', async () => {
    const store = await openStore('memory:')
    atEnd(store.close)
    const chat = store.conversation('c')
    await chat.append(['SECRET', 'two'].map((content) => ({ role: 'user', content })))
    await chat.erase({ positions: [0], by: 'ann', reason: 'request 17' })
    const log: ConversationEvent[] = []
    for await (const event of chat.events()) log.push(event)
    const { document, entries } = checked(log)
    expect(JSON.stringify(document)).not.toContain('SECRET')
    expect(document.redacted).toEqual({ type: 'erased' })
    expect(document.dialog.map(({ body }) => body)).toEqual(['[erased]', 'two'])
    expect(entries.map(({ erased }) => erased)).toEqual([log[2]?.metadata.time, undefined, undefined])
    expect(entries[2]).toMatchObject({
      'event-type': 'erased',
      data: { by: 'ann', reason: 'request 17', events: { ranges: [{ first: 0, last: 0 }] } },
    })
    // The vCon from which more is withheld is this one.
    const { redacted } = checked(log, new Map([[1, 'f'.repeat(64)]])).document
    expect(redacted).toEqual({ uuid: document.uuid, type: 'events' })
  })

  it.each(['claude-code.jsonl', 'pi.jsonl', 'roo.json', 'openai.json', 'anthropic.json'])(
    'of an imported session is valid: %s',
    (name) => {
      for (const log of logsOf(importFile(sample(name))).values())
        expect(checked(log).entries.length).toBeGreaterThan(0)
    },
  )

  it.each([
    ['that commands write', histories(), 60],
    ['of any events', rawLogs(), 60],
  ] as const)('of any log is valid, and its entries make a tree: logs %s', (_, logs, numRuns) => {
    fc.assert(
      fc.property(logs, fc.array(fc.nat(30), { maxLength: 4 }), (log, hidden) => {
        const { entries } = checked(log, new Map(hidden.map((position) => [position, '0'.repeat(64)])))
        const seen = new Set<string | undefined>([undefined])
        for (const entry of entries) {
          expect(seen.has(entry['parent-id'])).toBe(true)
          expect(seen.has(entry.id)).toBe(false)
          seen.add(entry.id)
        }
      }),
      { numRuns: runs(numRuns) },
    )
  })
})
