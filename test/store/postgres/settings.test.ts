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
    // As providers write them: Neon, Supabase, Heroku, and node-postgres itself.
    [
      'postgresql://ann:secret@ep-1-pooler.eu.aws.neon.tech/d?sslmode=require&channel_binding=require',
      { ssl: { rejectUnauthorized: false }, channelBinding: 'require' },
    ],
    [
      'postgresql://a.b:secret@h.pooler.supabase.com:6543/postgres?pgbouncer=true',
      { user: 'a.b', ssl: false },
    ],
    ['postgres://ann:secret@h/d?sslmode=no-verify', { ssl: { rejectUnauthorized: false } }],
    ['postgres://ann:secret@h/d?sslmode=require&uselibpqcompat=true', { channelBinding: 'disable' }],
    ['postgres://ann:secret@a,b/d?target_session_attrs=read-write', { channelBinding: 'disable' }],
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
    ['postgres://ann:secret@h/d?sslmode=require&channel_binding=secret', 'disable, prefer, require'],
    ['postgres://ann:secret@h/d?channel_binding=require', 'needs sslmode=require'],
    ['postgres://ann:secret@h/d?options=-c%20role%3Dsecret', 'unknown parameter options: leave it out'],
    ['postgres://ann:secret@h/d?connection_limit=5', 'write connections'],
    ['postgres://ann:secret@h/d?target_session_attrs=standby', 'read-write, primary, any'],
    ['postgres://ann:secret@h/d?application_name=x', 'unknown parameter application_name; expected one of'],
    ['postgres://ann:secret@h/d?constructor=1', 'unknown parameter constructor; expected one of'],
    ['postgres://ann:secret@h/d?__proto__=1', 'unknown parameter __proto__; expected one of'],
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
