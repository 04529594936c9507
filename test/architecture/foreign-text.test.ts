import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

// Invisible characters are named in whatever Preact renders (src/ui/blocks/foreign-text.tsx). So every text has to be rendered by Preact.

const root = new URL('../../', import.meta.url)
const files = globSync('src/ui/**/*.{ts,tsx}', { cwd: root })
const textOf = (file: string): string => readFileSync(new URL(file, root), 'utf8')

/** Ways to show a text that do not lead through Preact, and the only file that may use each. */
const others: readonly (readonly [RegExp, string?])[] = [
  [/dangerouslySetInnerHTML|\b(?:inner|outer)HTML\b|insertAdjacent(?:HTML|Text)|setHTML|document\.write/],
  [/\.(?:textContent|innerText|nodeValue|data)\s*=[^=]|createTextNode|new (?:Text|Option)\(/],
  [/setAttribute\(|\.(?:ariaLabel|alt|placeholder)\s*=[^=]/],
  // Times and durations, which are the page's own.
  [/\b(?:fill|stroke)Text\(/, 'src/ui/conversation/ribbon/times.ts'],
  [/(?<![\w.])(?:alert|prompt)\(|new Notification\(/],
  [/document\.title\s*=/, 'src/ui/use-title.ts'],
]

test('no text is shown but by Preact, which names invisible characters', () => {
  const found = files.flatMap((file) =>
    others.flatMap(([way, only]) => (file !== only && way.test(textOf(file)) ? [`${file}: ${way}`] : [])),
  )
  expect(found).toEqual([])
})

test('both entry points have them named before the first render', () => {
  for (const entry of ['src/ui/main.tsx', 'src/ui/file.tsx'])
    expect(textOf(entry)).toMatch(/^ *nameInvisible\(\)$[^]*^ *(?:if \(root\) )?render\(/m)
})

test('styles show no text of attributes but addresses', () => {
  const shown = globSync('src/ui/**/*.css', { cwd: root }).flatMap((file) => [
    ...textOf(file).matchAll(/attr\([^)]*\)/g),
  ])
  expect([...new Set(shown.map(String))]).toEqual(['attr(data-link)'])
})
