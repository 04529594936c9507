import { readdirSync, readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Context, Env, Hono } from 'hono'
import { requestError } from './problem.ts'

// Serves the built page. The page contains no data of the store; it requests everything that it shows from the API.

/**
 * Returns the URL of a folder in the package's build. The sources and the build of the server are both two folders below the package
 * root.
 */
export const builtFolder = (folder: string): URL => new URL(`../../dist/${folder}`, import.meta.url)

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

interface File {
  readonly type: string
  readonly body: Uint8Array<ArrayBuffer>
  readonly zipped: Uint8Array<ArrayBuffer>
}
/** Files of the built page by path (`index.html`, `assets/…`). */
export type PageFiles = ReadonlyMap<string, File>

/** Reads the files of the built page into memory, or returns undefined if the page has not been built. */
export const pageIn = (folder = fileURLToPath(builtFolder('ui'))): PageFiles | undefined => {
  try {
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    const files = names.flatMap((name) => {
      const type = types[extname(name)]
      if (type === undefined) return []
      const body = new Uint8Array(readFileSync(join(folder, name)))
      return [[name.replaceAll('\\', '/'), { type, body, zipped: new Uint8Array(gzipSync(body)) }] as const]
    })
    return files.some(([name]) => name === 'index.html') ? new Map(files) : undefined
  } catch {
    return undefined
  }
}

/** Paths at which the HTML document of the page is served. */
const addresses = ['/', '/c/*', '/workers', '/audit']

/** Serves the HTML document and the assets of the page. */
export const servePage = <E extends Env>(server: Hono<E>, files: PageFiles | undefined): void => {
  for (const address of addresses)
    server.get(address, (c) => {
      const document = files?.get('index.html')
      if (!document)
        throw requestError('NotFound', 'the page is not built: run npm run build:ui, then restart the server')
      return answered(c, document)
    })
  server.get('/assets/:file', (c) => {
    const file = files?.get(`assets/${c.req.param('file')}`)
    if (!file) throw requestError('NotFound', `there is no ${c.req.path}: load the page again`)
    // The name of the file contains a hash of its content.
    c.header('cache-control', 'public, max-age=31536000, immutable')
    return answered(c, file)
  })
}

/**
 * Returns the page as the answer to a request of a browser for an address that nothing has: the page says so. Returns undefined for other
 * clients, for addresses of the API, and if the page is not built.
 */
export const pageForUnknown = (c: Context, files: PageFiles | undefined): Response | undefined => {
  const { method, path } = c.req
  const isOfBrowser = method === 'GET' && c.req.header('accept')?.includes('text/html') === true
  const document = files?.get('index.html')
  const isOfPage = !path.startsWith('/api/') && !path.startsWith('/assets/')
  return isOfBrowser && isOfPage && document ? answered(c, document, 404) : undefined
}

const answered = (c: Context, { type, body, zipped }: File, status: 200 | 404 = 200): Response => {
  const isZipped = c.req.header('accept-encoding')?.includes('gzip') === true
  c.header('vary', 'accept-encoding')
  if (isZipped) c.header('content-encoding', 'gzip')
  return c.body(isZipped ? zipped : body, status, { 'content-type': type })
}
