import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { isBlock } from '../../src/events/blocks.ts'
import { type Effective, effective } from '../../src/projections/effective.ts'
import { type ToolCallPair, toolCalls } from '../../src/projections/pairs.ts'
import type { Log } from '../../src/projections/path.ts'
import { render } from '../../src/projections/render/render.ts'
import { apply, histories, rawLogs } from '../support/histories.ts'
import { casesOf } from '../support/history-predicates.ts'
import { moments } from '../support/model.ts'
import { violations } from '../support/predicates.ts'
import { runs } from '../support/runs.ts'

/** The log with a receipt in some replies: what they answer was sent so many events ago. */
const withReceipts = (log: Log, ago: readonly number[]): Log =>
  log.map((event) => {
    const { position, type } = event
    const events = ago[position % ago.length] ?? 0
    if (type !== 'MessageAppended' || event.data.role !== 'assistant' || events === 0) return event
    const context = { position: Math.max(0, position - events), digest: '', options: {} }
    return { ...event, data: { ...event.data, origin: { ...event.data.origin, context } } }
  })

const logs = fc
  .tuple(fc.oneof(histories(), rawLogs()), fc.array(fc.nat(4), { minLength: 1, maxLength: 9 }))
  .map(([log, ago]) => withReceipts(log, ago))

/** How many calls of each message got their results in its request, and how many results of each their calls: what is left of the stored ones. */
const pairedInRequest = (history: Effective): readonly unknown[] => {
  const { repairs } = render(history)
  const reported = (at: number, kind: string): number =>
    repairs.filter((repair) => repair.position === at && repair.kind === kind).length
  return history.items.map((item) => {
    const { position } = item
    const [role, content] = item.kind === 'message' ? [item.role, item.content] : []
    const stored = (type: 'tool_use' | 'tool_result', by: string): number =>
      role === by ? (content?.filter((block) => isBlock(block, type)).length ?? 0) : 0
    const calls = stored('tool_use', 'assistant')
    const results = stored('tool_result', 'user')
    return item.kind !== 'message'
      ? []
      : [
          position,
          calls - reported(position, 'call-answered'),
          results - reported(position, 'result-dropped'),
        ]
  })
}

const pairedInConversation = (history: Effective): readonly unknown[] => {
  const all = toolCalls(history).filter(({ result }) => result !== undefined)
  return history.items.map((item) => {
    if (item.kind !== 'message') return []
    const has = (field: 'id' | 'tool_use_id', type: string, id: string): boolean =>
      item.content.some((block) => block.type === type && block[field] === id)
    const count = (isOf: (call: ToolCallPair) => boolean): number => all.filter(isOf).length
    return [
      item.position,
      count((call) => call.use === item.position && has('id', 'tool_use', call.id) && !call.isLate),
      count(({ result, id }) => result === item.position && has('tool_use_id', 'tool_result', id)),
    ]
  })
}

/** The part of a history that a request is made of: from its newest compaction on. */
const sinceCompaction = (history: Effective): Effective => {
  const applied = render(history).repairs.findLast(({ detail }) => detail.endsWith('are left out'))
  const from = history.items.findIndex(({ position }) => position === applied?.position)
  return { ...history, items: history.items.slice(Math.max(0, from)) }
}

test('every request answers the calls that have results in the conversation, with those results, and no others', () => {
  fc.assert(
    fc.property(logs, (log) => {
      for (const { position } of log) {
        const history = sinceCompaction(effective(log, position))
        expect(pairedInConversation(history), `at ${position}`).toEqual(pairedInRequest(history))
      }
    }),
    { numRuns: runs(70) },
  )
})

test('every slice that may be hidden leaves a valid request, in which no call lost its result', () => {
  fc.assert(
    fc.property(histories(30), fc.nat(), fc.nat(), fc.boolean(), (log, from, length, isShown) => {
      const before = effective(log)
      const { items } = before
      const start = from % Math.max(1, items.length)
      const end = start + (length % Math.max(1, items.length - start))
      const [first, last] = [items[start]?.position ?? 0, items[end]?.position ?? 0]
      const covers = { first, last }
      const after = apply(
        log,
        isShown ? { type: 'condense', covers, summary: 'S.' } : { type: 'truncate', covers },
      )
      if (after === log) return
      expect(casesOf(after, moments(after)).slice(-1).flatMap(violations)).toEqual([])
      const hidden = new Set(items.slice(start, end + 1).map(({ position }) => position))
      const left = toolCalls(effective(after))
      for (const call of toolCalls(before))
        if (!hidden.has(call.use) && call.result !== undefined && !(call.isLate && hidden.has(call.result)))
          expect(left).toContainEqual(call)
    }),
    { numRuns: runs(150) },
  )
})
