import { createServer as httpServer, type Server } from 'node:http'
import { createServer as http2Server, type Http2Server } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import * as E from 'fp-ts/lib/Either.js'
import { openStore } from 'palimpsest'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { esdbSettings } from '../../../src/store/eventstoredb/settings.ts'
import { openEventStoreDb } from '../../../src/store/eventstoredb/store.ts'
import { left, right } from '../../support/either.ts'
import { certified, noTls, tlsFor } from '../../support/eventstoredb/certificate.ts'
import type { EventStoreDb } from '../../support/eventstoredb/server.ts'
import { ended, startHeard } from '../../support/node.ts'
import { patient, temporaryServer } from '../../support/stores.ts'

const opened: { readonly close: () => unknown }[] = []
afterEach(async () => {
  vi.unstubAllEnvs()
  for (const { close } of opened.splice(0)) await close()
})

const none = {}
const short = 'defaultDeadline=200&patience=600'
const failureOf = async (url: string): Promise<{ readonly _tag: string; readonly message: string }> =>
  left(await openEventStoreDb(url)())

describe('an EventStoreDB URL', () => {
  test('says where the server is, and nothing else that is printed', () => {
    const settings = right(esdbSettings('esdb://ann:s3cret@host:2113/?tls=false&connectionName=me', none))
    expect(settings).toEqual({
      url: 'esdb://host:2113',
      connectionString: 'esdb://host:2113?tls=false&connectionName=me',
      credentials: { username: 'ann', password: 's3cret' },
      attempt: 5_000,
      patience: 20_000,
      maxAppendBytes: 1_032_192,
    })
  })

  test('sets the time for one attempt and for all, and the limit of an append', () => {
    const url = 'esdb://a,b:2114?defaultDeadline=100&maxAppendBytes=5000'
    expect(right(esdbSettings(url, none))).toMatchObject({
      url: 'esdb://a,b:2114',
      connectionString: 'esdb://a,b:2114?defaultDeadline=100&gossipTimeout=1',
      attempt: 100,
      patience: 400,
      maxAppendBytes: 5_000,
    })
    expect(right(esdbSettings(`${url}&patience=150`, none)).patience).toBe(150)
    for (const discover of ['', '+discover'])
      expect(esdbSettings(`kurrentdb${discover}://a:b@c:2113?tls=false`, none)).toEqual(
        esdbSettings(`esdb${discover}://a:b@c:2113?tls=false`, none),
      )
    const slow = right(esdbSettings('esdb+discover://a?gossipTimeout=3', none))
    expect(slow.connectionString).toBe('esdb+discover://a?gossipTimeout=3')
  })

  test('takes paths and names with any characters', () => {
    const { connectionString } = right(esdbSettings('esdb://h?tlsCAFile=/a+b/c%20d%26.pem', none))
    expect(connectionString).toBe('esdb://h?tlsCAFile=%2Fa%2Bb%2Fc%20d%26.pem')
  })

  const fromEnvironment = { PALIMPSEST_ESDB_USER: 'eve', PALIMPSEST_ESDB_PASSWORD: 'e' }
  test.each([
    ['esdb://h', none, undefined],
    ['esdb://h', { PALIMPSEST_ESDB_USER: '' }, undefined],
    ['esdb://h', fromEnvironment, { username: 'eve', password: 'e' }],
    ['esdb://ann@h', fromEnvironment, { username: 'ann', password: 'e' }],
    ['esdb://ann:a@h', fromEnvironment, { username: 'ann', password: 'a' }],
    ['esdb://ann:a:b@h', none, { username: 'ann', password: 'a:b' }],
    ['esdb://a%40b:p%40%3A%25%2F%3F%23%20%C3%BC@h', none, { username: 'a@b', password: 'p@:%/?# ü' }],
  ])('%s, environment %j: credentials %j', (url, environment, credentials) => {
    expect(right(esdbSettings(url, environment)).credentials).toEqual(credentials)
  })

  test.each([
    ['esdb://ann:s3cret@h?tsl=false', 'unknown parameter tsl; expected one of tls, tlsCAFile,'],
    ['esdb://ann:s3cret@h?throwOnAppendFailure=false', 'unknown parameter throwOnAppendFailure'],
    ['esdb://ann:s3cret@h?tls=maybe', 'tls must be true or false'],
    ['esdb://ann:s3cret@h?tls=', 'tls must be true or false'],
    ['esdb://ann:s3cret@h?tls=false&tls=true', 'tls is given twice'],
    ['esdb://ann:x?s3cret@h:2113?tls=false', '%40, %2F or %3F'],
    ['esdb://ann:x/s3cret@h', '%40, %2F or %3F'],
    ['esdb://ann:x@s3cret@h', '%40, %2F or %3F'],
    ['esdb://ann:s3cret@h:65536', 'a port must be a number from 1 to 65535: h:65536'],
    ['esdb://ann:s3cret@h,i:0', 'a port must be a number from 1 to 65535: i:0'],
    ...['patience', 'defaultDeadline', 'maxAppendBytes', 'gossipTimeout', 'discoveryInterval'].flatMap(
      (name) =>
        ['0', '-1', '1.5', '1e3', 'x', '', '3000000000'].map((value): [string, string] => [
          `esdb://ann:s3cret@h?${name}=${value}`,
          `${name} must be a whole number from 1 to 999999999`,
        ]),
    ),
    ['esdb://ann:s3cret@h?keepAliveInterval=x', 'Integer'],
    ['esdb://ann:s3cret@h?nodePreference=any', 'leader or follower'],
    ['esdb://ann:s3cret@h:port', 'port number'],
    ['esdb://ann:s3cret@h?tlsCAFile=/none/of/these.pem', 'not found'],
    ['esdb://ann:s3%cret@h', 'write it as %25'],
    ['esdb://ann:s3@cret@h', '%40, %2F or %3F'],
    ['esdb://ann:s3cret@', 'write it like esdb://'],
    ['esdb:ann:s3cret@h', 'write it like esdb://'],
  ])('%s is an InvalidInput that says what there is', async (url, problem) => {
    const error = await failureOf(url)
    expect(error).toMatchObject({ _tag: 'InvalidInput', path: 'url' })
    expect(error.message.toLowerCase()).toContain(problem.toLowerCase())
    expect(inspect(error, { depth: 9 })).not.toMatch(/s3|cret/)
  })
})

