import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { serve } from '../../src/server/serve.ts'
import { atEnd } from '../support/at-end.ts'
import { opened } from '../support/stores.ts'

// Clients that others' generators make of the OpenAPI document: their types are checked, and they make the calls of docs/http.md.

const running = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
// The generators are made for a TypeScript of their own.
const from = createRequire(join(root, 'test/openapi/package.json'))
const programOf = (name: string, path: string): string =>
  join(dirname(from.resolve(`${name}/package.json`)), path)

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-clients-'))
symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
let url = ''

afterAll(() => rmSync(folder, { recursive: true }))
beforeEach(async () => {
  const server = await serve({ store: await opened('memory:'), port: 0 })
  url = server.url
  atEnd(server.close)
  const document = await (await fetch(`${url}/api/v1/openapi.json`)).text()
  writeFileSync(join(folder, 'openapi.json'), document)
})

const generate = (program: string, ...args: string[]): Promise<unknown> =>
  running(process.execPath, [program, ...args], { cwd: folder })

/** Writes a program that uses the generated code, checks its types, runs it, and returns what it prints as JSON. */
const ran = async (name: string, program: string): Promise<unknown> => {
  const file = join(folder, name)
  writeFileSync(file, program)
  const tsc = join(root, 'node_modules/.bin/tsc')
  const strict =
    '--ignoreConfig --noEmit --strict --target es2024 --module nodenext --allowImportingTsExtensions --skipLibCheck --types node'
  const { stdout: problems } = await running(tsc, [...strict.split(' '), file]).catch((error: unknown) => ({
    stdout: String(Reflect.get(Object(error), 'stdout')),
  }))
  expect(problems).toBe('')
  const { stdout } = await running(process.execPath, [file, url])
  return JSON.parse(stdout)
}

const told = {
  listed: ['task-1'],
  stale: 412,
  seen: [0],
  preview: [2, 1],
  changes: true,
  abandoned: 1,
  newest: ['MessageAppended', 'Rewound', 'Rewound'],
  hidden: 404,
  exported: true,
}

