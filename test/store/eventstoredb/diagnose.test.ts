import { randomUUID } from 'node:crypto'
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import { describe, expect, test } from 'vitest'
import type { DiagnosisFinding } from '../../../src/store/diagnosis.ts'
import { openEventStoreDb } from '../../../src/store/eventstoredb/store.ts'
import { diagnose } from '../../../src/api/schemes.ts'
import { atEnd } from '../../support/at-end.ts'
import { right } from '../../support/either.ts'
import { noTls, tlsFor } from '../../support/eventstoredb/certificate.ts'
import { frozen } from '../../support/eventstoredb/frozen.ts'
import { type EventStoreDb, eventStoreDb, type Options } from '../../support/eventstoredb/server.ts'
import { patient, somewhere } from '../../support/stores.ts'

const credentials = { username: 'admin', password: 's3cret' }

const serve = async (options: Options = {}): Promise<EventStoreDb> => {
  const db = await eventStoreDb(options)
  atEnd(db.close)
  return db
}
const findingsOf = async (
  url: string,
  settings = url.includes('?') ? patient : '',
): Promise<readonly DiagnosisFinding[]> => right(await diagnose(url + settings)())
const problemsOf = (findings: readonly DiagnosisFinding[]): readonly DiagnosisFinding[] =>
  findings.filter(({ status }) => status === 'problem')
/** The finding of a check, its message after a colon. */
const found = (findings: readonly DiagnosisFinding[], check: string): string => {
  const { status, message } =
    findings.find((finding) => finding.check === check) ?? expect.fail(`no ${check}`)
  return `${status}: ${message}`
}

describe('a cluster of which two nodes are frozen', () => {
  test('is opened within one attempt, and found well by the diagnosis, which names them', async () => {
    const { port } = await serve()
    const nodes = [await frozen(), await frozen()]
    const url = `esdb://${nodes[0]},127.0.0.1:${port},${nodes[1]}?tls=false`
    // Each frozen node takes all of this time.
    const settings = '&defaultDeadline=15000'
    // In any order: the client asks the nodes in one that it draws.
    const stores = Promise.all(
      Array.from({ length: 4 }, async () => openEventStoreDb(`${url}${settings}&patience=15000`)()),
    )
    const findings = await findingsOf(url, settings)
    atEnd(...(await stores).map((store) => right(store).close()))
    expect(problemsOf(findings)).toEqual([])
    const connections = findings.filter(({ check }) => check === 'connection')
    expect(connections.map(({ status }) => status)).toEqual(['warning', 'ok', 'warning'])
    for (const node of nodes)
      expect(connections.map(({ message }) => message)).toContainEqual(
        expect.stringContaining(`${node}: it accepts connections but does not answer`),
      )
  })
})

test('a leader that is frozen is given up for the one elected in its place, long before an attempt is over', async () => {
  const [host = '', port] = (await frozen()).split(':')
  let asked = 0
  const elected = await serve({
    members: () => [{ host, port: asked++ < 2 ? Number(port) : elected.port }],
  })
  const url = `esdb+discover://127.0.0.1:${elected.port}?tls=false&defaultDeadline=1000000`
  atEnd(right(await openEventStoreDb(url)()).close())
  expect(asked).toBe(3)
})

