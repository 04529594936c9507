import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { effective } from '../../../src/projections/effective.ts'
import type { Log } from '../../../src/projections/path.ts'
import { messagesApi, responsesApi } from '../../../src/testing/index.ts'
import {
  digest,
  type Fields as HashFields,
  formsOf,
  isFields,
  withoutBreakpoints,
} from '../../clients/support/message-hash.ts'
import { reworded } from '../../clients/support/reword.ts'
import { itemUnits, messageUnits, type Unit } from '../../clients/units.ts'
import { atEnd } from '../../support/at-end.ts'
import { importFile, logsOf } from '../../support/import-log.ts'
import { opened } from '../../support/stores.ts'

// Scripted sessions of real clients, as `npm run test:clients -- --fixtures` keeps them: what the clients sent and wrote, in our words.

type Fields = Readonly<Record<string, unknown>>
interface Request {
  readonly path: string
  readonly status: number
  readonly body: Fields
}

const folder = new URL('../../samples/clients/', import.meta.url)
const textOf = (file: string): string => readFileSync(new URL(file, folder), 'utf8')

/** Returns the values of a file, one a line in JSON lines. */
const rowsOf = (file: string): readonly unknown[] =>
  (file.endsWith('.jsonl') ? textOf(file).trim().split('\n') : [textOf(file)]).map(
    (text) => JSON.parse(text) as unknown,
  )

/** Puts the listed values back in their places. */
const whole = (value: unknown, values: readonly unknown[]): unknown => {
  if (Array.isArray(value)) return value.map((each) => whole(each, values))
  if (typeof value !== 'object' || value === null) return value
  const at = (value as Fields)['$']
  if (typeof at === 'number') return values[at]
  return Object.fromEntries(Object.entries(value).map(([field, each]) => [field, whole(each, values)]))
}

const requestsOf = (client: string): readonly Request[] => {
  const { values, requests } = JSON.parse(textOf(`${client}.requests.json`)) as {
    readonly values: readonly unknown[]
    readonly requests: readonly Request[]
  }
  return whole(requests, values) as readonly Request[]
}

const sessions: Readonly<Record<string, string>> = {
  'claude-code': 'claude-code.session.jsonl',
  'agent-sdk': 'agent-sdk.session.jsonl',
  codex: 'codex.session.jsonl',
  opencode: 'opencode.session.json',
  pi: 'pi.session.jsonl',
}

/** Starts the strict stand-in for the API that the requests are for. */
const strictApi = async (client: string): Promise<string> => {
  const models = { 'claude-opus-5-5': { contextWindow: 1_000_000, maxOutput: 128_000 } }
  const api = await (client === 'codex' ? responsesApi() : messagesApi({ models }))
  atEnd(() => api.close())
  return api.url
}

const send = async (url: string, { path, body }: Request): Promise<unknown> => {
  const headers = {
    'content-type': 'application/json',
    'x-api-key': 'k',
    authorization: 'Bearer k',
    'anthropic-version': '2023-06-01',
  }
  const response = await fetch(new URL(path, url), { method: 'POST', headers, body: JSON.stringify(body) })
  const answer = await response.text()
  return response.status === 200 ? 200 : answer
}

const unitsOf = ({ body }: Request): readonly Unit[] =>
  body['input']
    ? itemUnits(body['input'] as readonly Fields[])
    : messageUnits(body['messages'] as readonly Fields[])

describe.each(Object.keys(sessions))('a scripted session of %s', (client) => {
  it('has only requests that the strict stand-in accepts', async () => {
    const url = await strictApi(client)
    for (const request of requestsOf(client)) expect(await send(url, request)).toBe(200)
  })

  it('is imported with the history that its last prompt was sent with, and the reply', () => {
    const file = sessions[client] ?? ''
    const [log = [], ...others] = logsOf(importFile({ file, text: textOf(file) })).values()
    expect(others).toEqual([])
    const history = inOurWords(messageUnits(messagesIn(log)))
    const prompt = history.findLast(([role]) => role === 'user')
    const sent = requestsOf(client)
      .map((request) => inOurWords(unitsOf(request)))
      .findLast((units) => JSON.stringify(units.at(-1)) === JSON.stringify(prompt))
    expect(history).toEqual([...(sent ?? []), ['assistant', expect.stringMatching(/^Reply \d+\.$/)]])
  })
})