const listening = async (server: Server | Http2Server): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  opened.push({ close: () => server.close() })
  return (server.address() as AddressInfo).port
}

describe('a server that cannot be reached', () => {
  test.each([
    ['nothing listens', async () => 1],
    ['it speaks HTTP/1', () => listening(httpServer((_, response) => response.end('hello')))],
    ['it speaks no gRPC', () => listening(http2Server((_, response) => void response.end('hello')))],
    ['it never answers', async () => (await silent()).port],
  ])('because %s: StoreUnavailable within patience, with what to do', async (_, listen) => {
    const port = await listen()
    const error = await failureOf(`esdb://ann:s3cret@127.0.0.1:${port}?tls=false&${short}`)
    expect(error).toMatchObject({ _tag: 'StoreUnavailable', store: `esdb://127.0.0.1:${port}` })
    expect(error.message).toMatch(/check (that the server runs|host and port)/)
    expect(inspect(error, { depth: 9 })).not.toContain('s3cret')
  })

  test('nor its cluster: StoreUnavailable within patience, however long the client would look for it', async () => {
    const url = `esdb+discover://127.0.0.1:1?tls=false&${short}&maxDiscoverAttempts=1000000`
    expect(await failureOf(url)).toMatchObject({ _tag: 'StoreUnavailable' })
  })

  test('yet, is waited for', async () => {
    const server = await temporaryServer()
    await server.kill()
    const opening = openEventStoreDb(`${server.url}&patience=10000`)()
    await new Promise((resolve) => setTimeout(resolve, 200))
    await server.start()
    const store = await opening
    expect(store).toMatchObject({ _tag: 'Right' })
    right(await right(store).close()())
  })
})

const silent = async (): Promise<EventStoreDb> => {
  const server = await temporaryServer()
  server.misbehave({ kind: 'silence', on: 'read', times: 1_000 })
  return server
}

test('nothing that is printed or told shows the credentials', async () => {
  const printed: unknown[] = []
  const write = vi.spyOn(console, 'warn').mockImplementation((...args) => void printed.push(args))
  vi.stubEnv('PALIMPSEST_ESDB_PASSWORD', 's3cret')
  const server = await temporaryServer()
  const url = server.url.replace('//', '//ann@')
  const store = await openStore(`${url}&keepAliveInterval=5&${short}`)
  expect(store.url).toBe(`esdb://127.0.0.1:${server.port}`)
  await server.kill()
  const error: unknown = await store
    .conversation('c')
    .position()
    .catch((failure: unknown) => failure)
  expect(error).toMatchObject({ _tag: 'StoreUnavailable' })
  await store.close()
  expect(printed).toHaveLength(1)
  expect(inspect([printed, error, store], { depth: 9, showHidden: true })).not.toMatch(/s3cret|ann@/)
  write.mockRestore()
})

