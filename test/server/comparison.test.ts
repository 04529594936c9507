import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { ReplayReport, ReplayedCall } from '../../src/investigate/index.ts'
import { comparisonPage } from '../../src/server/html/comparison/page.ts'
import { style } from '../../src/server/html/comparison/style.ts'
import { root } from '../e2e/snippets/snippets.ts'

const call = (position: number, more: Partial<ReplayedCall> = {}): ReplayedCall => ({
  position,
  call: position,
  isSame: true,
  tokens: 1_000 * position,
  read: 100,
  isOver: false,
  usd: 0.01,
  condensed: 0,
  truncated: 0,
  edited: 0,
  hidden: 0,
  needed: [],
  ...more,
})
const zero = {
  tokens: 0,
  read: 0,
  usd: 0,
  condensed: 0,
  truncated: 0,
  edited: 0,
  over: 0,
  needed: 0,
  same: 0,
}
const replayed = (policy: string, calls: readonly ReplayedCall[], conversation = 'c'): ReplayReport => ({
  conversation,
  policy,
  calls,
  keptMarkers: 0,
  total: zero,
})

describe('the page of a comparison', () => {
  test('shows texts as texts, whatever they are', () => {
    const evil = `</style><script>alert(1)</script>"'&\u202e`
    const needed = [{ term: evil, hidden: [1], by: [2], inSummary: false }]
    const page = comparisonPage([replayed(evil, [call(1, { needed })], evil)])
    expect(page).not.toMatch(/<script|\u202e/)
    expect(page.match(/<style>/g)).toHaveLength(1)
    expect(page).toContain('&lt;/style&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;')
  })

  test('draws every call, and marks what was done and needed, of no calls nothing', () => {
    const needed = [{ term: 'a.ts', hidden: [1], by: [2], inSummary: true }]
    const page = comparisonPage([
      replayed('recorded', [call(1), call(2, { call: 7 })]),
      replayed('small', [
        call(1, { condensed: 1, truncated: 2 }),
        call(2, { needed, isOver: true, edited: 1 }),
      ]),
    ])
    expect(page.match(/<figure>/g)).toHaveLength(3)
    expect(page).toContain('d="M0 50L100 0"')
    expect(page).toContain('>◆▼</i>')
    expect(page).toContain('title="small, call 7: 2,000"')
    expect(page).toContain('<span>call 1</span><span>call 7</span>')
    expect(page).toContain('>✎●○</i>')
    expect(page).toMatch(/<code>a\.ts<\/code> \(a summary names it\)/)
    expect(comparisonPage([replayed('recorded', [])])).not.toContain('<figure>')
  })

  test('has the inks of the page of conversations', () => {
    const theme = readFileSync(join(root, 'src/ui/tokens.css'), 'utf8').replaceAll(' ', '')
    const own = style.match(/light-dark\([^)]+\)/g) ?? []
    expect(own.length).toBeGreaterThan(8)
    expect(own.filter((ink) => !theme.includes(ink))).toEqual([])
  })
})
