import { globSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'

const root = new URL('../../', import.meta.url)
const css = readFileSync(new URL('src/ui/tokens.css', root), 'utf8')

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

const meanings = [
  'user',
  'assistant',
  'call',
  'result',
  'condensed',
  'truncated',
  'rewound',
  'restored',
  'abandoned',
  'error',
  'approval',
]
const grounds = ['paper', 'raised', 'sunken']
const texts = [
  ...['ink', 'ink-2', 'ink-3'].flatMap((text) =>
    [...grounds, 'added', 'removed'].map((ground) => [text, ground] as const),
  ),
  ...meanings.flatMap((meaning) => grounds.map((ground) => [`${meaning}-t`, ground] as const)),
  // A button that is filled, and text that is found.
  ['paper', 'ink'] as const,
  ['ink', 'future'] as const,
]
/** Pairs that are drawn: an approval has an outline in the colour of its text. */
const marks = [...meanings.map((meaning) => (meaning === 'approval' ? 'approval-t' : meaning)), 'focus']

describe.each(['light', 'dark'] as const)('all can be told from its background: %s', (theme) => {
  const of = (name: string): string => colours.get(name)?.[theme] ?? ''
  test.each(texts)('%s on %s has a contrast of 4.5 or more', (text, ground) => {
    expect(contrast(of(text), of(ground))).toBeGreaterThanOrEqual(4.5)
  })

  test.each(marks)('%s, drawn on paper, has a contrast of 3 or more', (mark) => {
    expect(contrast(of(mark), of('paper'))).toBeGreaterThanOrEqual(3)
  })

  test('each meaning has a fill and a text of its own', () => {
    for (const own of [meanings.map(of), meanings.map((meaning) => of(`${meaning}-t`))])
      expect(new Set(own).size).toBe(meanings.length)
  })
})

test('every colour that is used is one of these', () => {
  const files = globSync('src/ui/**/*.{css,ts,tsx}', { cwd: root })
  const all = files.map((file) => readFileSync(new URL(file, root), 'utf8')).join('\n')
  const defined = new Set([...all.matchAll(/(?<![\w-])(--[\w-]+)['"]?\s*:/g)].map(([, name]) => name))
  const used = new Set([...all.matchAll(/var\((--[\w-]+)/g)].map(([, name]) => name))
  expect([...used].filter((name) => !defined.has(name))).toEqual([])
  expect(all.match(/light-dark\(/g)).toHaveLength(colours.size)
})

test('contrast is computed as WCAG says', () => {
  expect(contrast('#000000', '#ffffff')).toBeCloseTo(21)
  expect(contrast('#777777', '#ffffff')).toBeCloseTo(4.48, 2)
})

/** Returns the selectors of a sheet, one by one. */
const selectorsIn = (sheet: string): readonly string[] =>
  [...sheet.replaceAll(/\/\*[^]*?\*\//g, '').matchAll(/(?<=^|[{};])([^{};@]+)\{/g)].flatMap(([, list = '']) =>
    list.split(/,(?![^(]*\))/).map((selector) => selector.trim()),
  )

/** Class of the elements that a selector styles, if it names one: `chip` for `.list .chip:hover`. */
const classStyled = (selector: string): string | undefined => {
  const last = selector
    .replaceAll(/\([^)]*\)/g, '')
    .split(/[\s>+~]+/)
    .at(-1)
  return /^\.([\w-]+)(?:\[.*\]|::?[\w-]+)*$/.exec(last ?? '')?.[1]
}
const isAnywhere = (selector: string): boolean => !/[\s>+~]/.test(selector)

/** Components that several pages show. Each has its style in one sheet. */
const components = /^(?:command|reply|waiting-call|diff-entry|inputs|tone-\w+)$/

test('a page styles its own elements only: all sheets are loaded together', () => {
  const sheets = globSync('src/ui/*/*.css', { cwd: root }).map((file) => ({
    file,
    selectors: selectorsIn(readFileSync(new URL(file, root), 'utf8')),
  }))
  const shared = globSync('src/ui/*.css', { cwd: root }).flatMap((file) =>
    selectorsIn(readFileSync(new URL(file, root), 'utf8')),
  )
  const found = sheets.flatMap(({ file, selectors }) => {
    const others = sheets.flatMap((other) => (other.file === file ? [] : other.selectors))
    const styled = new Set([...shared, ...others].map(classStyled))
    return selectors
      .filter(isAnywhere)
      .map(classStyled)
      .filter((name) => name !== undefined && !components.test(name) && styled.has(name))
      .map((name) => `.${name} in ${file}`)
  })
  expect(found).toEqual([])
})
