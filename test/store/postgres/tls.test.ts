import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openPostgres } from '../../../src/store/postgres/store.ts'
import { event } from '../../../src/testing/contract/support.ts'
import { atEnd } from '../../support/at-end.ts'
import { left, right } from '../../support/either.ts'
import { administrator, openedPostgres } from '../../support/postgres/admin.ts'
import { externalUrl, giveToServer, noPostgres, whySkipped } from '../../support/postgres/programs.ts'
import { startPostgres } from '../../support/postgres/server.ts'
import { newSchema, postgresUrl } from '../../support/postgres/shared.ts'
import { temporaryFolder } from '../../support/stores.ts'
import { hasOpenssl, onlyOpenssl } from '../../support/timestamp-authority.ts'

const isOwn = noPostgres === undefined && externalUrl === undefined

/** Makes two CAs, `ca.pem` and `other.pem`, and a certificate of the first for `localhost`. */
const certificates = (): string => {
  const folder = temporaryFolder()
  const openssl = (...args: readonly string[]): void =>
    void execFileSync('openssl', args, { cwd: folder, stdio: 'ignore' })
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  for (const ca of ['ca', 'other'])
    openssl('req', '-x509', ...newKey, '-keyout', `${ca}.key`, '-out', `${ca}.pem`, '-subj', `/CN=${ca}`)
  openssl('req', ...newKey, '-keyout', 'ssl_key_file', '-out', 'server.csr', '-subj', '/CN=localhost')
  writeFileSync(join(folder, 'server.ext'), 'subjectAltName=DNS:localhost\n')
  const issuer = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial']
  openssl('x509', '-req', '-in', 'server.csr', '-out', 'ssl_cert_file', '-extfile', 'server.ext', ...issuer)
  return folder
}

describe.skipIf(!isOwn || !hasOpenssl)(`a PostgreSQL server with TLS${whySkipped}${onlyOpenssl}`, () => {
  test('is reached encrypted, and by the name and the CA that its certificate has, if they are to be checked', async () => {
    const folder = certificates()
    const hba = join(folder, 'pg_hba.conf')
    const rules = [
      'hostssl all secure 127.0.0.1/32 scram-sha-256',
      'hostnossl all secure 127.0.0.1/32 reject',
      'hostssl all cleartext 127.0.0.1/32 password',
      'host all all 127.0.0.1/32 trust',
    ]
    writeFileSync(hba, `${rules.join('\n')}\n`)
    giveToServer(folder)
    const settings = ['ssl_cert_file', 'ssl_key_file'].map((name) => `${name} = '${join(folder, name)}'`)
    const server = await startPostgres(['ssl = on', `hba_file = '${hba}'`, ...settings])
    atEnd(server.remove)
    const admin = await administrator(server.url())
    await admin.query(`CREATE ROLE secure LOGIN PASSWORD 'p@ss'; GRANT CREATE ON DATABASE postgres TO secure`)
    await admin.query(`CREATE ROLE cleartext LOGIN PASSWORD 'p@ss'`)
    const unencrypted = await postgresUrl(newSchema(), '&sslmode=require')
    expect(left(await openPostgres(unencrypted)())).toMatchObject({
      _tag: 'StoreUnavailable',
      message: expect.stringContaining('sslmode') as string,
    })
    const url = (host: string, parameters: string): string =>
      server.url('palimpsest', parameters).replace(/\/\/[^@]*@127\.0\.0\.1/, `//secure:p%40ss@${host}`)
    const trusting = (ca: string): string => `&sslrootcert=${join(folder, `${ca}.pem`)}`

    const store = await openedPostgres(url('localhost', `&sslmode=verify-full${trusting('ca')}`))
    right(await store.append({ stream: 'a', events: [event()], expected: -1 })())
    const { rows } = await (
      await administrator(server.url())
    ).query(
      `SELECT DISTINCT s.ssl FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid) WHERE a.usename = 'secure'`,
    )
    expect(rows).toEqual([{ ssl: true }])
    for (const [host, parameters] of [
      ['127.0.0.1', '&sslmode=require'],
      ['127.0.0.1', `&sslmode=verify-ca${trusting('ca')}`],
      ['localhost', '&sslmode=require&channel_binding=require'],
      ['localhost', '&sslmode=require&channel_binding=prefer'],
    ] as const)
      await openedPostgres(url(host, parameters))
    // A server that asks for the password itself, or for none, may be another one.
    for (const role of ['cleartext', 'palimpsest']) {
      const unbound = url('localhost', '&sslmode=require&channel_binding=require').replace('secure', role)
      expect(left(await openPostgres(unbound)())).toMatchObject({
        _tag: 'StoreUnavailable',
        message: expect.stringContaining('channel binding') as string,
      })
    }
    for (const [host, parameters, tag, reason] of [
      ['127.0.0.1', `&sslmode=verify-full${trusting('ca')}`, 'StoreUnavailable', 'altnames'],
      ['localhost', `&sslmode=verify-full${trusting('other')}`, 'StoreUnavailable', 'certificate'],
      ['localhost', '&sslmode=verify-full', 'StoreUnavailable', 'certificate'],
      ['127.0.0.1', `&sslmode=verify-ca${trusting('other')}`, 'StoreUnavailable', 'certificate'],
      ['127.0.0.1', '&sslmode=disable', 'StoreDenied', 'secure'],
    ] as const) {
      const failed = left(await openPostgres(url(host, parameters))())
      expect(failed).toMatchObject({ _tag: tag, message: expect.stringContaining(reason) as string })
      expect(Reflect.get(Object(failed), 'message')).not.toContain('p@ss')
    }
  })
})
