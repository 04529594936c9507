import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { atEnd, closeAll } from '../support/at-end.ts'
import { type BrowsingOptions, browsing, noBrowser } from '../support/browser.ts'

/** A server of one page, with this policy. */
const serving = async (html: string): Promise<string> => {
  const server = createServer((request, response) => {
    response.setHeader('content-security-policy', "script-src 'unsafe-inline'; img-src 'self'")
    response.setHeader('content-type', 'text/html')
    response.writeHead(request.url === '/' ? 200 : 204).end(request.url === '/' ? html : undefined)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atEnd(() => server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

const seen = async (html: string, options?: BrowsingOptions): Promise<unknown> => {
  const page = await browsing(options)
  await page.goto(await serving(`<h1>Here</h1>${html}`))
  await page.getByRole('heading', { name: 'Here' }).waitFor()
  return closeAll().catch((error: { readonly actual: unknown }) => error.actual)
}

describe.skipIf(noBrowser !== '')(`a page in a test${noBrowser}`, () => {
  test('passes if nothing is wrong with it', async () => {
    expect(await seen('')).toBeUndefined()
  })
  test.for([
    ['throws', '<script>throw new Error("broken")</script>', 'broken'],
    ['writes an error', '<script>console.error("amiss")</script>', 'amiss'],
    ['opens a dialog', '<script>alert("hello")</script>', 'a dialog: hello'],
    ['breaks its policy', '<img src="http://127.0.0.1:1/a.png">', 'policy: img-src'],
    ['asks another origin', '<script>fetch("http://127.0.0.1:1/").catch(() => 0)</script>', 'another origin'],
  ] as const)('fails if it %s', async ([, html, said]) => {
    expect(String(await seen(html))).toContain(said)
  })
  test('may do what the test allows', async () => {
    const html = '<script>console.error("amiss")</script>'
    expect(await seen(html, { allowed: [/^amiss/] })).toBeUndefined()
  })
})
