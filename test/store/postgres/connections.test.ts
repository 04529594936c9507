import { networkInterfaces } from 'node:os'
import { describe, expect, test } from 'vitest'
import { event } from '../../../src/testing/contract/support.ts'
import { atEnd } from '../../support/at-end.ts'
import { right } from '../../support/either.ts'
import { openedPostgres } from '../../support/postgres/admin.ts'
import {
  externalUrl,
  noPostgres,
  serverFolder,
  removeFolder,
  whySkipped,
} from '../../support/postgres/programs.ts'
import { startPostgres } from '../../support/postgres/server.ts'
import { patientPostgres } from '../../support/postgres/shared.ts'

const isOwn = noPostgres === undefined && externalUrl === undefined
const hasIpv6 = Object.values(networkInterfaces()).some((all) =>
  all?.some(({ address }) => address === '::1'),
)

describe.skipIf(!isOwn)(`connections to a PostgreSQL server${whySkipped}`, () => {
  test('are also made over a Unix socket and by IPv6, and the variables of libpq change nothing', async () => {
    const folder = serverFolder('palimpsest-socket-')
    atEnd(() => removeFolder(folder))
    const server = await startPostgres([
      `unix_socket_directories = '${folder}'`,
      `listen_addresses = '127.0.0.1${hasIpv6 ? ',::1' : ''}'`,
    ])
    atEnd(server.remove)
    const variables = {
      PGHOST: 'nowhere.invalid',
      PGPORT: '1',
      PGSSLMODE: 'require',
      PGOPTIONS:
        '-c search_path=nowhere -c default_transaction_isolation=serializable -c bytea_output=escape',
    }
    for (const [name, value] of Object.entries(variables)) {
      const before = process.env[name]
      process.env[name] = value
      atEnd(() => {
        if (before === undefined) delete process.env[name]
        else process.env[name] = before
      })
    }
    const url = server.url('palimpsest', patientPostgres)
    const hosts = ['127.0.0.1', encodeURIComponent(folder), ...(hasIpv6 ? ['[::1]'] : [])]
    for (const [index, host] of hosts.entries()) {
      const store = await openedPostgres(url.replace('127.0.0.1', host))
      right(await store.append({ stream: 'a', events: [event()], expected: index - 1 })())
      expect(right(await store.readAll({ limit: 5 })()).events).toHaveLength(index + 1)
    }
  })
})
