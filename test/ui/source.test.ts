import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { eventReader } from '../../src/ui/source/lines.ts'
import { failed, problemOf } from '../../src/ui/source/source.ts'

const stream = [
  'retry: 2000\n\n',
  'event: MessageAppended\nid: 3\ndata: {"position":3}\n\n',
  ':\n\n',
  'event: caught-up\ndata: {"position":3}\n\n',
  'id: 4\n\n',
  'data: [1,\ndata: 2]\nid: 5\n\n',
  'event: Rewound\nid: 6\ndata: {"position":',
].join('')

describe('an event stream', () => {
  test('is the same messages however it is cut into pieces', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(stream.length), { maxLength: 12 }), (cuts) => {
        const reader = eventReader()
        const places = [0, ...cuts.toSorted((one, other) => one - other), stream.length]
        const told = places.flatMap((place, index) =>
          reader.take(stream.slice(place, places[index + 1] ?? place)),
        )
        expect(told).toEqual([
          { id: '3', event: 'MessageAppended', data: { position: 3 } },
          { id: undefined, event: 'caught-up', data: { position: 3 } },
          { id: '5', event: 'message', data: [1, 2] },
        ])
        expect(reader.lastId()).toBe('5')
      }),
    )
  })

  test('that says only where it is continues there', () => {
    const reader = eventReader()
    expect(reader.take('id: 9\n\nid: 10')).toEqual([])
    expect(reader.lastId()).toBe('9')
  })
})

test('any error is a problem that can be shown', () => {
  const problem = { title: 'Stale context', detail: 'Look again.', status: 412, tag: 'StaleContext' }
  expect(problemOf(failed(problem))).toMatchObject(problem)
  expect(problemOf(new Error('broken'))).toMatchObject({ detail: 'broken', status: 0 })
  expect(problemOf('odd')).toMatchObject({ detail: 'odd' })
})
