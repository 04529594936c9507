import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { brokenLinks, linkProblem, linksOf } from '../support/links.ts'
import { documents, root } from './snippets/snippets.ts'

describe('links', () => {
  test.each(documents())('those of %s lead somewhere', (file) => {
    expect(brokenLinks(root, file)).toEqual([])
  })

  test('some have a fragment, and a wrong one is found', () => {
    const all = documents().flatMap((file) => linksOf(join(root, file)))
    expect(all.length).toBeGreaterThan(30)
    expect(all.some((target) => target.includes('#'))).toBe(true)
    expect(linkProblem(root, 'README.md', 'docs/model.md#no-such-heading')).toContain('#no-such-heading')
    expect(linkProblem(root, 'README.md', 'docs/nothing.md')).toContain('no file docs/nothing.md')
  })

  test('documents that comments of the code name are there', () => {
    const named = globSync('src/**/*.ts', { cwd: root }).flatMap((file) =>
      [...readFileSync(join(root, file), 'utf8').matchAll(/docs\/[\w/-]+\.md/g)].map(
        ([path]) => `${file}: ${path}`,
      ),
    )
    expect(named.length).toBeGreaterThan(5)
    expect(named.filter((each) => !existsSync(join(root, each.split(': ')[1] ?? '')))).toEqual([])
  })
})
