import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { node } from '../support/node.ts'

const root = new URL('../../', import.meta.url)

/** Notes what is loaded from here on, and prints it when the process ends. */
const watching = `
  import { registerHooks } from 'node:module'
  const loaded = new Set()
  registerHooks({ load: (url, context, next) => (loaded.add(url), next(url, context)) })
  process.on('exit', () => console.log(JSON.stringify([...loaded])))
`

/** What a program loads: files of src from there on, builtins and packages by their names. */
const loadedBy = (program: string): readonly string[] => {
  const printed = execFileSync(node, ['--input-type=module', '-e', watching + program], {
    cwd: root,
    encoding: 'utf8',
  })
  const urls = JSON.parse(printed) as readonly string[]
  const source = new URL('src/', root).href
  const packages = [...urls.join('\n').matchAll(/\/node_modules\/((?:@[^/]+\/)?[^/]+)\//g)].map(
    ([, name = '']) => name,
  )
  const own = urls.flatMap((url) => (url.startsWith(source) ? [url.slice(source.length)] : []))
  return [...own, ...urls.filter((url) => url.startsWith('node:')), ...new Set(packages)]
}

test('the core loads memo, events, projections and commands, zod, fp-ts, and of Node only what hashes and compares', () => {
  const loaded = loadedBy(`await import('./src/core.ts')`)
  const others = loaded.filter(
    (name) => !/^(?:core\.ts$|events\/|memo\/|projections\/|commands\/)/.test(name),
  )
  expect(others.toSorted()).toEqual(['fp-ts', 'node:crypto', 'node:util', 'zod'])
  expect(loaded).toContain('commands/decide.ts')
})

test('a store that is opened, written to and read loads no importer, no exporter and no other store', () => {
  const loaded = loadedBy(`
    const { openStore } = await import('./src/index.ts')
    const store = await openStore('memory:')
    const chat = store.conversation('a')
    await chat.append({ role: 'user', content: 'Hello.' })
    await chat.effective()
    await store.close()
  `)
  expect(loaded).toContain('store/memory/store.ts')
  const unneeded =
    /^(?:transfer\/(?:import|read-session|write-whole)\.|transfer\/formats\/(?!errors|exporter|plan|registry)|store\/(?:sqlite|eventstoredb|postgres)\/|node:sqlite)/
  expect(loaded.filter((name) => unneeded.test(name))).toEqual([])
})

test('the decision of a turn loads nothing that reads or writes: no store, no conversation', () => {
  const loaded = loadedBy(`await import('./src/agent/turn/next-action.ts')`)
  expect(loaded.filter((name) => /^(?:store|conversation|api)\//.test(name))).toEqual([])
  expect(loaded).toContain('projections/effective.ts')
})

test('a turn loads nothing of OpenTelemetry unless the program has registered something with it', () => {
  const turn = `
    const { openStore } = await import('./src/index.ts')
    const store = await openStore('memory:')
    const chat = store.conversation('a')
    await chat.append({ role: 'user', content: 'Hello.' })
    const reply = { content: [{ type: 'text', text: 'Hi.' }], origin: { stopReason: 'end_turn' } }
    const client = { call: async () => ({ _tag: 'Right', right: reply }), countTokens: async () => ({ _tag: 'Right', right: 1 }) }
    await chat.turn({ client, model: 'm' })
  `
  const registering = `globalThis[Symbol.for('opentelemetry.js.api.1')] = { version: '1.9.1' }`
  expect(loadedBy(turn)).toContain('agent/turn/turn.ts')
  expect(loadedBy(turn)).not.toContain('@opentelemetry/api')
  expect(loadedBy(registering + turn)).toContain('@opentelemetry/api')
})

test('what reads timestamps is loaded once there is one to check, and named where it is missing', () => {
  const checking = `
    await import('./src/audit.ts')
    const { checkTimestamp } = await import('./src/audit/ledger/timestamp.ts')
    const check = checkTimestamp(Buffer.alloc(0), '', [])
  `
  const missing = `
    const { registerHooks } = await import('node:module')
    registerHooks({ resolve: (name, context, next) => next(name.replace('@sigstore/core', 'none'), context) })
  `
  const loaded = loadedBy(checking)
  expect(loaded).toContain('audit/ledger/anchors/timestamp.ts')
  expect(loaded).not.toContain('@sigstore/core')
  expect(loadedBy(`${checking} await check()`)).toContain('@sigstore/core')
  const without = `${checking}${missing}console.log((await check()).left)`
  const said = execFileSync(node, ['--input-type=module', '-e', without], { cwd: root, encoding: 'utf8' })
  expect(said).toBe('cannot be checked without the package @sigstore/core: npm install @sigstore/core\n')
  // Nobody listens there: the package is looked for before the authority is asked.
  const asked = `${missing}
    const { rootCertificates } = await import('node:tls')
    const { timestampAnchor } = await import('./src/audit.ts')
    const anchor = timestampAnchor({ url: 'http://127.0.0.1:1/tsr', trust: rootCertificates[0] })
    console.log((await anchor.put({ origin: 'a', size: 1, checkpoint: '' })()).left.message)
  `
  expect(execFileSync(node, ['--input-type=module', '-e', asked], { cwd: root, encoding: 'utf8' })).toBe(
    '127.0.0.1:1/tsr cannot be checked without the package @sigstore/core: npm install @sigstore/core\n',
  )
})

test.each([
  ['the Messages API', 'messages-api', /^(?:testing\/messages-api\/|node:)/],
  ['Chat Completions', 'chat-completions', /^(?:testing\/(?:chat-completions|messages-api)\/|node:)/],
])('the stand-in for %s needs nothing of this library, and nothing but Node', (_, folder, own) => {
  const loaded = loadedBy(`await import('./src/testing/${folder}/server.ts')`)
  expect(loaded.filter((name) => !own.test(name))).toEqual([])
  expect(loaded).toContain('node:http')
})
