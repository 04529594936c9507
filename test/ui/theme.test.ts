import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'

const css = readFileSync(new URL('../../src/ui/theme.css', import.meta.url), 'utf8')

/** The colours by name, for light and for dark. */
const colours = new Map(
  [...css.matchAll(/--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)/g)].map(
    ([, name = '', light = '', dark = '']) => [name, { light, dark }] as const,
  ),
)

const channel = (hex: string): number => {
  const value = Number.parseInt(hex, 16) / 255
  return value <= 0.040_45 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
}
const luminance = (hex: string): number =>
  0.2126 * channel(hex.slice(1, 3)) + 0.7152 * channel(hex.slice(3, 5)) + 0.0722 * channel(hex.slice(5, 7))
/** WCAG 2.2: 1 to 21. */
const contrast = (one: string, other: string): number => {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b)
  return (light + 0.05) / (dark + 0.05)
}

const texts = [
  'ink',
  'faint',
  'user',
  'assistant',
  'call',
  'result',
  'abandoned',
  'condensed',
  'truncated',
  'rewind',
]
const grounds = ['ground', 'panel', 'hover']
const pairs = [
  ...[...texts, 'accent', 'good', 'bad'].flatMap((text) => grounds.map((ground) => [text, ground] as const)),
  ['on-accent', 'accent'] as const,
  ['ink', 'mark'] as const,
]

describe.each(['light', 'dark'] as const)('every text can be read: %s', (theme) => {
  const of = (name: string): string => colours.get(name)?.[theme] ?? ''
  test.each(pairs)('%s on %s has a contrast of 4.5 or more', (text, ground) => {
    expect(contrast(of(text), of(ground))).toBeGreaterThanOrEqual(4.5)
  })

  test('each meaning has a colour of its own', () => {
    const own = texts.map(of)
    expect(new Set(own).size).toBe(texts.length)
  })
})

test('contrast is computed as WCAG says', () => {
  expect(contrast('#000000', '#ffffff')).toBeCloseTo(21)
  expect(contrast('#777777', '#ffffff')).toBeCloseTo(4.48, 2)
})
