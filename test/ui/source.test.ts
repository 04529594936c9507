import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sseReader } from '../../src/server/client/sse.ts'
import { toThrowable, problemOf } from '../../src/ui/source/source.ts'

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
        const take = sseReader()
        const places = [0, ...cuts.toSorted((one, other) => one - other), stream.length]
        const told = places.flatMap((place, index) => take(stream.slice(place, places[index + 1] ?? place)))
        expect(told).toEqual([
          { id: '3', event: 'MessageAppended', data: { position: 3 } },
          { id: undefined, event: 'caught-up', data: { position: 3 } },
          { id: '4', event: 'message', data: undefined },
          { id: '5', event: 'message', data: [1, 2] },
        ])
      }),
    )
  })

  test('that is cut off in a message has said only those before it', () => {
    expect(sseReader()('id: 9\n\nid: 10')).toEqual([{ id: '9', event: 'message', data: undefined }])
  })
})

test('any error is a problem that can be shown', () => {
  const problem = { title: 'Stale context', detail: 'Look again.', status: 412, tag: 'StaleContext' }
  expect(problemOf(toThrowable(problem))).toMatchObject(problem)
  expect(problemOf(new Error('broken'))).toMatchObject({ detail: 'broken', status: 0 })
  expect(problemOf('odd')).toMatchObject({ detail: 'odd' })
})
