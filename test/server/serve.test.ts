import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { renameSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { serve } from '../../src/server/serve.ts'
import { atEnd } from '../support/at-end.ts'
import { endsWithTest, node, quiet, startHeard } from '../support/node.ts'
import { opened, temporaryFolder } from '../support/stores.ts'
import { inDirectory, program, shell } from '../cli/palimpsest.ts'

const again =
  'put back a copy, or move it away and create every token again with palimpsest serve token create'

describe('palimpsest serve', () => {
  test('serves until it is told to end, and logs each request without its content', async () => {
    const url = `sqlite:${join(temporaryFolder(), 'store.db')}`
    const child = startHeard(await program(), 'serve', '--port', '0', '--store', url, '--json')
    endsWithTest(child)
    let log = ''
    child.stderr?.on('data', (chunk: Buffer) => (log += chunk.toString()))
    const lines = createInterface(child.stdout as NodeJS.ReadableStream)
    const [line] = (await once(lines, 'line')) as [string]
    const api = `${(JSON.parse(line) as { url: string }).url}/api/v1`
    const headers = { 'content-type': 'application/json' }
    const messages = [{ role: 'user', content: 'A secret plan.' }]
    const body = JSON.stringify({ id: 'a', messages })
    expect((await fetch(`${api}/conversations`, { method: 'POST', headers, body })).status).toBe(201)
    const stream = await fetch(`${api}/conversations/a/events`, { headers: { accept: 'text/event-stream' } })
    const told = stream.body?.pipeThrough(new TextDecoderStream()).values()
    let text = ''
    while (!text.includes('event: caught-up')) text += String((await told?.next())?.value)
    child.kill('SIGTERM')
    expect((await told?.next())?.done).toBe(true)
    expect((await once(child, 'exit'))[0]).toBe(0)
    const requests = log
      .trim()
      .split('\n')
      .map((one) => JSON.parse(one) as object)
    expect(requests).toMatchObject([
      { method: 'POST', route: '/api/v1/conversations', status: 201, by: 'user' },
      { method: 'GET', route: '/api/v1/conversations/:id/events', status: 200, by: 'user' },
    ])
    expect(log).not.toContain('secret')
    const store = await openStore(url)
    expect(await store.conversation('a').position()).toBe(0)
    await store.close()
  })

  test('needs tokens where other machines can reach it, and says why it does not begin', () =>
    inDirectory(async (directory) => {
      const says = (command: string) => shell(`palimpsest ${command}`, directory)
      expect(await says('serve --host 0.0.0.0')).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('add --token-file') as string,
      })
      expect(await says('serve --token-file none.json')).toMatchObject({
        code: 1,
        stderr: 'error: token file none.json: is missing: create it with palimpsest serve token create\n',
      })
      expect((await says('serve token list --file none.json')).stderr).toBe(
        'error: token file none.json: is missing: create it with palimpsest serve token create\n',
      )
      writeFileSync(join(directory, 'text.json'), 'pal_secret')
      writeFileSync(join(directory, 'other.json'), '{"name": "ann"}')
      for (const [file, problem] of [
        ['.', 'it cannot be read (it is a directory): check the path'],
        ['text.json', `is not JSON: ${again}`],
        ['other.json', `has the wrong form (name: is unknown: expected one of tokens): ${again}`],
      ] as const)
        expect((await says(`serve --token-file ${file}`)).stderr).toBe(
          `error: token file ${file}: ${problem}\n`,
        )
      expect(await says('serve token create ann --file no/tokens.json')).toMatchObject({
        code: 1,
        stderr: 'error: token file no/tokens.json: there is no folder no: create it first\n',
      })
      await says('serve token create eve --scopes read,audit write --file eve.json')
      expect((await says('serve token list --file eve.json')).stdout).toMatch(/^eve\tread audit write\t/)
      expect((await says('serve token create bob --scopes read,all')).stderr).toContain('Allowed choices are')
      const { stdout } = await says('serve token create ann --json')
      expect(JSON.parse(stdout)).toMatchObject({ name: 'ann', scopes: ['read', 'write'] })
      expect((await says('serve token list')).stdout).toMatch(/^ann\tread write\t2/)
      expect((await says('serve token create ann')).stderr).toContain('has a token named ann')
      expect((await says('token create "a b"')).stderr).toContain('name: must have 1 to 64 characters')
      expect((await says('token revoke ann')).stdout).toBe('the token of ann is no longer valid\n')
      expect((await says('serve token revoke ann')).code).toBe(1)
    }))
})

