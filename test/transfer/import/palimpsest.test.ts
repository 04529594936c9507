import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encode, hashOf, type StoredEvent } from '../../../src/events/codec.ts'
import { palimpsestLine, palimpsestLines } from '../../../src/transfer/formats/write-palimpsest.ts'
import { parseSession } from '../../../src/transfer/formats/parse-session.ts'
import type { PlacedEvent } from '../../../src/conversation/reading/stored-events.ts'
import { isStored, type StoredConversation, type StoredImport } from '../../../src/transfer/formats/plan.ts'
import { left, right } from '../../support/either.ts'
import { histories } from '../../support/histories.ts'
import { sample } from '../../support/import-log.ts'
import { runs } from '../../support/runs.ts'

const parse = (text: string, skipBadLines = false): StoredImport => {
  const stored = right(parseSession({ text, file: 'f', skipBadLines }))
  if (!isStored(stored)) throw new Error(`the format is ${stored.format}`)
  return stored
}
const placed = ({ id, events }: StoredConversation): readonly PlacedEvent[] =>
  Array.from(events, (event, revision) => ({ ...event, conversation: id, revision }))
/** What a text holds, with the events in memory. */
const storedIn = (text: string): readonly unknown[] =>
  parse(text).conversations.map(({ id, events }) => ({ id, events: [...events] }))
const textOf = (conversations: readonly StoredConversation[]): string =>
  conversations
    .flatMap(placed)
    .map((event) => `${palimpsestLine(event)}\n`)
    .join('')

describe('Palimpsest JSONL', () => {
  it('the sample comes back as the same bytes', () => {
    const { text } = sample('palimpsest.jsonl')
    expect(textOf(parse(text).conversations)).toBe(text)
  })

  it('any log comes back as the same stored events', () => {
    fc.assert(
      fc.property(histories(25), (log) => {
        // Every command may have been refused.
        fc.pre(log.length > 0)
        const events = log.reduce<readonly StoredEvent[]>((stored, event) => {
          const last = stored.at(-1)
          const prev = last ? hashOf(last) : null
          return [...stored, right(encode(event, event.id, { ...event.metadata, prev }))]
        }, [])
        expect(storedIn(textOf([{ id: 'c', events }]))).toEqual([{ id: 'c', events }])
      }),
      { numRuns: runs(300) },
    )
  })

  it('keys that JavaScript treats specially, and lone surrogates, survive', () => {
    const data = '{"role":"user","content":[{"type":"x","__proto__":{"a":1},"1":2,"s":"\\ud800"}]}'
    const metadata =
      '{"schema":1,"time":"2026-01-01T00:00:00.000Z","actor":{"kind":"t"},"commandId":"k","prev":null}'
    const stored = JSON.stringify(JSON.parse(data))
    const event = { id: 'e', type: 'MessageAppended', data: stored, metadata }
    expect(storedIn(textOf([{ id: 'c', events: [event] }]))).toEqual([{ id: 'c', events: [event] }])
  })

  it('is written line by line', async () => {
    const { text } = sample('palimpsest.jsonl')
    let written = ''
    for await (const line of palimpsestLines(parse(text).conversations.flatMap(placed))) written += line
    expect(written).toBe(text)
  })

  it('a fork comes after its parent, wherever it stands in the file', () => {
    const lines = sample('palimpsest.jsonl').text.trimEnd().split('\n')
    const { conversations } = parse([...lines.slice(-2), ...lines.slice(0, -2)].join('\n'))
    expect(conversations.map(({ id }) => id)).toEqual(['greenhouse', 'greenhouse-cucumbers'])
  })

  it.each([
    ['an altered event', (lines: readonly string[]) => lines.with(4, String(lines[4]).replace('dry', 'wet'))],
    ['a dropped event', (lines: readonly string[]) => lines.toSpliced(4, 1)],
    [
      'two swapped events',
      (lines: readonly string[]) => lines.with(4, String(lines[5])).with(5, String(lines[4])),
    ],
    [
      'an unknown event type',
      (lines: readonly string[]) => lines.with(5, String(lines[5]).replace('"MessageAppended"', '"Guessed"')),
    ],
    [
      'a fork of another history',
      (lines: readonly string[]) => lines.with(19, String(lines[19]).replaceAll(/"prev":"./g, '"prev":"0')),
    ],
    [
      'a fork that names another hash',
      (lines: readonly string[]) =>
        lines.slice(0, 20).with(19, String(lines[19]).replaceAll(/[0-9a-f]{64}/g, '0'.repeat(64))),
    ],
  ])('%s is a bad line', (_, change) => {
    const lines = change(sample('palimpsest.jsonl').text.trimEnd().split('\n'))
    const text = lines.join('\n')
    expect(left(parseSession({ text, file: 'f' }))).toMatchObject({ _tag: 'BadLine', file: 'f' })
    const kept = parse(text, true)
    expect(kept.conversations.flatMap(({ events }) => [...events]).length).toBeLessThan(lines.length)
  })
})
