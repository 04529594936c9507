import { describe, expect, it } from 'vitest'
import { diff } from '../../src/projections/diff.ts'
import { full } from '../../src/projections/full.ts'
import { timeline } from '../../src/projections/timeline.ts'
import { assistant, condensed, logOf, restored, rewound, truncated, user } from '../support/log.ts'
import { shownAs } from '../support/specification.ts'

// The worked example of the design, word for word.
const log = logOf(
  user('m0'),
  assistant('m1'),
  user('m2'),
  assistant('m3'),
  user('m4'),
  assistant('m5'),
  condensed(1, 3),
  user('m7'),
  truncated(6, 4, 4),
  condensed(8, 5, 'S9', 5),
  rewound(7),
  rewound(5),
  rewound(9),
  restored(9),
  restored(8),
)

const entriesAt = (at: number, abandoned = false): readonly string[] =>
  full(log, { at, abandoned }).map(
    ({ position, status, by }) => `${position} ${status}${by === undefined ? '' : ` by ${by}`}`,
  )

describe('the worked example', () => {
  it.each([
    [-1, ''],
    [0, '0'],
    [1, '0 1'],
    [5, '0 1 2 3 4 5'],
    [6, '0 S6 4 5'],
    [7, '0 S6 4 5 7'],
    [8, '0 T8 5 7'],
    [9, '0 S9 7'],
    [10, '0 S6 4 5 7'],
    [11, '0 1 2 3 4 5'],
    [12, '0 S9 7'],
    [13, '0 T8 5 7'],
    [14, '0 S6 4 5 7'],
  ])('shows after position %i: [%s]', (at, items) => {
    expect(shownAs(log, at)).toBe(items)
  })

  it('has this full history at 12', () => {
    expect(entriesAt(12)).toEqual([
      '0 active',
      '1 condensed by 6',
      '2 condensed by 6',
      '3 condensed by 6',
      '4 truncated by 8',
      '5 condensed by 9',
      '6 truncated by 8',
      '7 active',
      '8 condensed by 9',
      '9 active',
    ])
  })

  it('has restored markers in the full history at 14', () => {
    expect(entriesAt(14).slice(6)).toEqual(['6 active', '7 active', '8 restored by 14', '9 restored by 13'])
  })

  it('has at 11 what was rewound away as abandoned, by the rewind that left it', () => {
    expect(entriesAt(11)).toHaveLength(6)
    expect(full(log, { at: 11 })).toHaveLength(6)
    expect(entriesAt(11, true).slice(6)).toEqual([
      '6 abandoned by 11',
      '7 abandoned by 11',
      '8 abandoned by 10',
      '9 abandoned by 10',
    ])
  })

  it('differs between 7 and 9 by what two markers hid', () => {
    const { from, to, changes } = diff(log, 7, 9)
    expect([from, to]).toEqual([7, 9])
    expect(
      changes.map(({ change, entry }) => `${entry.position} ${change} ${entry.status} ${entry.by ?? ''}`),
    ).toEqual([
      '0 kept active ',
      '6 disappeared truncated 8',
      '4 disappeared truncated 8',
      '5 disappeared condensed 9',
      '9 appeared active ',
      '7 kept active ',
    ])
  })

  it('differs the other way round by what is shown again', () => {
    expect(
      diff(log, 9, 10).changes.map(({ change, entry }) => `${entry.position} ${change} ${entry.status}`),
    ).toEqual([
      '0 kept active',
      '9 disappeared abandoned',
      '6 appeared active',
      '4 appeared active',
      '5 appeared active',
      '7 kept active',
    ])
  })

  it('differs backwards in time by what was shown then, as it was then', () => {
    expect(
      diff(log, 9, 7).changes.map(({ change, entry }) => `${entry.position} ${change} ${entry.status}`),
    ).toEqual([
      '0 kept active',
      '9 disappeared active',
      '6 appeared active',
      '4 appeared active',
      '5 appeared active',
      '7 kept active',
    ])
  })

  it('has in its timeline what happened up to a position', () => {
    expect(timeline(log, 3).map(({ event }) => event.position)).toEqual([0, 1, 2, 3])
  })

  it('is one branch as long as rewinds lead back and forth on it, and another one if it continues from its middle', () => {
    const branched = [...log, ...logOf(rewound(1), user('else'), rewound(7), user('again'), rewound(18))].map(
      (event, position) => ({ ...event, position }),
    )
    const lines = timeline(branched).map(({ parent, branch, onPath }) => `${parent} ${branch} ${onPath}`)
    expect(lines.slice(0, 10)).toEqual([
      ...[-1, 0, 1, 2, 3, 4, 5, 6].map((parent) => `${parent} 0 true`),
      '7 0 false',
      '8 0 false',
    ])
    expect(lines.slice(10)).toEqual([
      '7 0 false',
      '5 0 false',
      '9 0 false',
      '9 0 false',
      '13 0 false',
      '1 0 false',
      '1 1 false',
      '7 0 false',
      '7 2 true',
      '18 2 false',
    ])
  })
})
