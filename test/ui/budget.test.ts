import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { node } from '../support/node.ts'
import { temporaryFolder } from '../support/stores.ts'

const root = new URL('../../', import.meta.url)

test('the first load is at most 90 kB of JavaScript and CSS, in a file each, and each part that comes later 120', () => {
  const folder = join(temporaryFolder(), 'ui')
  const vite = join(root.pathname, 'node_modules/vite/bin/vite.js')
  execFileSync(node, [vite, 'build', '--config', 'vite.ui.config.ts', '--outDir', folder], {
    cwd: root,
    // As it is published: a test's own would take what helps developers.
    env: { ...process.env, NODE_ENV: 'production' },
  })
  const document = readFileSync(join(folder, 'index.html'), 'utf8')
  const first = [...document.matchAll(/(?:src|href)="\/assets\/([^"]+\.(?:js|css))"/g)].map(
    ([, name = '']) => name,
  )
  const zipped = (names: readonly string[]): number =>
    names.reduce((sum, name) => sum + gzipSync(readFileSync(join(folder, 'assets', name))).length, 0)
  expect(first).toHaveLength(2)
  expect(zipped(first)).toBeLessThanOrEqual(90_000)
  expect(zipped(first)).toBeGreaterThan(10_000)
  const others = readdirSync(join(folder, 'assets')).filter(
    (name) => /\.(?:js|css)$/.test(name) && !first.includes(name),
  )
  for (const name of others) expect(zipped([name])).toBeLessThanOrEqual(120_000)
  const fonts = readdirSync(join(folder, 'assets')).filter((name) => name.endsWith('.woff2'))
  expect(fonts).toHaveLength(2)
  const bytes = fonts.map((name) => readFileSync(join(folder, 'assets', name)).length)
  expect(bytes.reduce((sum, one) => sum + one)).toBeLessThanOrEqual(60_000)
  expect(readFileSync(join(folder, 'assets/OFL.txt'), 'utf8')).toContain('The Geist Project Authors')
  // Nothing is loaded from elsewhere, and nothing stands in the document itself that the policy forbids.
  expect(document).not.toMatch(/https?:\/\/|<style|<script(?![^>]*src=)/)
})