test('a token file in the folder that the server does not use is named', () =>
  inDirectory(async (directory) => {
    await shell('palimpsest serve token create ann', directory)
    const serving = async (...options: readonly string[]): Promise<string> => {
      const args = [await program(), 'serve', '--port', '0', ...options]
      const child = spawn(node, args, { cwd: directory, env: quiet, stdio: ['ignore', 'pipe', 'pipe'] })
      endsWithTest(child)
      let said = ''
      child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
      await once(createInterface(child.stdout), 'line')
      child.kill('SIGTERM')
      await once(child, 'close')
      return said
    }
    expect(await serving()).toContain('tokens.json is not used')
    expect(await serving('--token-file', 'tokens.json')).toBe('')
  }))

test('a store that does not exist yet is named, as its path may be mistyped', () =>
  inDirectory(async (directory) => {
    const said = async (): Promise<readonly string[]> => {
      const args = [await program(), 'serve', '--port', '0', '--store', 'sqlite:typo.db']
      const child = spawn(node, args, { cwd: directory, env: quiet, stdio: ['ignore', 'pipe', 'inherit'] })
      endsWithTest(child)
      const lines: string[] = []
      createInterface(child.stdout).on('line', (line) => lines.push(line))
      await once(child.stdout, 'data')
      child.kill('SIGTERM')
      await once(child, 'close')
      return lines
    }
    expect(await said()).toEqual([
      expect.stringContaining('is served on') as string,
      expect.stringContaining('there is no store at sqlite:typo.db yet') as string,
    ])
    await (await openStore(`sqlite:${join(directory, 'typo.db')}`)).close()
    expect(await said()).toEqual([expect.stringContaining('is served on') as string])
  }))

test('a store in a folder that does not exist is refused, by workers, too', () =>
  inDirectory(async (directory) => {
    const agent = join(directory, 'agent.mjs')
    writeFileSync(agent, 'export default () => ({})')
    for (const command of ['serve --port 0', `work ${agent}`])
      expect(await shell(`palimpsest ${command} --store sqlite:nodir/a.db`, directory)).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/^error: sqlite:nodir\/a\.db: there is no folder .*\/nodir: create it/),
      })
  }))

test('palimpsest start --web imports the sample, and serves its page until it is told to end', async () => {
  const url = `sqlite:${join(temporaryFolder(), 'store.db')}`
  const child = startHeard(await program(), 'start', '--web', '--port', '0', '--store', url, '--json')
  endsWithTest(child)
  const [line] = (await once(createInterface(child.stdout as NodeJS.ReadableStream), 'line')) as [string]
  const said = JSON.parse(line) as { readonly url: string; readonly conversation: string }
  const api = `${said.url}/api/v1/conversations/${said.conversation}`
  expect(await (await fetch(api)).json()).toMatchObject({ position: 33 })
  child.kill('SIGINT')
  expect((await once(child, 'exit'))[0]).toBe(0)
})

test('a port that no machine has is wrong usage', () =>
  inDirectory(async (directory) => {
    for (const port of ['99999', '65536', '-1', 'x']) {
      const ran = await shell(`palimpsest serve --port ${port} --json`, directory)
      expect(ran.code).toBe(2)
      expect(JSON.parse(ran.stderr)).toMatchObject({ error: { _tag: 'Usage' } })
    }
  }))

