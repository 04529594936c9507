import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { NewMessage } from '../../../src/commands/command.ts'
import { sessionReader } from '../../../src/transfer/formats/parse-session.ts'
import { memoryShelf } from '../../../src/transfer/formats/shelf.ts'
import { createImportNotes } from '../../../src/transfer/formats/source.ts'
import { actionsOn } from '../../../src/transfer/formats/actions.ts'
import { fileShelf } from '../../../src/transfer/shelf.ts'
import { jsonl } from '../../support/import-log.ts'
import { runs } from '../../support/runs.ts'

const anyValue = fc.oneof(
  fc.json().map((text): unknown => JSON.parse(text)),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.nat(600_000).map((length) => 'é'.repeat(length)),
)

describe('a shelf', () => {
  it('gives back what was put on it, in any order, while more is put on it', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(anyValue, fc.nat()), { maxLength: 12 }),
        fc.constantFrom(-1, 2_000, undefined),
        (puts, inMemory) => {
          const shelf = fileShelf(inMemory)
          try {
            const places: number[] = []
            for (const [value, pick] of puts) {
              places.push(shelf.put(value))
              const index = pick % places.length
              expect(shelf.get(places[index] ?? -1)).toEqual(puts[index]?.[0])
            }
            for (const [index, place] of places.entries()) expect(shelf.get(place)).toEqual(puts[index]?.[0])
          } finally {
            shelf.close()
          }
        },
      ),
      { numRuns: runs(60) },
    )
  })
})

describe('the actions of a session', () => {
  it('have the blocks of all lines of a message, in order, and what is newest of its origin', () => {
    const actions = actionsOn(memoryShelf())
    const text = (said: string): NewMessage['content'] & object => [{ type: 'text', text: said }]
    const first = { role: 'assistant', content: text('a'), origin: { model: 'm', stopReason: null } } as const
    actions.add({ type: 'message', ref: 'one', message: first })
    actions.extend(0, { content: text('b'), origin: { stopReason: 'end_turn' } })
    actions.add({ type: 'rewind', ref: 'two', to: null })
    actions.extend(0, { content: text('c'), origin: { requestId: 'r' } })
    expect([...actions.list()]).toEqual([
      {
        type: 'message',
        ref: 'one',
        message: {
          role: 'assistant',
          content: [...text('a'), ...text('b'), ...text('c')],
          origin: { model: 'm', stopReason: 'end_turn', requestId: 'r' },
        },
      },
      { type: 'rewind', ref: 'two', to: null },
    ])
  })

  it('take less than 600 bytes of memory an entry, whatever is said in them', () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const shelf = fileShelf(0)
    const reader = sessionReader({ file: 'f', format: 'claude-code' }, createImportNotes(), shelf)
    const entries = 10_000
    const heap = (): number => {
      collect()
      return process.memoryUsage().heapUsed
    }
    const before = heap()
    for (let n = 0; n < entries; n++) reader.read({ line: n + 1, text: lineOf(n) })
    const held = (heap() - before) / entries
    expect(reader.finish()).toMatchObject({ right: { conversations: [{ actions: { length: entries } }] } })
    shelf.close()
    expect(held).toBeLessThan(600)
  })
})

/** A prompt of 150 characters or a reply with what its API says of it. */
const lineOf = (n: number): string => {
  const isReply = n % 2 === 1
  const usage = { input_tokens: n, output_tokens: 5, cache_read_input_tokens: n, service_tier: 'standard' }
  const said = {
    role: isReply ? 'assistant' : 'user',
    content: [{ type: 'text', text: `${n} `.padEnd(150, 'x') }],
  }
  return jsonl({
    uuid: `11111111-1111-4111-8111-${String(n).padStart(12, '0')}`,
    parentUuid: n === 0 ? null : `11111111-1111-4111-8111-${String(n - 1).padStart(12, '0')}`,
    sessionId: 's',
    type: said.role,
    timestamp: '2026-01-01T00:00:00.000Z',
    ...(isReply && { requestId: `req_${String(n).padStart(20, '0')}` }),
    message: isReply
      ? { ...said, id: `msg_${String(n).padStart(20, '0')}`, model: 'claude-opus-5-5', usage }
      : said,
  })
}