describe('the diagnosis of an EventStoreDB', () => {
  test('finds nothing wrong with one as it is installed', async () => {
    const { url, own } = await somewhere()
    const findings = await findingsOf(url)
    // What others have set on a server that they use as well is theirs.
    const wrong = ({ check, status }: DiagnosisFinding): string =>
      `${check} ${own || check !== 'history' ? status : 'ok'}`
    expect(findings.map(wrong)).toEqual([
      'connection ok',
      'credentials ok',
      'server ok',
      'append limit ok',
      'clock ok',
      'round trips ok',
      'history ok',
      'secrets ok',
    ])
    expect(found(findings, 'server')).toContain(own ? 'EventStoreDB 24.2.0' : 'EventStoreDB ')
    expect(found(findings, 'append limit')).toContain('1048576 bytes')
  })

  test('writes to a stream of its own only, which the database drops after a minute', async () => {
    const { url } = await serve()
    await findingsOf(url)
    const client = EventStoreDBClient.connectionString(url)
    atEnd(() => client.dispose())
    const streams = new Set<string>()
    for await (const { event } of client.readAll())
      if (event && event.type !== '$metadata') streams.add(event.streamId)
    const [scratch = '', ...others] = streams
    expect(scratch).toMatch(/^palimpsest-doctor-/)
    expect(others).toEqual([])
    expect((await client.getStreamMetadata(scratch)).metadata).toEqual({ maxAge: 60 })
  })

  test('names a smaller append limit, and the parameter for it', async () => {
    const { url } = await serve({ maxAppendSize: 100_000 })
    expect(found(await findingsOf(url), 'append limit')).toMatch(
      /^problem: .* 100000 bytes .* maxAppendBytes=83616 /,
    )
    expect(found(await findingsOf(`${url}&maxAppendBytes=83616`), 'append limit')).toBe(
      'ok: 100000 bytes; 83616 are used',
    )
  })

  test('says so where the limit is larger', async () => {
    const { url } = await serve({ maxAppendSize: 4 * 1024 * 1024 })
    expect(found(await findingsOf(url), 'append limit')).toMatch(
      /^ok: more than 1.0 MiB; 1032192 bytes are used/,
    )
  })

  test.each([
    [600, 'ok'],
    [60_000, 'warning'],
    [-2 * 3_600_000, 'problem'],
  ])('a clock that is %d ms ahead: %s', async (clockOffset, status) => {
    const { url } = await serve({ clockOffset })
    const clock = found(await findingsOf(url), 'clock')
    expect(clock).toMatch(new RegExp(`^${status}: the server's clock is `))
    if (status !== 'ok') expect(clock).toContain('NTP')
  })

  test('names conversations whose events the database drops, and how', async () => {
    const { url } = await serve()
    const client = EventStoreDBClient.connectionString(url)
    atEnd(() => client.dispose())
    const said = jsonEvent({ type: 'MessageAppended', data: {} })
    for (const id of ['capped', 'aged', 'deleted', 'buried', 'repaired', 'whole'])
      await client.appendToStream(`conversation-${id}`, said)
    await client.setStreamMetadata('conversation-capped', { maxCount: 10 })
    await client.setStreamMetadata('notes-kept', { maxCount: 5 })
    await client.setStreamMetadata('conversation-aged', { maxAge: 3_600, owner: 'dana' })
    await client.deleteStream('conversation-deleted')
    await client.tombstoneStream('conversation-buried')
    await client.setStreamMetadata('conversation-repaired', { maxCount: 10 })
    await client.setStreamMetadata('conversation-repaired', {})
    await client.setStreamMetadata('other', { maxCount: 1 })
    expect(found(await findingsOf(url), 'history')).toMatch(
      /^problem: the database drops events of capped \(\$maxCount 10\), the notes of kept \(\$maxCount 5\), aged \(\$maxAge 3600\), deleted \(deleted\), buried \(permanently deleted\): remove /,
    )
  })

  test('names what is beside a conversation and is dropped', async () => {
    const { url } = await serve()
    const client = EventStoreDBClient.connectionString(url)
    atEnd(() => client.dispose())
    await client.setStreamMetadata('turns-kept', { maxCount: 6 })
    await client.setStreamMetadata('inbox-kept', { maxCount: 7 })
    expect(found(await findingsOf(url), 'history')).toMatch(
      /^problem: the database drops events of the turns of kept \(\$maxCount 6\), the inbox of kept \(\$maxCount 7\): remove /,
    )
  })

  test('says where it has looked at only a part of the settings', async () => {
    const db = await serve()
    const none = { type: '$metadata', isJson: true, data: Buffer.from('{}'), metadata: Buffer.alloc(0) }
    for (let n = 0; n < 1_001; n++) db.preload(`$$conversation-${n}`, [{ id: randomUUID(), ...none }])
    expect(found(await findingsOf(db.url), 'history')).toContain('only the first 1000 stream settings')
  })

  const configured = (parameters: unknown) => ({
    id: randomUUID(),
    type: 'Configured',
    isJson: true,
    data: Buffer.from(JSON.stringify({ parameters })),
    metadata: Buffer.from('{}'),
  })

  test('names conversations in which an earlier version has recorded a secret, and not the secret', async () => {
    const db = await serve()
    const none = { mcp_servers: [{ authorization_token: { $secret: 'mcp_servers[0].authorization_token' } }] }
    for (let n = 0; n < 250; n++) db.preload(`conversation-${n}`, [configured(none)])
    for (const stream of ['conversation-old', 'another-program'])
      db.preload(stream, [configured({ mcp_servers: [{ authorization_token: 's3cret' }] })])
    const secrets = found(await findingsOf(db.url), 'secrets')
    expect(secrets).toMatch(/^warning: .* in old: /)
    expect(secrets).not.toContain('s3cret')
  })

  test('looks for secrets in a thousand configurations, and says so where there are more', async () => {
    const db = await serve()
    db.preload(
      'conversation-reconfigured',
      Array.from({ length: 1_001 }, (_, n) => configured({ max_tokens: n })),
    )
    expect(found(await findingsOf(db.url), 'secrets')).toBe(
      'ok: no recorded parameter is known to contain a secret (only the first 1000 configurations were checked)',
    )
  })

  test('refuses a server without batch append, by its version', async () => {
    const { url } = await serve({ hasBatchAppend: false, version: '20.10.0' })
    const findings = await findingsOf(url)
    expect(found(findings, 'server')).toMatch(/^problem: EventStoreDB 20.10.0 has no batch append: upgrade/)
    expect(findings.at(-1)?.check).toBe('server')
  })
})

