import { once } from 'node:events'
import { createServer, Agent, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { expect } from 'vitest'
import { openStore, type Store } from '../../../src/index.ts'
import { app } from '../../../src/server/app.ts'
import { listener } from '../../../src/server/listener.ts'
import type { ServerSettings } from '../../../src/server/settings.ts'
import { atEnd } from '../at-end.ts'

// A server in this process, as a function or behind a port. Every answer is checked against the document that the server gives of itself.

export interface Asked {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'HEAD'
  /** As JSON. */
  readonly json?: unknown
  /** As it is. */
  readonly text?: string
  readonly headers?: Readonly<Record<string, string>>
  /** An event stream is left once it begins. */
  readonly leaves?: true
}
export interface Got {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The JSON of the answer. */
  readonly json: { readonly [field: string]: unknown }
}
export type Ask = (path: string, asked?: Asked) => Promise<Got>

export interface Scene {
  readonly store: Store
  readonly ask: Ask
  readonly fetch: (path: string, asked?: Asked) => Promise<Response>
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, object>> }
}
interface Operation {
  readonly operationId: string
  readonly responses: Readonly<
    Record<
      string,
      {
        readonly headers?: Readonly<Record<string, object>>
        readonly content?: Readonly<Record<string, { readonly schema: object }>>
      }
    >
  >
}
/** Headers that have the same meaning in every HTTP response; the document does not repeat them. */
const everywhere =
  /^(content-(type|length|security-policy)|cache-control|date|connection|keep-alive|transfer-encoding|vary|x-|referrer-policy|cross-origin-|permissions-policy)/

const faults: unknown[] = []

export const serving = async (settings: Partial<ServerSettings> = {}): Promise<Scene> => {
  const store = settings.store ?? (await openStore('memory:'))
  if (!settings.store) atEnd(store.close)
  return sceneOf(store, app(settingsOf(settings, store)).fetch)
}

/** As `serving`, behind a port: as requests reach `palimpsest serve`. */
export const servingAtPort = async (
  settings: Partial<ServerSettings> & Pick<ServerSettings, 'store'>,
): Promise<Scene & { readonly close: () => Promise<void> }> => {
  const server = createServer(listener(settingsOf(settings, settings.store), '127.0.0.1'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const agent = new Agent({ keepAlive: true })
  const scene = await sceneOf(settings.store, (asked) => answerOf(asked, port, agent))
  const close = async (): Promise<void> => {
    agent.destroy()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return { ...scene, close }
}

const settingsOf = (settings: Partial<ServerSettings>, store: Store): ServerSettings => ({
  onFault: (error) => faults.push(error),
  ...settings,
  store,
})

/** The answer of a server, with the headers of the request as they are: `fetch` would add some. */
const answerOf = async (asked: Request, port: number, agent: Agent): Promise<Response> => {
  const { pathname, search } = new URL(asked.url)
  const { method } = asked
  const sent = request({
    port,
    agent,
    method,
    path: pathname + search,
    headers: Object.fromEntries(asked.headers),
  })
  sent.end(await asked.text())
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  const status = answer.statusCode ?? 0
  const headers = new Headers()
  for (const [name, values] of Object.entries(answer.headersDistinct))
    for (const value of values ?? []) headers.append(name, value)
  return new Response(status === 304 ? null : (Readable.toWeb(answer) as ReadableStream), { status, headers })
}

const sceneOf = async (
  store: Store,
  answered: (asked: Request) => Response | Promise<Response>,
): Promise<Scene> => {
  const fetch: Scene['fetch'] = async (path, { method, json, text, headers } = {}) => {
    const body = text ?? (json === undefined ? undefined : JSON.stringify(json))
    const url = path.startsWith('/') ? `http://localhost${path}` : `http://localhost/api/v1/${path}`
    return answered(
      new Request(url, {
        method: method ?? (body === undefined ? 'GET' : 'POST'),
        headers: {
          host: 'localhost',
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body }),
      }),
    )
  }
  checking ??= fetch('openapi.json').then(async (answer) => validator((await answer.json()) as Document))
  const check = await checking
  const ask: Ask = async (path, asked) => {
    const response = await fetch(path, asked)
    const text = await textIn(response)
    const { status, headers } = response
    if (status >= 500) throw new Error(`${path}: ${text} ${String(faults.at(-1))}`)
    const isJson = headers.get('content-type')?.includes('json') === true
    const json = (isJson ? JSON.parse(text) : {}) as Got['json']
    check(
      new URL(path, 'http://localhost/api/v1/').pathname,
      asked?.method ?? (asked?.json || asked?.text !== undefined ? 'POST' : 'GET'),
      status,
      json,
      headers,
    )
    return { status, headers, text, json }
  }
  return { store, ask, fetch }
}

/** The text of an answer; of an event stream, which may not end, the beginning. */
const textIn = async (response: Response): Promise<string> => {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response.text()
  let text = ''
  for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += piece
    if (text.includes('data: ')) break
  }
  return text
}

/** Every server gives the same document: it is made once, and each of its schemas compiled once. */
let checking: Promise<ReturnType<typeof validator>> | undefined

/** Whether an answer is what the document says. */
const validator = ({ paths, components }: Document) => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema({ $id: 'api', components })
  const operations = Object.entries(paths).map(([path, methods]) => ({
    pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
    methods,
  }))
  const compiled = new Map<object, ValidateFunction>()
  const local = (schema: object): object =>
    JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"api#/components')) as object
  return (path: string, method: string, status: number, json: unknown, headers: Headers): void => {
    const operation = operations.find(({ pattern }) => pattern.test(path))?.methods[method.toLowerCase()]
    if (!operation) return
    const response = operation.responses[status]
    expect(response, `${operation.operationId} says nothing of ${status}`).toBeDefined()
    const declared = Object.keys(response?.headers ?? {}).map((name) => name.toLowerCase())
    const sent = [...headers.keys()].filter((name) => !everywhere.test(name))
    expect(declared, `${operation.operationId} ${status}: headers`).toEqual(expect.arrayContaining(sent))
    const schema = Object.entries(response?.content ?? {}).find(([type]) => type.includes('json'))?.[1].schema
    if (schema) {
      const isValid = compiled.get(schema) ?? ajv.compile(local(schema))
      compiled.set(schema, isValid)
      expect(isValid(json) ? [] : isValid.errors, `${operation.operationId} ${status}`).toEqual([])
    }
  }
}