test('a port that is taken is named', async () => {
  const store = await opened('memory:')
  const server = await serve({ store, port: 0 })
  atEnd(server.close)
  const port = Number(new URL(server.url).port)
  await expect(serve({ store, port })).rejects.toMatchObject({ _tag: 'PortTaken' })
  await expect(serve({ store, port: 0, host: '192.0.2.1', tokenFile: 'x' })).rejects.toMatchObject({
    _tag: 'TokenFileError',
  })
})

/** `palimpsest serve --work` with an agent, on a store with a conversation that waits for an answer. */
const servingWith = async (code: string | ((folder: string) => string)) => {
  const folder = temporaryFolder()
  const where = join(folder, 'store.db')
  writeFileSync(join(folder, 'agent.mjs'), typeof code === 'string' ? code : code(folder))
  const store = await openStore(`sqlite:${where}`)
  await store.conversation('a').append({ role: 'user', content: 'Is it there?' }, { answer: true })
  await store.close()
  const options = ['--port', '0', '--store', `sqlite:${where}`, '--work', join(folder, 'agent.mjs')]
  const path = await program()
  const begin = () => {
    const child = startHeard(path, 'serve', ...options)
    endsWithTest(child)
    let said = ''
    child.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()))
    const lines = createInterface(child.stdout as NodeJS.ReadableStream)
    const began = once(lines, 'line')
    const ended = once(child, 'close').then(([status]: unknown[]) => ({ status, said }))
    return { child, lines, began, ended, printed: () => said }
  }
  return { where, begin, ...begin() }
}

describe('palimpsest serve --work', () => {
  test.each([
    ['whose name no stream can have', "export default { turn: () => ({}), name: 'a b' }", 'name'],
    ['with an option that there is not', 'export default { turn: () => ({}), slot: 3 }', 'slot'],
  ])('with an agent %s says so, and does not begin', async (_, code, what) => {
    const { status, said } = await (await servingWith(code)).ended
    expect(said).toMatch(new RegExp(`^error: .*${what}`))
    expect(said).not.toContain('    at ')
    expect(status).toBe(1)
  })

  test('prints attempts that failed, and after a crash of the server the step during which it crashed', async () => {
    const { begin, ended } = await servingWith(
      (folder) => `import { existsSync, writeFileSync } from 'node:fs'
export default () => {
  if (existsSync('${folder}/once')) throw new Error('no address')
  writeFileSync('${folder}/once', '')
  process.exit(3)
}`,
    )
    expect(await ended).toMatchObject({ status: 3 })
    const { lines } = begin()
    const wanted = new Set([
      /^worker-\S+ ended/,
      /^ {2}a {2}its process died {2}attempt 1 of 5, step conversation@0$/,
      /^a {2}failed {2}attempt 2 .*AgentFailed: the agent threw Error: no address, at .*agent\.mjs:3:\d+ .*tried again in/,
    ])
    for await (const line of lines) {
      for (const each of wanted) if (each.test(line)) wanted.delete(each)
      if (wanted.size === 0) break
    }
    expect(wanted.size).toBe(0)
  })

  test('says that the agent changed since it was loaded', async () => {
    const { where, began, printed } = await servingWith('export default () => ({ model: 1 })')
    await began
    const file = join(dirname(where), 'agent.mjs')
    writeFileSync(file, 'export default () => ({ model: "m" })')
    const store = await openStore(`sqlite:${where}`)
    atEnd(store.close)
    await store.conversation('b').append({ role: 'user', content: 'Is it there?' }, { answer: true })
    while (!printed().includes('changed')) await sleep(10)
    expect(printed()).toContain(`${file} changed since it was loaded: restart this command to use it\n`)
  })

  test('ends with its worker, and says why', async () => {
    const { where, began, ended } = await servingWith('export default { turn: () => ({}) }')
    await began
    renameSync(where, `${where}-away`)
    const { status, said } = await ended
    expect(said).toContain("error: the worker has ended: the store's file")
    expect(status).toBe(1)
  })
})
