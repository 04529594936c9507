import { describe, expect, test } from 'vitest'
import { postgresSettings } from '../../../src/store/postgres/settings.ts'
import { left, right } from '../../support/either.ts'

const of = (url: string) => right(postgresSettings(url))

describe('the URL of a PostgreSQL store', () => {
  test.each([
    ['postgres://ann:p%40s%2Fs%3F%25%3A%23@h/d', { user: 'ann', password: 'p@s/s?%:#', database: 'd' }],
    ['postgresql://ann:a:b@h/d', { user: 'ann', password: 'a:b' }],
    ['postgres://ann:@h/d', { user: 'ann', password: '' }],
    ['postgres://h', { user: undefined, password: undefined, database: undefined }],
    ['postgres://h/', { database: undefined, schema: 'palimpsest', ssl: false }],
    ['postgres://h/My%20%22Data%22', { database: 'My "Data"' }],
    ['postgres://[::1]:6543/d', { servers: [{ host: '::1', port: 6543 }] }],
    ['postgres://[fe80::1%25eth0]/d', { servers: [{ host: 'fe80::1%eth0', port: 5432 }] }],
    [
      'postgres://a,[::2]:2,%2Fvar%2Frun:3/d',
      {
        servers: [
          { host: 'a', port: 5432 },
          { host: '::2', port: 2 },
          { host: '/var/run', port: 3 },
        ],
      },
    ],
  ])('%s', (url, expected) => {
    expect(of(url)).toMatchObject(expected)
  })

  test.each([
    ['postgres:///d', 'write it like'],
    ['postgres://ann:secret@/d', 'write it like'],
    ['postgres://ann:secr@et@h/d', '%40'],
    ['postgres://ann:secr/et@h/d', '%2F'],
    ['postgres://ann:secr%et@h/d', '%25'],
    ['postgres://ann:secret@h:0/d', 'port'],
    ['postgres://ann:secret@h:65536/d', 'port'],
    ['postgres://ann:secret@::1/d', 'host'],
    ['postgres://ann:secret@a,,b/d', 'host'],
    ['postgres://ann:secret@%2Fvar%2/d', '%25'],
    ['postgres://ann:secret@h/d?sslmode=prefer', 'disable, require, verify-ca, verify-full'],
    ['postgres://ann:secret@h/d?sslmode=require&channel_binding=secret', 'unknown parameter channel_binding'],
    ['postgres://ann:secret@h/d?options=-c%20role%3Dsecret', 'unknown parameter options'],
    ['postgres://ann:secret@h/d?schema=a&schema=b', 'twice'],
    ['postgres://ann:secret@h/d?timeout=0', 'whole number'],
    ['postgres://ann:secret@h/d?attempt=1e3', 'whole number'],
    ['postgres://ann:secret@h/d?sslrootcert=/secret', 'sslrootcert needs'],
    ['postgres://ann:secret@h/d?sslmode=verify-ca&sslrootcert=/secret', 'cannot be read'],
    ...['Upper', 'a b', 'a"b', "a'b", 'é', '1a', '', 'a'.repeat(41), 'a'.repeat(64)].map((name) => [
      `postgres://ann:secret@h/d?schema=${encodeURIComponent(name)}`,
      'schema must be',
    ]),
  ])('%s is refused, and no password is in the message', (url, reason) => {
    const refused = left(postgresSettings(url))
    expect(refused).toMatchObject({ _tag: 'InvalidInput', path: 'url' })
    expect(refused.message).toContain(reason)
    expect(JSON.stringify(refused)).not.toMatch(/secr/)
  })
})
