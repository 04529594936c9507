import { once } from 'node:events'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openStore } from '../../../src/index.ts'
import { serve } from '../../../src/server/serve.ts'
import { program as palimpsest } from '../../cli/palimpsest.ts'
import { atEnd } from '../../support/at-end.ts'
import { bundle } from '../../support/bundle.ts'
import { certified, noTls, tlsFor } from '../../support/eventstoredb/certificate.ts'
import { freezing, frozen, unreachable } from '../../support/eventstoredb/frozen.ts'
import type { Options } from '../../support/eventstoredb/server.ts'
import { root } from '../../support/kept.ts'
import { ended, endsWithTest, node, program, startHeard } from '../../support/node.ts'
import { temporaryServer } from '../../support/stores.ts'

// Nothing here is timed: a process that does not end lets its test time out.
const patient = 'defaultDeadline=60000'
/** For what gets no answer anyhow. */
const impatient = 'defaultDeadline=200&patience=400'
const nodes = (count: number, make: () => Promise<string>): Promise<readonly string[]> =>
  Promise.all(Array.from({ length: count }, make))

// Many processes: each loads a few files in place of all the sources.
const folder = mkdtempSync(join(tmpdir(), 'palimpsest-'))
const child = (name: string): string => join(folder, `${name}.js`)
beforeAll(async () => {
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  for (const name of ['beside', 'frozen'])
    await bundle(program(`store/eventstoredb/children/${name}.ts`), folder)
})
afterAll(() => rmSync(folder, { recursive: true }))

const outputOf = async (url: string, times = 1): Promise<readonly [output: string, code: number | null]> => {
  const { output, code } = await ended(startHeard(child('beside'), url, String(times)))
  return [output.trim(), code]
}

describe.each([
  ['with TLS', true],
  ['without TLS', false],
] as const)(`a process beside a node that is frozen, %s${noTls}`, (_, hasTls) => {
  const begin = async (
    options: Options = {},
  ): Promise<{ readonly address: string; readonly end: string }> => {
    const { certificate, tls } = tlsFor('127.0.0.1')
    const { port } = await temporaryServer({ ...options, ...(hasTls && { tls }) })
    return { address: `127.0.0.1:${port}`, end: hasTls ? `?tlsCAFile=${certificate}` : '?tls=false' }
  }
  const skipped = hasTls && noTls !== ''

  test.skipIf(skipped)(
    'finds the leader through any other node, and ends when it has closed the store',
    async () => {
      const { address, end } = await begin()
      const url = `esdb://${[...(await nodes(3, frozen)), address].join()}${end}&${patient}`
      expect(await outputOf(url, 4)).toEqual(['closed closed closed closed', 0])
    },
  )

  test.skipIf(skipped)(
    'that the others call the leader, waits for the election of another, and ends',
    async () => {
      const [host = '', port = ''] = (await frozen()).split(':')
      let asked = 0
      const self = (): { readonly host: string; readonly port: number } => ({
        host,
        port: asked++ < 2 ? Number(port) : Number(elected.address.split(':')[1]),
      })
      const elected = await begin({ members: () => [self()] })
      const url = `esdb+discover://${elected.address}${elected.end}&${patient}&gossipTimeout=2`
      expect(await outputOf(url)).toEqual(['closed', 0])
    },
  )

  test.skipIf(skipped).each([
    ['one', 1],
    ['all nodes', 3],
  ])('and there is no other (%s): it is told so, and ends', async (__, count) => {
    const end = hasTls ? `?tlsCAFile=${certified('other').certificate}` : '?tls=false'
    const url = `esdb://${(await nodes(count, frozen)).join()}${end}&${impatient}`
    expect(await outputOf(url)).toEqual(['StoreUnavailable', 0])
  })

  test.skipIf(skipped)(
    'only after it has connected: what it has begun comes to an end, and so does it',
    async () => {
      const { address, end } = await begin()
      const proxy = await freezing(Number(address.split(':')[1]))
      const url = `esdb://${proxy.address}${end}&patience=500`
      const follower = spawn(node, [child('frozen'), url], { stdio: ['pipe', 'pipe', 'inherit'] })
      endsWithTest(follower)
      expect(String((await once(follower.stdout, 'data'))[0])).toBe('following ')
      proxy.freeze()
      follower.stdin.end()
      const { output, code } = await ended(follower)
      expect([output, code]).toEqual(['rejected rejected fulfilled fulfilled', 0])
    },
  )
})

test.skipIf(process.platform !== 'linux')(
  'a process beside a node that is gone from the network ends, too',
  async () => {
    const { port } = await temporaryServer()
    const gone = await unreachable()
    expect(await outputOf(`esdb://${gone},127.0.0.1:${port}?tls=false&${patient}`, 4)).toEqual([
      'closed closed closed closed',
      0,
    ])
    expect(await outputOf(`esdb://${gone}?tls=false&${impatient}`)).toEqual(['StoreUnavailable', 0])
  },
)

test('a process whose cluster is down ends, however often the client would look for it', async () => {
  const url = `esdb+discover://127.0.0.1:1?tls=false&${impatient}&maxDiscoverAttempts=1000000`
  expect(await outputOf(url)).toEqual(['StoreUnavailable', 0])
})

test.skipIf(noTls !== '').each([
  ['list', ['list', '--limit', '1'], 0],
  ['doctor', ['doctor'], 0],
  ['verify', ['verify'], 0],
  ['steps', ['steps'], 0],
] as const)(`palimpsest %s ends beside a node that is frozen${noTls}`, async (_, command, expected) => {
  const { certificate, tls } = tlsFor('127.0.0.1')
  const { port } = await temporaryServer({ tls })
  const url = `esdb://${[...(await nodes(3, frozen)), `127.0.0.1:${port}`].join()}?tlsCAFile=${certificate}`
  const { code } = await ended(
    startHeard(await palimpsest(), ...command, '--store', `${url}&${patient}&gossipTimeout=10`),
  )
  expect(code).toBe(expected)
})

test.skipIf(noTls !== '')(
  `palimpsest serve ends when it is told to, also if the store is frozen by then${noTls}`,
  async () => {
    const { certificate, tls } = tlsFor('127.0.0.1')
    const { port } = await temporaryServer({ tls })
    const proxy = await freezing(port)
    const store = `esdb://${proxy.address}?tlsCAFile=${certificate}&patience=500`
    const server = startHeard(await palimpsest(), 'serve', '--port', '0', '--json', '--store', store)
    endsWithTest(server)
    if (!server.stdout) expect.fail('no output')
    await once(server.stdout, 'data')
    proxy.freeze()
    server.kill('SIGTERM')
    expect((await ended(server)).code).toBe(0)
  },
)

test('/readyz says that the store does not answer, long before its patience ends, and again that it does', async () => {
  const { port } = await temporaryServer()
  const proxy = await freezing(port)
  const store = await openStore(`esdb://${proxy.address}?tls=false&defaultDeadline=600000`)
  const server = await serve({ store, port: 0 })
  atEnd(store.close, server.close)
  const ready = async () => {
    const answer = await fetch(`${server.url}/readyz`)
    return [answer.status, await answer.json()]
  }
  expect(await ready()).toEqual([200, { status: 'ready' }])
  proxy.freeze()
  for (let n = 0; n < 2; n++)
    expect(await ready()).toEqual([
      503,
      expect.objectContaining({ detail: expect.stringContaining('has not answered') as string }),
    ])
  proxy.thaw()
  await expect.poll(ready).toEqual([200, { status: 'ready' }])
})
