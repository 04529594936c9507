import { describe, expect, it } from 'vitest'
import { isMarker } from '../../../src/events/event-traits.ts'
import type { Event } from '../../../src/events/events.ts'
import type { ImportAction } from '../../../src/transfer/formats/plan.ts'
import { planEvents, type PlannedEvent, planEachEvent } from '../../../src/transfer/formats/plan-events.ts'
import { needsView, viewOf } from '../../../src/projections/layout.ts'
import { effective } from '../../../src/projections/effective.ts'
import { left, right } from '../../support/either.ts'
import type { Log } from '../../../src/projections/path.ts'
import { importPlan, logOf } from '../../support/import-log.ts'
import {
  condensed,
  configured,
  logOf as written,
  restored,
  rewound,
  truncated,
  user,
} from '../../support/log.ts'

const says = (ref: string): ImportAction => ({
  type: 'message',
  ref,
  message: { role: 'user', content: ref },
})
const hides = (ref: string, first: string, last: string): ImportAction => ({
  type: 'truncate',
  ref,
  covers: { first, last },
})
const plan = (
  ...actions: readonly ImportAction[]
): { readonly id: string; readonly actions: readonly ImportAction[] } => ({
  id: 'c',
  actions,
})
const events = (planned: readonly PlannedEvent[]): readonly Event[] => planned.map(({ event }) => event)

