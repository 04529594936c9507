import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { pageIn } from '../../src/server/page.ts'
import { serving } from '../support/server/asking.ts'
import { temporaryFolder } from '../support/stores.ts'

const built = (): string => {
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'assets'))
  writeFileSync(join(folder, 'index.html'), '<!doctype html><title>Palimpsest</title>')
  writeFileSync(join(folder, 'assets/index-1.js'), 'document.title')
  writeFileSync(join(folder, 'assets/index-1.js.map'), '{}')
  return folder
}

describe('the page', () => {
  test.each(['/', '/c/task-1', '/c/task-1/diff', '/c/a/calls/61?x=1', '/workers'])(
    'is one document: %s',
    async (path) => {
      const { fetch } = await serving({ page: pageIn(built()), authenticate: () => undefined })
      const answer = await fetch(path)
      expect(answer.status).toBe(200)
      expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
      expect(answer.headers.get('cache-control')).toBe('private, no-cache')
      expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'")
      expect(answer.headers.get('content-security-policy')).toContain("font-src 'self'")
      expect(answer.headers.get('content-security-policy')).toContain("require-trusted-types-for 'script'")
      expect(await answer.text()).toContain('<title>Palimpsest</title>')
    },
  )

  test('has files that never change under their names', async () => {
    const { fetch } = await serving({ page: pageIn(built()) })
    const answer = await fetch('/assets/index-1.js')
    expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(await answer.text()).toBe('document.title')
    const zipped = await fetch('/assets/index-1.js', { headers: { 'accept-encoding': 'br, gzip' } })
    expect(zipped.headers.get('content-encoding')).toBe('gzip')
    expect(gunzipSync(new Uint8Array(await zipped.arrayBuffer())).toString()).toBe('document.title')
    for (const other of ['/assets/index-2.js', '/assets/index-1.js.map', '/assets/..%2Findex.html'])
      expect((await fetch(other)).status).toBe(404)
  })

  test('says to browsers that an address is unknown; other clients get JSON', async () => {
    const { fetch } = await serving({ page: pageIn(built()) })
    const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
    const answer = await fetch('/nowhere', { headers: html })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8'])
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(await answer.text()).toContain('<title>Palimpsest</title>')
    for (const [path, headers] of [
      ['/nowhere', { accept: '*/*' }],
      ['/api/v1/nowhere', html],
      ['/assets/none.js', html],
    ] as const) {
      const other = await fetch(path, { headers })
      expect([other.status, other.headers.get('content-type')]).toEqual([404, 'application/problem+json'])
    }
  })

  test('that is not built says how it is', async () => {
    const { ask } = await serving({ page: pageIn(join(temporaryFolder(), 'none')) })
    const { status, json } = await ask('/c/task-1')
    expect(status).toBe(404)
    expect(json['detail']).toContain('npm run build:ui')
  })
})

describe('what another page asks for', () => {
  const from = (site: string, mode: string) => ({
    headers: { 'sec-fetch-site': site, 'sec-fetch-mode': mode },
  })

  test('is not answered, unless it is a link to this one', async () => {
    const { fetch } = await serving({ page: pageIn(built()) })
    const status = async (path: string, site: string, mode: string) =>
      (await fetch(path, from(site, mode))).status
    expect(await status('/c/task-1', 'cross-site', 'navigate')).toBe(200)
    expect(await status('/c/task-1', 'cross-site', 'no-cors')).toBe(403)
    for (const site of ['cross-site', 'same-site'])
      for (const mode of ['navigate', 'cors', 'no-cors'])
        expect(await status('/api/v1/conversations', site, mode)).toBe(403)
    for (const site of ['same-origin', 'none'])
      expect(await status('/api/v1/conversations', site, 'cors')).toBe(200)
  })
})
