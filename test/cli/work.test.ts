import { once } from 'node:events'
import { appendFileSync, existsSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { outputOn } from '../../src/cli/output.ts'
import { writeDeaths, writeNews } from '../../src/cli/views/work-news.ts'
import { loadAgent } from '../../src/cli/work/agent.ts'
import type { News } from '../../src/cli/work/life.ts'
import { restartDelay } from '../../src/cli/work/supervise.ts'
import { openStore, type Store } from '../../src/index.ts'
import { messagesApi } from '../../src/testing/messages-api/server.ts'
import { atEnd } from '../support/at-end.ts'
import { text } from '../support/log.ts'
import { endsWithTest, startHeard } from '../support/node.ts'
import { temporaryFolder } from '../support/stores.ts'
import { inDirectory, program, shell } from './palimpsest.ts'

const agent = (api: string): string => `
import Anthropic from '${import.meta.resolve('@anthropic-ai/sdk')}'
const client = new Anthropic({ baseURL: '${api}', apiKey: 'key', maxRetries: 0 })
console.log('not an answer of the command')
export default ({ id }) => ({ client, model: 'claude-opus-5-5', system: id })
`

const said = async (store: Store, id: string): Promise<readonly string[]> =>
  (await store.conversation(id).effective()).map((item) => (item.kind === 'message' ? item.role : item.kind))

const ask = (store: Store, id: string) =>
  store.conversation(id).append({ role: 'user', content: 'Is it there?' }, { answer: true })

/** `palimpsest work` on a store in a folder, with a model that answers when the gate is opened. */
const working = async (options: readonly string[], code = agent) => {
  const folder = temporaryFolder()
  const where = join(folder, 'store.db')
  const url = `sqlite:${where}`
  const store = await openStore(url)
  const gate = Promise.withResolvers<void>()
  let calls = 0
  let held: Promise<void> = gate.promise
  const api = await messagesApi({
    reply: async () => {
      calls++
      await held
      return { content: [text('Yes.')] }
    },
  })
  atEnd(store.close, api.close)
  writeFileSync(join(folder, 'agent.mjs'), code(api.url))
  const path = await program()
  const args = ['work', join(folder, 'agent.mjs'), '--store', url, '--json', ...options]
  const begin = () => {
    const child = startHeard(path, ...args)
    endsWithTest(child, 'SIGTERM')
    const news: News[] = []
    if (child.stdout) createInterface(child.stdout).on('line', (line) => news.push(JSON.parse(line) as News))
    return { child, news }
  }
  const hold = (until: Promise<void>): void => {
    held = until
  }
  return { store, where, calls: () => calls, begin, open: gate.resolve, hold }
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

const until = async (isSo: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 10))
}

const ofType = <T extends News['type']>(news: readonly News[], type: T) =>
  news.filter((each): each is Extract<News, { readonly type: T }> => each.type === type)

