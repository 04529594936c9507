import { hash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { digestOf } from '../../src/agent/receipts/canonical.ts'
import type { Event } from '../../src/events/events.ts'
import { effective } from '../../src/projections/effective.ts'
import { render, type RenderOptions } from '../../src/projections/render/render.ts'
import {
  assistant,
  condensed,
  logOf,
  said,
  text,
  thinking,
  toolResult,
  toolUse,
  user,
} from '../support/log.ts'

// Fields of messages that only their API or program knows.

const hello = user('Hello.')
const settingsOf = (effort: unknown): object => ({ output_config: { effort } })
const sets = (effort: unknown): Event => ({
  type: 'MessageAppended',
  data: { ...said('system', []).data, ...settingsOf(effort) },
})
const system = (words: string, more: object = {}): Event => ({
  type: 'MessageAppended',
  data: { ...said('system', words).data, ...more },
})

/** What follows what in a request: roles, and efforts in place of messages that only set one. */
const orderOf = (events: readonly Event[], options: RenderOptions = { systemMessages: true }): string =>
  render(effective(logOf(...events)), options)
    .messages.map(({ role, content, output_config: settings }) =>
      content.length > 0 ? `${role}${settings ? ` (${settings.effort})` : ''}` : settings?.effort,
    )
    .join(', ')
const repairsOf = (events: readonly Event[], options: RenderOptions = { systemMessages: true }): unknown =>
  render(effective(logOf(...events)), options).repairs.flatMap(({ kind, position }) =>
    kind === 'tools-unknown' ? [] : [`${kind} ${position}`],
  )

describe('the fields of a message', () => {
  it('are in the effective history, with those of the messages of a summary', () => {
    const summary = [{ role: 'system' as const, content: [], ...settingsOf('low') }]
    const { items } = effective(logOf(hello, sets('high'), hello, condensed(0, 0, summary)))
    expect(items).toMatchObject([
      { kind: 'summary', messages: summary },
      { role: 'system', content: [], fields: { output_config: { effort: 'high' } } },
      { role: 'user' },
    ])
    expect(items[2]).not.toHaveProperty('fields')
  })

  it('are not sent but reported, unless the API has them', () => {
    const named = { name: 'Ada' }
    const event: Event = {
      type: 'MessageAppended',
      data: { ...said('user', 'Hello.').data, ...named, ...settingsOf('low') },
    }
    expect(render(effective(logOf(event)))).toMatchObject({
      messages: [{ role: 'user', content: [text('Hello.')] }],
      repairs: [
        { kind: 'field-dropped', position: 0, detail: 'name of a user message is not sent' },
        { kind: 'field-dropped', position: 0, detail: 'output_config of a user message is not sent' },
      ],
    })
  })
})

describe('a message that sets the effort', () => {
  it.each<readonly [string, readonly Event[], string, readonly string[]]>([
    [
      'stays where it is, after the user',
      [hello, sets('low'), assistant('Yes.')],
      'user, low, assistant',
      [],
    ],
    [
      'stays where it is, before the user',
      [hello, assistant('Yes.'), sets('low'), hello],
      'user, assistant, low, user',
      [],
    ],
    ['keeps two user messages apart', [hello, sets('low'), hello], 'user, low, user', []],
    ['stays one of two', [hello, sets('low'), sets('max')], 'user, low, max', []],
    ['stays after a system message', [hello, system('Be brief.'), sets('low')], 'user, system, low', []],
    [
      'waits for the results of a round',
      [
        hello,
        assistant([toolUse('a'), toolUse('b')]),
        sets('low'),
        user([toolResult('a')]),
        user([toolResult('b')]),
      ],
      'user, assistant, user, low',
      ['system-moved 2', 'roles-merged 4'],
    ],
    [
      'comes after the error result of a call that has none',
      [hello, assistant([toolUse('a')]), sets('low'), hello],
      'user, assistant, user, low, user',
      ['call-answered 1'],
    ],
    [
      'comes after what a late result joins',
      [hello, assistant([toolUse('a')]), sets('low'), assistant('Wait.'), user([toolResult('a')])],
      'user, assistant, user, low',
      ['roles-merged 3', 'system-moved 2'],
    ],
    ['does not come first', [sets('low'), hello], 'user, low', ['system-moved 0']],
    [
      'is left out after a reply that goes on',
      [hello, assistant('Wait', { stopReason: 'pause_turn' }), sets('low')],
      'user, assistant',
      ['message-dropped 2'],
    ],
    [
      'may have content',
      [hello, system('Be brief.', { output_config: { effort: 'low' } })],
      'user, system (low)',
      [],
    ],
    [
      'may have content that is shown as the user’s',
      [hello, assistant('Yes.'), system('Be brief.', { output_config: { effort: 'low' } })],
      'user, assistant, user, low',
      ['system-folded 2'],
    ],
    ['is left out without an effort', [hello, sets(null)], 'user', ['field-dropped 1', 'message-dropped 1']],
  ])('%s', (_, events, order, repairs) => {
    expect(orderOf(events)).toBe(order)
    expect(repairsOf(events)).toEqual(repairs)
  })

  it('is left out of a request without system messages, and reported', () => {
    expect(orderOf([hello, sets('low')], {})).toBe('user')
    expect(repairsOf([hello, sets('low')], {})).toEqual(['field-dropped 1', 'message-dropped 1'])
  })

  it('asks nothing of the model after a finished reply', () => {
    const { awaits } = render(effective(logOf(hello, assistant('Yes.'), sets('low'))), {
      systemMessages: true,
    })
    expect(awaits).toBe('user')
  })

  it('is covered by the digest of a receipt', () => {
    const { messages } = render(effective(logOf(hello, sets('low'))), { systemMessages: true })
    const json = `{"messages":[{"content":[{"text":"Hello.","type":"text"}],"role":"user"},{"content":[],"output_config":{"effort":"low"},"role":"system"}]}`
    expect(digestOf({ messages })).toBe(hash('sha256', json))
  })

  it('gets no cache breakpoint: the message before it does', () => {
    const request = render(effective(logOf(hello, sets('low'))), { systemMessages: true, cache: '5m' })
    expect(request.messages).toEqual([
      { role: 'user', content: [{ ...text('Hello.'), cache_control: { type: 'ephemeral' } }] },
      { role: 'system', content: [], output_config: { effort: 'low' } },
    ])
  })

  it('ends the thinking of replies to requests of renderer 1, which left it out', () => {
    const reply = (renderer: number): Event =>
      assistant([thinking('s'), text('Yes.')], {
        context: { position: 1, digest: '0'.repeat(64), options: { renderer, systemMessages: true } },
      })
    expect(repairsOf([hello, sets('low'), reply(1)])).toEqual(['thinking-dropped 2'])
    expect(repairsOf([hello, sets('low'), reply(2)])).toEqual([])
  })
})
