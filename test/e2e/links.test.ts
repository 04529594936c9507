import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, expect, test } from 'vitest'
import { documents, root } from './snippets/snippets.ts'

const read = (file: string): string => readFileSync(join(root, file), 'utf8')
const withoutCode = (text: string): string =>
  text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, '').replaceAll(/`[^`\n]*`/g, '')

/** The fragments of a document's headings, as GitHub makes them. */
const fragmentsOf = (file: string): readonly string[] => {
  const seen = new Map<string, number>()
  return [
    ...read(file)
      .replaceAll(/^ *```[\s\S]*?^ *```$/gm, '')
      .matchAll(/^#+ (.*)$/gm),
  ].map(([, heading = '']) => {
    const slug = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(/\s/g, '-')
    const times = seen.get(slug) ?? 0
    seen.set(slug, times + 1)
    return times === 0 ? slug : `${slug}-${times}`
  })
}

const linksOf = (file: string): readonly string[] =>
  [...withoutCode(read(file)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target)

/** Why a link leads nowhere; undefined where it leads somewhere. Links to other sites are not followed. */
const problem = (file: string, target: string): string | undefined => {
  if (/^[a-z]+:/.test(target)) return undefined
  const [path = '', fragment] = target.split('#')
  const to = path === '' ? file : normalize(join(dirname(file), path))
  if (!existsSync(join(root, to))) return `${file}: no file ${to}`
  if (fragment === undefined || fragmentsOf(to).includes(fragment)) return undefined
  return `${file}: ${to} has no heading #${fragment}`
}

describe('links', () => {
  test.each(documents())('those of %s lead somewhere', (file) => {
    expect(linksOf(file).flatMap((target) => problem(file, target) ?? [])).toEqual([])
  })

  test('some have a fragment, and a wrong one is found', () => {
    const all = documents().flatMap(linksOf)
    expect(all.length).toBeGreaterThan(30)
    expect(all.some((target) => target.includes('#'))).toBe(true)
    expect(problem('README.md', 'docs/model.md#no-such-heading')).toContain('#no-such-heading')
    expect(problem('README.md', 'docs/nothing.md')).toContain('no file docs/nothing.md')
  })

  test('documents that comments of the code name are there', () => {
    const named = globSync('src/**/*.ts', { cwd: root }).flatMap((file) =>
      [...read(file).matchAll(/docs\/[\w/-]+\.md/g)].map(([path]) => `${file}: ${path}`),
    )
    expect(named.length).toBeGreaterThan(5)
    expect(named.filter((each) => !existsSync(join(root, each.split(': ')[1] ?? '')))).toEqual([])
  })
})