describe('planning events', () => {
  it('each action is a command of its own, named after the format and the entry', () => {
    const planned = right(
      planEvents(plan(says('a'), { ...says('b'), time: '2026-01-01T00:00:00.000Z' }), 'pi', []),
    )
    expect(planned.map(({ commandId, time }) => [commandId, time])).toEqual([
      ['import:pi:a', undefined],
      ['import:pi:b', '2026-01-01T00:00:00.000Z'],
    ])
  })

  it('what follows an import lands at the head, even if the conversation was configured since', () => {
    const first = importPlan(plan(says('a'), says('b')), 'pi')
    const log = [...logOf('c', first), ...written(user('x'), user('y'), configured({ system: 'S' })).slice(2)]
    const planned = right(planEvents(plan(says('a'), says('b'), says('d')), 'pi', log))
    expect(events(planned)).toMatchObject([{ type: 'MessageAppended', data: { content: [{ text: 'd' }] } }])
  })

  it('new entries do not follow what others hid or restored since, unless that is rewound', () => {
    const first = logOf('c', importPlan(plan(says('a'), says('b'), hides('t', 'a', 'a'), says('c')), 'pi'))
    const all = plan(says('a'), says('b'), hides('t', 'a', 'a'), says('c'), says('d'))
    const before = [user('w'), user('x'), user('y'), user('z')]
    for (const own of [truncated(2, 3), condensed(2, 3), restored(2)]) {
      const log = [...first, ...written(...before, own).slice(4)]
      const refused = { _tag: 'ImportDiverged', conversation: 'c', ref: 'd' }
      expect(left(planEvents(all, 'pi', log))).toMatchObject(refused)
      expect(left(planEvents(all, 'pi', log)).message).toContain(
        'rewind the conversation to 3 (fork it first',
      )
      const nothingNew = plan(...all.actions.slice(0, -1))
      expect(right(planEvents(nothingNew, 'pi', log))).toEqual([])
      const back = [...first, ...written(...before, own, rewound(3)).slice(4)]
      expect(right(planEvents(all, 'pi', back))).toHaveLength(1)
    }
  })

  it('a message that the file has completed since does not rewind what others added', () => {
    const reply = (...texts: readonly string[]): ImportAction => ({
      type: 'message',
      ref: 'b',
      message: { role: 'assistant', content: texts.map((text) => ({ type: 'text', text })) },
    })
    const first = logOf('c', importPlan(plan(says('a'), reply('one')), 'pi'))
    const whole = plan(says('a'), reply('one', 'two'))
    for (const own of [user('mine'), truncated(0, 1)]) {
      const log = [...first, ...written(user('x'), user('y'), own).slice(2)]
      expect(left(planEvents(whole, 'pi', log))).toMatchObject({ _tag: 'ImportDiverged', ref: 'b' })
    }
    expect(right(planEvents(whole, 'pi', first))).toHaveLength(2)
  })

  it('a slice that is hidden already stands for the marker that hides it', () => {
    const actions = [says('a'), says('b'), says('c'), hides('t', 'a', 'b'), hides('u', 'b', 'c'), says('d')]
    const log = logOf('c', importPlan(plan(...actions), 'roo'))
    expect(log[4]).toMatchObject({ data: { covers: { first: 3, last: 2 }, messagesHidden: 3 } })
    expect(effective(log).items.map(({ position }) => position)).toEqual([4, 5])
  })

  it('what was restored since is no longer hidden', () => {
    const [first, second] = [plan(says('a'), says('b')), plan(says('a'), says('b'), hides('t', 'a', 'b'))]
    const since = written(user('x'), user('y'), truncated(0, 1), restored(2)).slice(2)
    const log = [...logOf('c', importPlan(first, 'pi')), ...since]
    expect(events(right(planEvents(second, 'pi', log)))).toMatchObject([
      { data: { covers: { first: 0, last: 1 } } },
    ])
  })

  it('an unsafe cut is recorded as it happened', () => {
    const call = { type: 'tool_use' as const, id: 'x', name: 'run', input: {} }
    const asked: ImportAction = { type: 'message', ref: 'b', message: { role: 'assistant', content: [call] } }
    expect(
      events(right(planEvents(plan(says('a'), asked, hides('t', 'a', 'b')), 'pi', []))).at(-1),
    ).toMatchObject({
      type: 'Truncated',
      data: { covers: { first: 0, last: 1 } },
    })
  })

  it('a marker carries its view exactly when one is due', () => {
    const actions = Array.from({ length: 60 }, (_, n) => says(`m${n}`)).flatMap((action, n) =>
      n % 3 === 2 ? [action, hides(`t${n}`, `m${n - 1}`, action.ref)] : [action],
    )
    const log = logOf(
      'c',
      importPlan(plan(...actions), 'pi', importPlan(plan(...actions.slice(0, 43)), 'pi')),
    )
    let sinceView = 0
    const due: unknown[] = []
    const carried: unknown[] = []
    for (const event of log) {
      const marker = isMarker(event) ? event : undefined
      const view = viewOf(effective(log, event.position).layout)
      if (marker) due.push(needsView(view, sinceView) ? view : undefined)
      if (marker) carried.push(marker.data.view)
      sinceView = marker?.data.view ? 0 : sinceView + 1
    }
    expect(carried).toEqual(due)
    expect(carried).toHaveLength(20)
    expect(carried).toContain(undefined)
  })

  it('a marker after rewinds stands for what is shown there', () => {
    const actions = Array.from({ length: 12 }, (_, n): readonly ImportAction[] => [
      says(`a${n}`),
      says(`b${n}`),
      says(`c${n}`),
      { type: 'rewind', ref: `r${n}`, to: `a${n}` },
      says(`d${n}`),
      ...(n % 3 === 2 ? [hides(`t${n}`, `a${n}`, `d${n}`)] : []),
    ])
    const log = logOf('c', importPlan(plan(...actions.flat()), 'pi'))
    const carried = log.filter(isMarker).filter(({ data }) => data.view)
    for (const { data, position } of carried)
      expect(data.view).toEqual(viewOf(effective(log, position).layout))
    expect(carried.length).toBeGreaterThan(0)
    expect(log.filter(isMarker).map(({ data }) => data.covers)).toEqual(
      [2, 5, 8, 11].map((n) => {
        const [first, last] = [`a${n}`, `d${n}`].map((ref) =>
          log.findIndex(({ metadata }) => metadata.commandId === `import:pi:${ref}`),
        )
        return { first, last }
      }),
    )
  })

  it('gives way to other work after every action, and every 500 events that are there', () => {
    const actions = Array.from({ length: 2_000 }, (_, n) => says(`m${n}`))
    const slicesOf = (log: Log): number => [...planEachEvent(plan(...actions), 'pi', log)].length
    expect(slicesOf([])).toBe(2_000)
    expect(slicesOf(logOf('c', importPlan(plan(...actions), 'pi')))).toBe(2_004)
  })

  it('a marker gives way at every message that it hides', () => {
    const actions = Array.from({ length: 2_000 }, (_, n) => says(`m${n}`))
    const marker = hides('t', 'm0', 'm1999')
    expect([...planEachEvent(plan(...actions, marker), 'pi', [])].length).toBeGreaterThanOrEqual(
      2_000 + 2_000 + 1,
    )
  })

  it('a rewind does not look at all that is there again', () => {
    let looks = 0
    const there = Array.from({ length: 100 }, (_, n) => says(`m${n}`))
    const log = logOf('c', importPlan(plan(...there), 'pi')).map((event) => ({
      ...event,
      get type() {
        looks++
        return event.type
      },
    })) as Log
    const more = Array.from({ length: 100 }, (_, n): readonly ImportAction[] => [
      says(`x${n}`),
      { type: 'rewind', ref: `r${n}`, to: 'm99' },
    ])
    right(planEvents(plan(...there, ...more.flat()), 'pi', log))
    expect(looks).toBeLessThan(10 * log.length)
  })

  it('a slice that was rewound away since is refused, by name', () => {
    const first = importPlan(plan(says('a'), says('b')), 'pi')
    const [, , gone] = written(user('x'), user('y'), rewound(-1))
    const log = gone ? [...logOf('c', first), gone] : []
    expect(left(planEvents(plan(says('a'), says('b'), hides('t', 'a', 'b')), 'pi', log))).toMatchObject({
      _tag: 'ImportDiverged',
      conversation: 'c',
      ref: 't',
    })
  })

  it('what the file now has before what the log holds is put there, and the rest is taken again', () => {
    const first = importPlan(plan(says('a'), says('c'), says('d')), 'pi')
    const whole = plan(says('a'), says('b'), says('c'), says('d'))
    const second = importPlan(whole, 'pi', first)
    const log = logOf('c', second)
    expect(effective(log).items.map((item) => 'content' in item && item.content[0]?.['text'])).toEqual([
      'a',
      'b',
      'c',
      'd',
    ])
    expect(log[3]).toMatchObject({ type: 'Rewound', data: { to: 0 } })
    expect(importPlan(whole, 'pi', second)).toEqual(second)
    const more = importPlan(plan(...whole.actions, says('e')), 'pi', second)
    expect(more.slice(second.length)).toHaveLength(1)
  })

  it('what an older version read as a rewind is taken again, too', () => {
    const back: ImportAction = { type: 'rewind', ref: 'c:rewind', to: 'a' }
    const earlier = importPlan(plan(says('a'), says('b'), back, says('c')), 'pi')
    const all = plan(says('a'), says('b'), says('x'), says('c'))
    const both = importPlan(all, 'pi', earlier)
    expect(effective(logOf('c', both)).items).toMatchObject(
      ['a', 'b', 'x', 'c'].map((text) => ({ content: [{ text }] })),
    )
    expect(importPlan(all, 'pi', both)).toEqual(both)
  })

  it('what was said by others since is never rewound away', () => {
    const first = importPlan(plan(says('a'), says('c')), 'pi')
    const whole = plan(says('a'), says('b'), says('c'))
    const others = written(user('x'), user('y'), user('z')).slice(2)
    expect(left(planEvents(whole, 'pi', [...logOf('c', first), ...others]))).toMatchObject({
      _tag: 'ImportDiverged',
      ref: 'b',
    })
    const gone = plan(says('a'), says('b'), says('e'))
    expect(left(planEvents(gone, 'pi', logOf('c', first)))).toMatchObject({
      _tag: 'ImportDiverged',
      ref: 'b',
    })
  })
})