/** Returns the messages that the model sees at the end of a log. */
const messagesIn = (log: Log): readonly Fields[] =>
  effective(log).items.flatMap((item): readonly object[] =>
    item.kind === 'message' ? [item] : item.kind === 'summary' ? item.messages : [],
  ) as readonly Fields[]

/** Returns units as a fixture has them, without what Codex says about its surroundings. */
const inOurWords = (units: readonly Unit[]): readonly Unit[] =>
  units
    .map((unit) => unit.map(reworded))
    .filter(([, said]) => said?.startsWith('<environment_context>') !== true)

describe.each(['claude-code', 'agent-sdk'])('the requests in the session file of %s', (client) => {
  it('name the messages that were sent, and their system prompt and tools, by their hashes', () => {
    const lines = rowsOf(sessions[client] ?? '') as readonly HashFields[]
    const known = new Set<unknown>()
    for (const { body } of requestsOf(client))
      for (const message of body['messages'] as readonly HashFields[])
        for (const form of formsOf(withoutBreakpoints(message))) known.add(digest(form))
    for (const line of lines) {
      const { message, shape } = line
      if (line['type'] === 'api-request-blob' && isFields(message))
        expect(formsOf(message).map(digest)).toContain(line['hash'])
      if (line['type'] === 'api-request-shape' && isFields(shape))
        expect(digest(shape)).toBe(line['shapeHash'])
    }
    const named = lines.flatMap(({ type, tail }) =>
      type === 'api-request' && Array.isArray(tail) ? tail : [],
    )
    expect(named.length).toBeGreaterThan(20)
    expect(named.filter((hash) => !known.has(hash))).toEqual([])
  })
})

describe.each(['claude-code', 'agent-sdk'])('the calls of an imported session of %s', (client) => {
  it('have the requests that were sent', async () => {
    const file = sessions[client] ?? ''
    const store = await opened('memory:')
    const { conversations } = await store.importSession({ file, text: textOf(file) })
    const chat = store.conversation(conversations[0]?.id ?? '')
    expect(await chat.verifyReceipts()).toMatchObject({ findings: [] })
    const sent = requestsOf(client).map(({ body }) => body['messages'])
    const made = []
    for await (const call of chat.calls()) made.push(await chat.sent(call))
    expect(made.length).toBeGreaterThan(5)
    for (const { body, isSame } of made) {
      expect(isSame).toBe(true)
      expect(sent).toContainEqual((body as unknown as Fields)['messages'])
    }
  })
})

describe('the fixtures of scripted sessions', () => {
  const files = readdirSync(folder)
  it.each(files)('%s holds no text of a client, path, address or id', (file) => {
    const text = textOf(file)
    const found = text.match(/\/tmp\/|\/work\/|(?<!<)\/root\b|\/home\/(?!ann\b)|\w@\w+\.\w/)
    expect(found?.[0]).toBe(undefined)
    const uuids = text.match(/(?<![\da-z])[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}(?![\da-z])/g) ?? []
    expect(uuids.filter((id) => !id.startsWith('00000000-0000-4000-8000-'))).toEqual([])
    const ids = text.match(/\b(?:toolu|msg|req|resp|ses|prt|call|rs|fco?)_(?=[\w-]*[A-Z\d])[\w-]{8,}/g) ?? []
    expect(ids.filter((id) => !/_0{8}/.test(id))).toEqual([])
    expect(foreignIn(rowsOf(file))).toEqual([])
  })
})

/** Returns the texts that are not in our words. */
const foreignIn = (value: unknown, field = ''): readonly string[] => {
  if (typeof value === 'string') {
    if (field === 'encrypted_content') return []
    if (/^[{[]/.test(value))
      try {
        return foreignIn(JSON.parse(value))
      } catch {
        // Not JSON after all.
      }
    return reworded(value) === value ? [] : [value]
  }
  if (Array.isArray(value)) return value.flatMap((each) => foreignIn(each))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, each]) => foreignIn(each, name))
}
