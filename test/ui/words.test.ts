import { describe, expect, test } from 'vitest'
import * as workspaces from '../../src/projections/workspace.ts'
import {
  ago,
  brief,
  checkoutCommand,
  count,
  dollars,
  duration,
  isKind,
  kindOf,
  moment,
  number,
  percent,
  size,
  workspaceText,
} from '../../src/ui/words.ts'

describe('figures in words', () => {
  test('numbers are grouped, or short for columns', () => {
    expect([number(41_233), brief(133_412), brief(1_000_000), brief(12)]).toEqual([
      '41,233',
      '133.4k',
      '1M',
      '12',
    ])
    expect([count(1, 'message'), count(1_200, 'message'), count(0, 'reply', 'replies')]).toEqual([
      '1 message',
      '1,200 messages',
      '0 replies',
    ])
    expect([percent(1, 3), percent(1, 0)]).toEqual(['33 %', ''])
    expect([0, 0.004, 0.00549, 0.12, 12].map(dollars)).toEqual([
      '$0.00',
      '$0.0040',
      '$0.0055',
      '$0.12',
      '$12.00',
    ])
    expect([percent(0, 9), percent(7, 4_416), percent(4_409, 4_416), percent(9, 9)]).toEqual([
      '0 %',
      '< 1 %',
      '> 99 %',
      '100 %',
    ])
  })

  test.each([
    [0, '0 B'],
    [663, '663 B'],
    [12_440, '12.4 kB'],
    [412_907, '413 kB'],
    [999_960, '1 MB'],
    [5_000_000, '5 MB'],
  ])('%d bytes are %s', (bytes, words) => expect(size(bytes)).toBe(words))

  test('times are said as they are talked about', () => {
    const now = Date.parse('2026-11-21T12:00:00.000Z')
    const before = (seconds: number): string => ago(now - seconds * 1_000, now)
    expect([0, 59, 60, 7_300, 200_000].map(before)).toEqual([
      '0 s ago',
      '59 s ago',
      '1 min ago',
      '2 h ago',
      '2 d ago',
    ])
    expect(before(40 * 86_400)).toMatch(/^2026-10-1\d$/)
    expect(before(-5)).toBe('0 s ago')
    expect([240, 4_230, 185_000, 7_440_000].map(duration)).toEqual([
      '240 ms',
      '4.2 s',
      '3 min 5 s',
      '2 h 4 min',
    ])
    expect(moment(now)).toMatch(/^2026-11-2[12] \d\d:00:00$/)
  })

  test('a kind that nobody knows is another one', () => {
    expect([kindOf('c'), kindOf('?'), kindOf(undefined)]).toEqual(['tool call', 'other', 'other'])
    expect([isKind('C'), isKind('toString'), isKind(undefined)]).toEqual([true, false, false])
  })
})

describe('the state of the files', () => {
  test('is described as on the command line', () => {
    for (const dirty of [{}, { dirty: true }] as const) {
      const workspace = { kind: 'git', commit: '3f2a1c4'.padEnd(40, '0'), ...dirty } as const
      expect(workspaceText(workspace)).toBe(workspaces.workspaceText(workspace))
      expect(checkoutCommand(workspace)).toBe(workspaces.checkoutCommand(workspace))
    }
  })
})