describe.skipIf(noTls !== '')(`over TLS${noTls}`, () => {
  const credentials = { username: 'a@b', password: 'p:%/?' }
  const serve = async (host?: string): Promise<{ readonly certificate: string; readonly port: number }> => {
    const { certificate, tls } = tlsFor(host)
    const { port } = await temporaryServer({ credentials, tls })
    return { certificate, port }
  }

  test.each([
    ['the URL', 'a%40b:p%3A%25%2F%3F@', {}],
    ['the environment', '', { PALIMPSEST_ESDB_USER: 'a@b', PALIMPSEST_ESDB_PASSWORD: 'p:%/?' }],
  ])('credentials of %s let in', async (_, user, environment) => {
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value)
    const { certificate, port } = await serve()
    const store = await openStore(`esdb://${user}localhost:${port}?tlsCAFile=${certificate}`)
    await store.conversation('c').append({ role: 'user', content: 'x' }, { commandId: 'x' })
    expect(await store.conversation('c').effective()).toHaveLength(1)
    for await (const { type } of store.follow()) if (type === 'event') break
    await store.close()
  })

  test.each(['', 'a%40b:wrong@', 'wrong:p%3A%25%2F%3F@'])(
    'wrong ones (%j) are StoreDenied at the first answer',
    async (user) => {
      const { certificate, port } = await serve()
      const error = await failureOf(
        `esdb://${user}localhost:${port}?tlsCAFile=${certificate}&patience=100000000`,
      )
      expect(error).toMatchObject({ _tag: 'StoreDenied', store: `esdb://localhost:${port}` })
      expect(inspect(error, { depth: 9 })).not.toMatch(/wrong|p:%|p%3A/)
    },
  )

  test('a certificate of another CA, or of another host, is told of at the first try', async () => {
    const { port } = await serve()
    const { certificate: other } = certified('other')
    const elsewhere = await serve('elsewhere')
    for (const url of [
      `esdb://localhost:${port}?tlsCAFile=${other}`,
      `esdb://localhost:${port}?tls=true`,
      `esdb://localhost:${elsewhere.port}?tlsCAFile=${elsewhere.certificate}`,
    ]) {
      const error = await failureOf(`${url}&patience=100000000`)
      expect(error).toMatchObject({ _tag: 'StoreUnavailable' })
      expect(error.message).toContain('certificate is not trusted')
    }
  })

  test('an IP address in the URL is verified: the certificate must name it', async () => {
    const [named, other] = [await serve('127.0.0.1'), await serve('127.0.0.2')]
    const url = ({ port, certificate }: typeof named): string =>
      `esdb://a%40b:p%3A%25%2F%3F@127.0.0.1:${port}?tlsCAFile=${certificate}`
    right(await right(await openEventStoreDb(url(named))()).close()())
    const failure = await failureOf(url(other))
    expect(failure.message).toContain('certificate is not trusted')
    expect(inspect(failure, { depth: 9 })).toContain("IP: 127.0.0.1 is not in the cert's list: 127.0.0.2")
  })

  test.each([
    ['a server', (node: string) => `esdb://a%40b:p%3A%25%2F%3F@${node}`],
    ['a cluster', (node: string) => `esdb://a%40b:p%3A%25%2F%3F@${node},${node}`],
    ['a cluster to discover', (node: string) => `esdb+discover://a%40b:p%3A%25%2F%3F@${node}`],
  ])('an IP address of %s has Node print no warning', async (_, urlOf) => {
    const { port, certificate } = await serve('127.0.0.1')
    const url = `${urlOf(`127.0.0.1:${port}`)}?tlsCAFile=${certificate}${patient}`
    const { output, code } = await ended(startHeard('store/eventstoredb/children/closing.ts', url))
    expect([output, code]).toEqual(['closed', 0])
  })

  test.each(['tls=false to a server with TLS', 'tls=true to one without'])('%s', async (name) => {
    const port = name.startsWith('tls=false') ? (await serve()).port : (await temporaryServer()).port
    const error = await failureOf(`esdb://localhost:${port}?${name.split(' ')[0]}&${short}`)
    expect(error).toMatchObject({ _tag: 'StoreUnavailable' })
    expect(error.message).toContain("the URL's host, port and tls")
  })
})

test('an append larger than the server takes is refused with its limit', async () => {
  const server = await temporaryServer({ maxAppendSize: 20_000 })
  const store = right(await openEventStoreDb(server.url + patient)())
  opened.push({ close: store.close() })
  const event = {
    id: crypto.randomUUID(),
    type: 'MessageAppended',
    data: JSON.stringify('x'.repeat(30_000)),
    metadata: '{}',
  }
  const outcome = await store.append({ stream: 's', events: [event], expected: -1 })()
  expect(E.isLeft(outcome) && outcome.left.message).toContain('maxAppendBytes=3616 ')
})