describe('the diagnosis of a connection says', () => {
  test('that nothing listens, and asks no more', async () => {
    const db = await serve()
    await db.kill()
    expect(await findingsOf(db.url)).toEqual([
      {
        check: 'connection',
        status: 'problem',
        message: `127.0.0.1:${db.port}: nothing listens there: start the server, or correct the port`,
      },
    ])
  })

  test('which node of a cluster is down, as long as another one answers', async () => {
    const [one, other] = [await serve(), await serve()]
    await other.kill()
    const url = `esdb://127.0.0.1:${one.port},127.0.0.1:${other.port}?tls=false`
    const findings = await findingsOf(url)
    expect(findings.slice(0, 2).map(({ check, status }) => [check, status])).toEqual([
      ['connection', 'ok'],
      ['connection', 'warning'],
    ])
    expect(problemsOf(findings)).toEqual([])
  })

  test('that there is no such host', async () => {
    expect(found(await findingsOf('esdb://no-such-host.invalid?tls=false'), 'connection')).toBe(
      'problem: no-such-host.invalid:2113: there is no host with that name: correct it',
    )
  })

  test('that the server does not speak TLS, where the URL wants it', async () => {
    const { port } = await serve()
    expect(found(await findingsOf(`esdb://127.0.0.1:${port}`), 'connection')).toContain('add tls=false')
  })

  test.each(['true', 'false'])('that something listens and does not answer (tls=%s)', async (tls) => {
    const findings = await findingsOf(`esdb://${await frozen()}?tls=${tls}`, '')
    expect(found(findings, 'connection')).toMatch(/^problem: .*it accepts connections but does not answer/)
  })

  test('that the file of tlsCAFile cannot be read', async () => {
    const { port } = await serve()
    const url = `esdb://127.0.0.1:${port}?tls=true&tlsCAFile=no-such-file.crt`
    expect(found(await findingsOf(url), 'connection')).toMatch(/tlsCAFile names cannot be read .*ENOENT/)
  })

  describe.skipIf(noTls !== '')(`of TLS${noTls}`, () => {
    const secured = async (): Promise<{ readonly port: number; readonly certificate: string }> => {
      const { certificate, tls } = tlsFor()
      const { port } = await serve({ credentials, tls })
      return { port, certificate }
    }

    test('nothing, with the right credentials and authority', async () => {
      const { port, certificate } = await secured()
      const findings = await findingsOf(`esdb://admin:s3cret@localhost:${port}?tlsCAFile=${certificate}`)
      expect(problemsOf(findings)).toEqual([])
      expect(found(findings, 'credentials')).toBe('ok: reading is allowed to admin')
      expect(JSON.stringify(findings)).not.toContain('s3cret')
    })

    test('that the credentials are wrong, or missing', async () => {
      const { port, certificate } = await secured()
      for (const user of ['', 'admin:wr0ng@']) {
        const findings = await findingsOf(`esdb://${user}localhost:${port}?tlsCAFile=${certificate}`)
        expect(problemsOf(findings).map(({ check }) => check)).toEqual(['credentials'])
        expect(found(findings, 'credentials')).toContain('PALIMPSEST_ESDB_PASSWORD')
        expect(JSON.stringify(findings)).not.toContain('wr0ng')
      }
    })

    test('that the certificate is not trusted, or for another name', async () => {
      const { port, certificate } = await secured()
      const connection = async (url: string): Promise<string> => found(await findingsOf(url), 'connection')
      expect(await connection(`esdb://localhost:${port}`)).toMatch(/authority that is not trusted.*tlsCAFile/)
      expect(await connection(`esdb://127.0.0.1:${port}?tlsCAFile=${certificate}`)).toContain(
        'its certificate is for other names',
      )
    })

    test('that the server speaks TLS, where the URL does not', async () => {
      const { port } = await secured()
      expect(found(await findingsOf(`esdb://localhost:${port}?tls=false`), 'connection')).toContain(
        'remove tls=false from',
      )
    })
  })
})