describe('a client that is generated from the document makes the calls of docs/http.md', () => {
  test('openapi-typescript with openapi-fetch', { timeout: 240_000 }, async () => {
    await generate(programOf('openapi-typescript', 'bin/cli.js'), 'openapi.json', '-o', 'types.ts')
    const program = `
import createClient from 'openapi-fetch'
import type { paths } from './types.ts'
const api = createClient<paths>({ baseUrl: process.argv[2] as string })
const must = <A>({ data, response }: { data?: A; response: Response }): A => {
  if (data === undefined) throw new Error(response.url + ' ' + response.status)
  return data
}
const path = { id: 'task-1' }
const commands = '/api/v1/conversations/{id}/commands'
must(await api.POST('/api/v1/conversations', { body: { id: 'task-1', messages: [{ role: 'user', content: 'Close the strings.' }] } }))
const listed = must(await api.GET('/api/v1/conversations', { params: { query: { limit: 20 } } })).items.map(({ id }) => id)
const append = { type: 'append' as const, messages: [{ role: 'assistant' as const, content: 'Line 80 is closed.' }] }
const header = { 'If-Match': '"r0"', 'Idempotency-Key': 'reply-1' }
must(await api.POST(commands, { params: { path, header }, body: append }))
must(await api.POST(commands, { params: { path, header }, body: append }))
const stale = (await api.POST(commands, { params: { path, header: { 'If-Match': '"r0"' } }, body: append })).response.status
const seen = must(await api.GET('/api/v1/conversations/{id}/effective', { params: { path, query: { at: 0 } } })).items.map(({ position }) => position)
must(await api.GET('/api/v1/conversations/{id}/request', { params: { path } }))
const rewind = { type: 'rewind' as const, to: 0 }
const tried = must(await api.POST(commands, { params: { path, query: { dryRun: true }, header: { 'If-Match': '"r1"' } }, body: rewind }))
const preview = 'before' in tried ? [(tried.before as { items: number }).items, (tried.after as { items: number }).items] : []
must(await api.POST(commands, { params: { path, header: { 'If-Match': '"r1"' } }, body: rewind }))
must(await api.POST(commands, { params: { path, header: { 'If-Match': '*' } }, body: { type: 'undo' } }))
const full = must(await api.GET('/api/v1/conversations/{id}/full', { params: { path, query: { abandoned: true } } }))
must(await api.GET('/api/v1/conversations/{id}/diff', { params: { path, query: { from: 1, to: 2 } } }))
const diff = must(await api.GET('/api/v1/conversations/{id}/diff', { params: { path, query: { from: 1, to: 2, of: 'full' } } }))
must(await api.POST('/api/v1/conversations/{id}/messages', { params: { path }, body: { messages: [{ role: 'user', content: 'And line 60?' }], answer: true } }))
const newest = must(await api.GET('/api/v1/conversations/{id}/events', { params: { path, query: { direction: 'backward', limit: 3, fields: ['type', 'metadata'] } } }))
const hidden = (await api.GET('/api/v1/conversations/{id}/hidden', { params: { path, query: { markers: [0, 99] } } })).response.status
const exported = must(await api.GET('/api/v1/conversations/{id}/export', { params: { path, query: { format: 'markdown' } }, parseAs: 'text' }))
console.log(JSON.stringify({ listed, stale, seen, preview, changes: JSON.stringify(diff).includes('turned'), abandoned: full.items.filter((one) => JSON.stringify(one).includes('Line 80')).length, newest: typeof newest === 'string' ? [] : newest.items.map(({ type }) => type), hidden, exported: exported.includes('line 60') }))
`
    expect(await ran('openapi-fetch.ts', program)).toEqual(told)
  })

  test('oazapfts', { timeout: 240_000 }, async () => {
    await generate(join(root, 'node_modules/oazapfts/dist/cli.js'), 'openapi.json', 'functions.ts')
    const program = `
import * as api from './functions.ts'
api.defaults.baseUrl = process.argv[2] as string
const must = <A extends { status: number; data?: unknown }>(answer: A): Extract<A, { status: 200 | 201 | 202 }>['data'] => {
  if (answer.status > 299) throw new Error(JSON.stringify(answer))
  return answer.data as Extract<A, { status: 200 | 201 | 202 }>['data']
}
const id = 'task-1'
must(await api.create({ id, messages: [{ role: 'user', content: 'Close the strings.' }] }))
const listed = must(await api.conversations({ limit: 20 })).items.map(({ id }) => id)
const append: api.Command = { type: 'append', messages: [{ role: 'assistant', content: 'Line 80 is closed.' }] }
must(await api.command(id, append, { ifMatch: '"r0"', idempotencyKey: 'reply-1' }))
must(await api.command(id, append, { ifMatch: '"r0"', idempotencyKey: 'reply-1' }))
const stale = (await api.command(id, append, { ifMatch: '"r0"' })).status
const seen = must(await api.effective(id, { at: 0 })).items.map(({ position }) => position)
must(await api.render(id))
const tried = must(await api.command(id, { type: 'rewind', to: 0 }, { dryRun: true, ifMatch: '"r1"' })) as { before: { items: number }; after: { items: number } }
const preview = [tried.before.items, tried.after.items]
must(await api.command(id, { type: 'rewind', to: 0 }, { ifMatch: '"r1"' }))
must(await api.command(id, { type: 'undo' }, { ifMatch: '*' }))
const full = must(await api.full(id, { abandoned: true }))
must(await api.diff(id, 1, { to: 2 }))
const diff = must(await api.diff(id, 1, { to: 2, $of: 'full' }))
must(await api.say(id, { messages: [{ role: 'user', content: 'And line 60?' }], answer: true }))
const newest = must(await api.events(id, { direction: 'backward', limit: 3, fields: ['type', 'metadata'] }))
const hidden = (await api.hiddenBy(id, [0, 99])).status
const exported = must(await api.download(id, 'markdown'))
console.log(JSON.stringify({ listed, stale, seen, preview, changes: JSON.stringify(diff).includes('turned'), abandoned: full.items.filter((one) => JSON.stringify(one).includes('Line 80')).length, newest: newest.items.map(({ type }) => type), hidden, exported: exported.includes('line 60') }))
`
    expect(await ran('oazapfts.ts', program)).toEqual(told)
  })
})
