import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { atEnd } from '../support/at-end.ts'
import { brokenLinks } from '../support/links.ts'
import { node } from '../support/node.ts'
import { root, run, unpacked, withDependencies } from './unpacked.ts'

const sample = '6513270e-269e-4d37-b2a7-4de452e6b438'

describe('the package as it is published', () => {
  let folder: string
  let own: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'palimpsest-packed-'))
    own = await unpacked(folder)
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  const ran = async (...args: readonly string[]): Promise<string> => {
    const { stdout, stderr } = await run(node, [...args], { cwd: folder, maxBuffer: 2 ** 26 })
    expect(stderr).toBe('')
    return stdout
  }
  const palimpsest = (...args: readonly string[]): Promise<string> =>
    ran(join(own, 'bin/palimpsest.js'), ...args)
  /** Runs a module, which prints JSON. */
  const evaluated = async (program: string): Promise<unknown> =>
    JSON.parse(await ran('--input-type=module', '-e', program))

  test('knows its version, has help, and imports and shows the sample that it brings', async () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
    expect(await palimpsest('--version')).toBe(`${version}\n`)
    expect(await palimpsest('--help')).toContain('palimpsest show ID')
    await palimpsest('start')
    const shown = await palimpsest('show', sample)
    expect(shown).toBe(await ran(join(root, 'bin/palimpsest.js'), 'show', sample))
    expect(shown.split('\n').length).toBeGreaterThan(5)
  })

  test('is built before it is packed', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: object }
    expect(scripts).toMatchObject({ prepack: 'npm run build' })
  })

  test('is installed as the README says, which alone says how', async () => {
    const says = /npm (?:i|install|add) [^\n]*palimpsest|npm pack|not on npm/
    const all = globSync(['*.md', '{docs,examples,src,bin}/**/*.{md,ts,tsx,js,html}'], { cwd: root })
    const where = all.filter((file) => says.test(readFileSync(join(root, file), 'utf8')))
    expect(where.filter((file) => !/^CHANGELOG|^docs\/adr\//.test(file))).toEqual(['README.md'])
    const readme = readFileSync(join(root, 'README.md'), 'utf8')
    const [, tarball = ''] = /^npm install path\/to\/(\S+)/m.exec(readme) ?? []
    const empty = await mkdtemp(join(tmpdir(), 'palimpsest-installed-'))
    atEnd(() => rm(empty, { recursive: true, force: true }))
    withDependencies(empty)
    await run('npm', ['install', '--offline', join(folder, tarball)], { cwd: empty })
    const { stdout } = await run(node, [join(empty, 'node_modules/.bin/palimpsest'), 'start'], { cwd: empty })
    expect(stdout).toContain('Imported the claude-code session')
    const loads = `import('palimpsest').then(({ openStore }) => openStore('memory:')).then(({ url }) => console.log(url))`
    expect((await run(node, ['-e', loads], { cwd: empty })).stdout).toBe('memory:\n')
  })

  test('starts the processes of workers', async () => {
    await palimpsest('append', 'asked', '--role', 'user', '--text', 'Is it there?')
    const work = run(node, [join(own, 'bin/palimpsest.js'), 'work', 'none.mjs', '--json'], { cwd: folder })
    const refused: unknown = await work.catch((error: unknown) => error)
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('"AgentFailed"') })
  })

  test('replays an agent, and writes the page of compared policies', async () => {
    await palimpsest('import', join(root, 'examples/sessions/receipts.jsonl'))
    writeFileSync(join(folder, 'other.mjs'), `export default () => ({ model: 'other', system: 'Be brief.' })`)
    const replayed = run(
      node,
      [join(own, 'bin/palimpsest.js'), 'replay', 'hours-invoice', '--agent', 'other.mjs'],
      { cwd: folder },
    )
    const differs: unknown = await replayed.catch((error: unknown) => error)
    expect(differs).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^differs at 2, call 1: request \w+/),
      stderr: '',
    })
    writeFileSync(join(folder, 'small.json'), '{"context":{"window":4000,"reserved":800},"mode":"truncate"}')
    const compared = ['replay', 'hours-invoice', '--compare', 'small.json', '--html', 'if.html']
    await run(node, [join(own, 'bin/palimpsest.js'), ...compared], { cwd: folder })
    expect(readFileSync(join(folder, 'if.html'), 'utf8')).toContain('<title>What if: hours-invoice</title>')
  })

  test('serves its page, and what the page is made of', async () => {
    const args = [join(own, 'bin/palimpsest.js'), 'serve', '--port', '0', '--json']
    const child = spawn(node, args, { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] })
    try {
      const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
      const { url } = JSON.parse(line) as { readonly url: string }
      const page = await (await fetch(`${url}/c/any?at=1`)).text()
      const assets = [...page.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path)
      expect(assets.length).toBeGreaterThan(1)
      for (const path of assets) expect((await fetch(url + path)).status).toBe(200)
    } finally {
      child.kill('SIGKILL')
    }
  })

  test('reads a large document in a thread of its own, and writes every format', async () => {
    const content = 'x'.repeat(1_100_000)
    writeFileSync(join(folder, 'large.json'), JSON.stringify({ messages: [{ role: 'user', content }] }))
    const imported: unknown = JSON.parse(await palimpsest('import', 'large.json', '--id', 'large', '--json'))
    expect(imported).toMatchObject({ imported: [{ conversations: [{ id: 'large', added: 1 }] }] })
    for (const format of ['palimpsest', 'anthropic', 'markdown'])
      expect(await palimpsest('export', 'large', '--format', format, '--json')).toContain(content)
  })

  test('finds the driver of a store that is not a file', async () => {
    const doctor = palimpsest('doctor', '--store', 'esdb://127.0.0.1:1?tls=false')
    const { stdout } = await doctor.then(
      (text) => ({ stdout: text }),
      (error: { readonly stdout: string }) => error,
    )
    expect(stdout).toContain('problem\tconnection')
  })

  test('has a command line that knows the stores a module registers', async () => {
    cpSync(join(root, 'examples/store/jsonl.ts'), join(folder, 'jsonl.ts'))
    const options = ['--import', './jsonl.ts', '--store', 'jsonl:a.jsonl', '--json']
    const answer = async (...args: readonly string[]): Promise<unknown> =>
      JSON.parse(await palimpsest(...options, ...args))
    const file = join(own, 'examples/sessions/claude-code.jsonl')
    expect(await answer('import', file, '--id', 'a')).toMatchObject({
      imported: [{ conversations: [{ id: 'a', added: 34 }] }],
    })
    // A disk that is full: no file may grow beyond 128 KiB.
    writeFileSync(join(folder, 'long.txt'), 'x'.repeat(120_000))
    const append = [
      join(own, 'bin/palimpsest.js'),
      ...options,
      'append',
      'a',
      '--role',
      'user',
      '--file',
      'long.txt',
    ]
    const full = run('bash', ['-c', 'ulimit -f 128; exec "$@"', 'bash', node, ...append], { cwd: folder })
    const refused: unknown = await full.catch((error: unknown) => error)
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('"StoreUnavailable"') })
    expect(await answer('verify')).toMatchObject({ ok: true, conversations: [{ events: 34 }] })
  })

  test('has entry points that share their modules, and each loads only what it needs', async () => {
    const loaded = await evaluated(`
      import { registerHooks } from 'node:module'
      const loaded = []
      const all = []
      registerHooks({
        load: (url, context, next) => {
          for (const list of [loaded, all]) list.push(url.replace(/.*node_modules\\//, ''))
          return next(url, context)
        },
      })
      const since = async (name) => { loaded.length = 0; const module = await import(name); return [module, [...loaded]] }
      const [core, ofCore] = await since('palimpsest/core')
      const [main, ofMain] = await since('palimpsest')
      const [fp] = await since('palimpsest/fp')
      const [testing] = await since('palimpsest/testing')
      const store = await main.openStore(testing.memoryStore())
      await store.importSession({ file: 'a', id: 'a', text: '[{"role":"user","content":"Hello."}]' })
      console.log(JSON.stringify({
        ofCore,
        ofMain,
        all,
        isShared: core.decide === fp.decide && main.sliceOf === core.sliceOf && main.isError === fp.isError,
        items: (await store.conversation('a').effective()).length,
      }))
    `)
    expect(loaded).toMatchObject({ isShared: true, items: 1 })
    const { ofCore, ofMain, all } = loaded as Readonly<Record<'ofCore' | 'ofMain' | 'all', readonly string[]>>
    expect(ofCore.filter((url) => !url.startsWith('node:')).toSorted()).toEqual([
      'palimpsest/dist/chunks/core.js',
      'palimpsest/dist/core.js',
    ])
    expect(ofMain.filter((url) => !url.startsWith('node:')).toSorted()).toEqual([
      'palimpsest/dist/chunks/library.js',
      'palimpsest/dist/chunks/needed-node.js',
      'palimpsest/dist/index.js',
    ])
    // Not the drivers, nor what only the command line needs.
    expect(all).toContain('palimpsest/dist/chunks/import.js')
    expect(all.filter((url) => /cli|sqlite|eventstore/.test(url))).toEqual([])
  })

  test('has a command line that starts with what every command needs', () => {
    const code = readFileSync(join(own, 'dist/chunks/cli.js'), 'utf8')
    // Two chunks of one name get a number.
    const chunks = [...code.matchAll(/^import .*"\.\/(.*?)\d*\.js";$/gm)].map(([, name]) => name)
    expect(new Set(chunks)).toEqual(new Set(['core', 'library', 'rolldown-runtime', 'tokens']))
  })

  test.each(['palimpsest', 'palimpsest/fp'])('%s says on an older Node which it needs', async (name) => {
    const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      readonly engines: { readonly node: string }
    }
    const older = `data:text/javascript,Object.defineProperty(process, 'version', { value: 'v22.17.1' })`
    const imported = run(node, ['--import', older, '--input-type=module', '-e', `import '${name}'`], {
      cwd: folder,
    })
    const needed = engines.node.replace('>=', '')
    const refused: unknown = await imported.catch((error: unknown) => error)
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        `Error: palimpsest needs Node ${needed} or newer; this is v22.17.1: upgrade Node\n`,
      ),
    })
  })

  test('opens and reads an SQLite file without threads and streams', async () => {
    await evaluated(`
      import { openStore } from 'palimpsest'
      const store = await openStore('sqlite:few.db')
      await store.conversation('a').append({ role: 'user', content: 'Hello.' })
      await store.close()
      console.log(0)
    `)
    const loaded = await evaluated(`
      import { openStore } from 'palimpsest'
      const before = new Set(process.moduleLoadList)
      const store = await openStore('sqlite:few.db')
      const { length } = await store.conversation('a').effective()
      const added = process.moduleLoadList.filter((name) => !before.has(name))
      // They would take as long to load as the file takes to be opened and read.
      const loaded = added.filter((name) => /worker|streams|readline/.test(name))
      console.log(JSON.stringify({ length, loaded }))
      await store.close()
    `)
    expect(loaded).toEqual({ length: 1, loaded: [] })
  })

  test('says in the stack of an error which function it was in', async () => {
    const stack = await evaluated(`
      import { openStore } from 'palimpsest'
      import { memoryStore } from 'palimpsest/testing'
      const broken = () => { throw new TypeError('out of cheese') }
      const store = await openStore({ ...memoryStore(), read: broken })
      const error = await store.conversation('a').append({ role: 'user', content: 'Hello.' }).catch((error) => error)
      console.log(JSON.stringify(error.stack))
    `)
    expect(stack).toMatch(/^TypeError: out of cheese\n/)
    expect(stack).toMatch(/\n +at readConversationEnd \(.*chunks\/library\.js:\d+:\d+\)\n/)
  })

  test('brings no source maps, no declarations of its command line, and the licenses of the code that it took', () => {
    const files = globSync('**', { cwd: own })
    expect(files.filter((file) => /\.map$|^dist\/cli\/.*\.d\.ts$/.test(file))).toEqual([])
    const licenses = readFileSync(join(own, 'dist/THIRD-PARTY-LICENSES.txt'), 'utf8')
    for (const name of [
      'zod',
      'fp-ts',
      'canonicalize',
      'commander',
      'cli-table3',
      'cli-progress',
      'picocolors',
    ])
      expect(licenses).toMatch(new RegExp(`^${name} \\d`, 'm'))
  })

  test('brings every document that its documents link to', () => {
    const documents = globSync('**/*.md', { cwd: own })
    expect(documents).toContain('README.md')
    expect(documents.length).toBeGreaterThan(10)
    expect(documents.flatMap((file) => brokenLinks(own, file))).toEqual([])
  })
})