describe('palimpsest work', () => {
  test('answers each conversation once, though a process is killed, whose place one that stands by takes, and ends those in progress on SIGTERM', async () => {
    const { store, calls, begin, open, hold } = await working([
      '--processes',
      '2',
      '--slots',
      '3',
      '--name',
      'w',
    ])
    const ids = Array.from({ length: 10 }, (_, n) => `c${n}`)
    for (const id of ids) await ask(store, id)
    const { child, news } = begin()
    await until(() => calls() >= 4 && ofType(news, 'started').length === 2)
    await until(() => ofType(news, 'spare').length === 1)
    for await (const { workers } of store.workers()) expect(workers).toHaveLength(2)
    process.kill(Number(ofType(news, 'started')[0]?.pid), 'SIGKILL')
    await until(() => ofType(news, 'ended').length === 1)
    open()
    await until(async () =>
      (await Promise.all(ids.map((id) => said(store, id)))).every((all) => all.length > 1),
    )
    for (const id of ids) expect(await said(store, id)).toEqual(['user', 'assistant'])
    expect(ofType(news, 'ended')[0]).toMatchObject({ by: 'SIGKILL', restartIn: 0 })
    await until(() => ofType(news, 'started').length === 3)
    expect(ofType(news, 'started')[2]).toEqual({ ...ofType(news, 'spare')[0], type: 'started' })
    await until(() => ofType(news, 'spare').length === 2)

    const late = Promise.withResolvers<void>()
    hold(late.promise)
    const before = calls()
    await ask(store, 'late')
    await until(() => calls() > before)
    child.kill('SIGTERM')
    late.resolve()
    expect(await once(child, 'close')).toEqual([0, null])
    expect(await said(store, 'late')).toEqual(['user', 'assistant'])
    const settled = ofType(news, 'step').filter(({ outcome }) => outcome === 'settled')
    expect(settled.map(({ conversation }) => conversation).toSorted()).toEqual([...ids, 'late'].toSorted())
    const steps = []
    for await (const step of store.steps()) steps.push(step)
    expect(steps).toEqual([])
  })

  test('that is killed itself leaves nothing behind: its processes finish their steps, and end', async () => {
    const { store, calls, begin, open } = await working(['--processes', '2', '--slots', '1'])
    for (const id of ['a', 'b', 'later']) await ask(store, id)
    const { child, news } = begin()
    await until(() => calls() === 2 && ofType(news, 'started').length === 2)
    child.kill('SIGKILL')
    await once(child, 'exit')
    open()
    const pids = ofType(news, 'started').map(({ pid }) => Number(pid))
    await until(() => !pids.some(isAlive))
    for await (const { workers, steps } of store.workers())
      expect({ workers, steps }).toMatchObject({ workers: [], steps: [{ state: 'open' }] })
  })

  test.each([
    ['is not there', '', 1, 'there is no such file'],
    ['throws', 'throw new Error("out of cheese")\nexport default 1', 2, 'out of cheese, at agent.mjs:1:7'],
    ['exports nothing by default', 'export const turn = () => ({})', 1, 'it has no default export'],
    ['exports something else', 'export default { turn: 5 }', 1, 'its default export is not an agent'],
  ])('says what is wrong with an agent that %s, and ends', async (_, code, processes, message) => {
    await inDirectory(async (folder) => {
      if (code !== '') writeFileSync(join(folder, 'agent.mjs'), code)
      await shell('palimpsest append a --role user --text hello', folder)
      const ran = await shell(`palimpsest work agent.mjs --processes ${processes} --json`, folder)
      expect(ran).toMatchObject({ stdout: '', code: 1 })
      const { error } = JSON.parse(ran.stderr) as { readonly error: unknown }
      expect(error).toMatchObject({
        _tag: 'AgentFailed',
        file: 'agent.mjs',
        message: expect.stringContaining(message),
      })
    })
  })

  test('says how to have an agent loaded that Node takes for CommonJS, or cannot strip of its types', () =>
    inDirectory(async (folder) => {
      writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }')
      writeFileSync(join(folder, 'agent.ts'), 'import "node:fs"\nexport default () => ({})')
      writeFileSync(join(folder, 'enum.mts'), 'enum A { b }\nexport default () => ({})')
      const errorOf = async (file: string): Promise<string> =>
        (await shell(`palimpsest work ${file}`, folder)).stderr
      expect(await errorOf('agent.ts')).toMatch(
        /rename it to agent\.mts, or put "type": "module" into package\.json$/m,
      )
      writeFileSync(join(folder, 'missing.mjs'), 'import "no-such-package"\nexport default () => ({})')
      expect(await errorOf('missing.mjs')).toMatch(
        /Cannot find package 'no-such-package' .*: install it with npm, in the folder of the module$/m,
      )
      expect(await errorOf('enum.mts')).toMatch(
        /Node only strips types: compile the module first, or avoid that syntax$/m,
      )
    }))

  test('may be started before there is a store: it is created, and what is asked later is answered', async () => {
    const { begin, store, open, where } = await working([])
    await store.close()
    rmSync(where, { force: true })
    open()
    const { news } = begin()
    await until(() => ofType(news, 'started').length === 1)
    const later = await openStore(`sqlite:${where}`)
    atEnd(later.close)
    await ask(later, 'c')
    await until(async () => (await said(later, 'c')).length > 1)
    expect(await said(later, 'c')).toEqual(['user', 'assistant'])
  })

  test('limits how much memory its processes keep for new objects', async () => {
    const telling = (api: string): string =>
      agent(api).replace('system: id', 'system: String(process.execArgv)')
    const { store, begin, open } = await working([], telling)
    open()
    await ask(store, 'c')
    begin()
    await until(async () => (await said(store, 'c')).length === 2)
    const { system } = (await store.conversation('c').context()).layout.configuration ?? {}
    expect(system).toContain('--max-semi-space-size=8')
  })

  test.each(['a b', '', 'x'.repeat(164)])(
    'refuses a name that no stream can have (%j), and starts nothing',
    (name) =>
      inDirectory(async (folder) => {
        writeFileSync(join(folder, 'agent.mjs'), 'export default () => ({})')
        const ran = await shell(`palimpsest work agent.mjs --json --name '${name}'`, folder)
        expect(ran).toMatchObject({ stdout: '', code: 2 })
      }),
  )

  test('refuses such a name of the agent, too: nothing is recorded of a worker', async () => {
    const named = (api: string) =>
      agent(api).replace('export default', 'const turn =') +
      `
export default { turn, name: 'a b' }
`
    const { begin, store } = await working([], named)
    const { child, news } = begin()
    const [code] = (await once(child, 'exit')) as [number]
    expect(code).not.toBe(0)
    expect(news).toEqual([])
    for await (const { workers } of store.workers()) expect(workers).toEqual([])
  })

  test('continues once the file of its store is put back, and creates no other one meanwhile', async () => {
    const { store, where, begin, open } = await working([])
    open()
    const { news } = begin()
    await ask(store, 'a')
    await until(() => ofType(news, 'step').length === 1)
    await store.close()
    renameSync(where, `${where}-away`)
    await until(() => ofType(news, 'ended').length > 1)
    expect(existsSync(where)).toBe(false)
    renameSync(`${where}-away`, where)
    const again = await openStore(`sqlite:${where}`)
    atEnd(again.close)
    await ask(again, 'b')
    await until(() => ofType(news, 'step').length === 2)
    expect(await said(again, 'b')).toEqual(['user', 'assistant'])
  })

  test('creates a store once: a process that is loaded after the file was moved creates no other one', async () => {
    const slowly = (api: string): string => `
import { existsSync, mkdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
const at = (name) => new URL(name, import.meta.url)
let isFirst = true
try { mkdirSync(at('first')) } catch { isFirst = false }
while (!isFirst && !existsSync(at('go'))) await sleep(20)
${agent(api)}`
    const { store, where, begin } = await working(['--processes', '2'], slowly)
    await store.close()
    rmSync(where)
    const { news } = begin()
    await until(() => ofType(news, 'started').length === 1)
    renameSync(where, `${where}-away`)
    writeFileSync(join(dirname(where), 'go'), '')
    await until(() => ofType(news, 'ended').some(({ error }) => error?.startsWith('there is no store')))
    expect(existsSync(where)).toBe(false)
    renameSync(`${where}-away`, where)
    await until(() => ofType(news, 'started').length >= 2)
  })

  test('that ends because a process cannot load the agent says so before it says what it waits for', async () => {
    const failing = (api: string): string => `
import { existsSync, mkdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
const at = (name) => new URL(name, import.meta.url)
let isFirst = true
try { mkdirSync(at('first')) } catch { isFirst = false }
while (!isFirst && !existsSync(at('go'))) await sleep(20)
if (!isFirst) throw new Error('in use')
${agent(api)}`
    const { store, where, begin, calls, open } = await working(['--processes', '2'], failing)
    await ask(store, 'a')
    const { child } = begin()
    let printed = ''
    child.stderr?.on('data', (chunk: Buffer) => (printed += chunk.toString()))
    await until(() => calls() === 1)
    writeFileSync(join(dirname(where), 'go'), '')
    await until(() => printed.includes('waiting up to'))
    open()
    const [code] = (await once(child, 'close')) as [number]
    expect(code).toBe(1)
    expect(printed).toMatch(
      /^the command ends, because a process cannot start: the agent .* cannot be loaded: in use, at .*\nwaiting up to 30 s/m,
    )
    expect(await said(store, 'a')).toEqual(['user', 'assistant'])
  })

  test('creates no store for an agent that cannot be loaded, nor says so', () =>
    inDirectory(async (folder) => {
      writeFileSync(join(folder, 'agent.mjs'), 'throw new Error("out of cheese")\nexport default 1')
      const ran = await shell('palimpsest work agent.mjs', folder)
      expect(ran).toMatchObject({ stdout: '', stderr: expect.stringContaining('out of cheese'), code: 1 })
      expect(existsSync(join(folder, 'palimpsest.db'))).toBe(false)
    }))

  test('says that an option of the agent is wrong, and ends: it creates no store', () =>
    inDirectory(async (folder) => {
      writeFileSync(join(folder, 'agent.mjs'), 'export default { turn: () => ({}), slot: 3 }')
      const message = 'the agent agent.mjs cannot be loaded: slot: is unknown: did you mean slots?'
      const ran = await shell('palimpsest work agent.mjs', folder)
      expect(ran).toEqual({ stdout: '', stderr: expect.stringContaining(`error: ${message}\n`), code: 1 })
      expect(existsSync(join(folder, 'palimpsest.db'))).toBe(false)
      await shell('palimpsest append a --role user --text hello', folder)
      for (const command of ['work', 'serve --port 0 --work', 'steps --agent'])
        expect(await shell(`palimpsest ${command} agent.mjs`, folder)).toEqual({
          stdout: '',
          stderr: expect.stringContaining(`error: ${message}\n`),
          code: 1,
        })
      const shared = await shell('palimpsest work agent.mjs --store memory:', folder)
      expect(shared).toMatchObject({ code: 2, stderr: expect.stringContaining('share no memory') })
    }))

  test('ends a process whose agent computes for ever once its grace is over, and frees its steps', async () => {
    const { store, begin } = await working(['--grace', '1'], () => 'export default () => { for (;;); }')
    await ask(store, 'c')
    const { child, news } = begin()
    let printed = ''
    child.stderr?.on('data', (chunk: Buffer) => (printed += chunk.toString()))
    const states = async (): Promise<readonly string[]> => {
      const all = []
      for await (const { state } of store.steps()) all.push(state)
      return all
    }
    await until(async () => (await states())[0] === 'claimed')
    child.kill('SIGTERM')
    expect(await once(child, 'close')).toEqual([0, null])
    expect(ofType(news, 'ended')).toMatchObject([{ by: 'SIGKILL' }])
    expect(printed).toBe('waiting up to 1 s for turns in progress; Ctrl-C again ends them at once\n')
    expect(await states()).toEqual(['open'])
  })

  test('says what a step waits for that could not reach the API, and how a parked one is tried again', async () => {
    const api = await messagesApi({
      reply: () => ({ status: 400, type: 'invalid_request_error', message: 'bad' }),
    })
    const gone = await messagesApi({ reply: () => ({ content: [] }) })
    await gone.close()
    atEnd(api.close)
    const folder = temporaryFolder()
    const url = `sqlite:${join(folder, 'store.db')}`
    const store = await openStore(url)
    atEnd(store.close)
    const file = join(folder, 'agent.mjs')
    writeFileSync(
      file,
      `import Anthropic from '${import.meta.resolve('@anthropic-ai/sdk')}'
const at = (baseURL) => new Anthropic({ baseURL, apiKey: 'key', maxRetries: 0 })
const client = { refused: at('${api.url}'), gone: at('${gone.url}') }
export default ({ id }) => ({ client: client[id], model: 'claude-opus-5-5', maxRetries: 0 })`,
    )
    for (const id of ['refused', 'gone']) await ask(store, id)
    const child = startHeard(await program(), 'work', file, '--store', url)
    endsWithTest(child, 'SIGTERM')
    let output = ''
    child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()))
    await until(() => /^refused /m.test(output) && /^gone .*\n/m.test(output))
    expect(output).toMatch(
      /^refused {2}parked .*\(fix the cause; palimpsest retry refused lets workers try again\)$/m,
    )
    expect(output).toMatch(
      /^gone {2}free .*did not answer.*\(not counted as an attempt; tried again in \d+ s\)$/m,
    )
  })

  test('says which agent is still loading, if that takes long', async () => {
    const file = join(temporaryFolder(), 'agent.mjs')
    writeFileSync(file, 'await globalThis.agentMayLoad\nexport default () => ({})')
    const may = Promise.withResolvers<void>()
    Object.assign(globalThis, { agentMayLoad: may.promise })
    atEnd(() => void Reflect.deleteProperty(globalThis, 'agentMayLoad'))
    let written = ''
    const write = (note: string): void => {
      written += note
      may.resolve()
    }
    expect(await loadAgent(file, { write }, 1)).toMatchObject({ turn: expect.any(Function) })
    expect(written).toBe(`the agent ${file} is still loading: check what it awaits\n`)
  })

  test('says once that the agent changed since it was loaded, though each of its processes uses the old one', async () => {
    const { store, where, begin, calls, open } = await working(['--processes', '2', '--slots', '1'])
    const { child, news } = begin()
    let printed = ''
    child.stderr?.on('data', (chunk: Buffer) => (printed += chunk.toString()))
    await until(() => ofType(news, 'started').length === 2)
    const file = join(dirname(where), 'agent.mjs')
    appendFileSync(file, '// edited')
    for (const id of ['a', 'b']) await ask(store, id)
    await until(() => calls() === 2)
    open()
    await until(() => ofType(news, 'step').length === 2)
    child.kill('SIGTERM')
    await once(child, 'close')
    expect(printed.match(/.*changed since.*\n/g)).toEqual([
      `${file} changed since it was loaded: restart this command to use it\n`,
    ])
  })

  test('refuses a mistyped agent before it says that it creates a store', () =>
    inDirectory(async (directory) => {
      expect(await shell('palimpsest work agnt.ts', directory)).toEqual({
        stdout: '',
        stderr: 'error: the agent agnt.ts cannot be loaded: there is no such file: check the path\n',
        code: 1,
      })
      expect(existsSync(join(directory, 'palimpsest.db'))).toBe(false)
    }))

  test('names the step during which a process died, and below the line what it waits for', async () => {
    const folder = temporaryFolder()
    const url = `sqlite:${join(folder, 'store.db')}`
    const store = await openStore(url)
    atEnd(store.close)
    const file = join(folder, 'agent.mjs')
    writeFileSync(
      file,
      `import { existsSync, writeFileSync } from 'node:fs'
export default () => {
  const died = ['${folder}/once', '${folder}/twice'].find((name) => !existsSync(name))
  if (died) writeFileSync(died, '')
  if (died) process.kill(process.pid, 'SIGKILL')
  throw new Error('no address')
}`,
    )
    await ask(store, 'c')
    const child = startHeard(await program(), 'work', file, '--store', url)
    endsWithTest(child, 'SIGTERM')
    let output = ''
    child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()))
    await until(() => /^c {2}failed.*\n/m.test(output) && output.includes('attempt 2 of 5'))
    expect(output).toMatch(/^ {2}c {2}its process died {2}attempt 1 of 5, step conversation@0$/m)
    expect(output).toMatch(
      /attempt 2 of 5, step conversation@0; 2 workers died during it: palimpsest log c --turns shows it, palimpsest pause c keeps/,
    )
  })

  test('names the steps of a process that ends with code 0, and of one after the file of its store was replaced', async () => {
    const folder = temporaryFolder()
    const where = join(folder, 'store.db')
    const store = await openStore(`sqlite:${where}`)
    atEnd(store.close)
    const file = join(folder, 'agent.mjs')
    writeFileSync(
      file,
      `import { rmSync } from 'node:fs'
export default async ({ id }) => {
  rmSync('${folder}/' + id)
  process.exit(0)
}`,
    )
    for (const id of ['a', 'b']) writeFileSync(join(folder, id), '')
    const child = startHeard(await program(), 'work', file, '--store', `sqlite:${where}`)
    endsWithTest(child, 'SIGKILL')
    let output = ''
    child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()))
    await ask(store, 'a')
    await until(() => /^ {2}a {2}its process died {2}attempt 1 of 5, step conversation@0$/m.test(output))
    await store.backup(join(folder, 'copy.db'))
    await store.close()
    for (const suffix of ['', '-wal', '-shm']) rmSync(where + suffix, { force: true })
    renameSync(join(folder, 'copy.db'), where)
    const again = await openStore(`sqlite:${where}`)
    atEnd(again.close)
    await ask(again, 'b')
    await until(() => /^ {2}b {2}its process died.*\n/m.test(output))
    expect(output).toMatch(/^ {2}b {2}its process died {2}attempt 1 of 5, step conversation@0$/m)
  })

  test('says of a process that the agent ends while it is loaded that it has not begun', async () => {
    const stream = new PassThrough()
    await writeNews(outputOn(stream), { type: 'ended', by: 7, restartIn: 100 })
    expect(String(stream.read())).toBe(
      'a process ended (exit code 7) before its agent was loaded; starts again in 0.1 s\n',
    )
  })

  test('names a step of a process that died even if others have answered it by then', async () => {
    const stream = new PassThrough()
    await writeDeaths(outputOn(stream), [{ conversation: 'c' }])
    expect(String(stream.read())).toBe('  c  its process died\n')
  })

  test('answers what nobody has asked for, if it is told to', async () => {
    const { store, begin, open } = await working(['--answer-all'])
    open()
    await store.conversation('c').append({ role: 'user', content: 'Is it there?' })
    const { child } = begin()
    await until(async () => (await said(store, 'c')).length === 2)
    child.kill('SIGTERM')
    expect(await once(child, 'close')).toEqual([0, null])
  })

  test('starts a process again after 0.1 s, twice that each time it dies, at most 10 s', () => {
    const delays: number[] = []
    for (let n = 0; n < 9; n++) delays.push(restartDelay(delays.at(-1), 5))
    expect(delays).toEqual([100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000])
    expect(restartDelay(6_400, 60_000)).toBe(100)
  })
})
