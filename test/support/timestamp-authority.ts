import { execFile, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { atEnd } from './at-end.ts'
import { temporaryFolder } from './stores.ts'

// Timestamp authorities of OpenSSL, which is not our code: what they answer is real, and so is what they think of our requests.

const run = promisify(execFile)

export const hasOpenssl = String(spawnSync('openssl', ['version']).stdout).startsWith('OpenSSL 3')
/** After the title of what is not run without it. */
export const onlyOpenssl = hasOpenssl ? '' : ' (skipped: there is no OpenSSL 3 here)'

export interface Authority {
  readonly folder: string
  readonly openssl: (...args: readonly string[]) => Promise<string>
  /** The certificate of its CA, and its own, in PEM; as files `ca.pem` and `tsa.pem`. */
  readonly ca: string
  readonly own: string
  /** Its reply to a request. */
  readonly reply: (query: Buffer) => Promise<Buffer>
  /** A reply with this TSTInfo in the place of that of another, signed by the certificate in a file. */
  readonly forged: (reply: Buffer, change: (info: Buffer) => Buffer, signer?: string) => Promise<Buffer>
}

interface Kind {
  /** Of its keys. */
  readonly key?: readonly string[]
  /** What the signature hashes with. */
  readonly digest?: string
  /** Digests of requests that it accepts. */
  readonly digests?: string
}

const ec = ['ec', '-pkeyopt', 'ec_paramgen_curve:P-256']

/** A CA and an authority that it has issued a certificate for, and in `plain.pem` another one that is not for timestamps. */
export const authority = async ({
  key = ec,
  digest = 'sha256',
  digests = 'sha256',
}: Kind = {}): Promise<Authority> => {
  const folder = temporaryFolder()
  const openssl = async (...args: readonly string[]): Promise<string> =>
    (await run('openssl', args, { cwd: folder })).stdout
  writeFileSync(join(folder, 'serial'), '01\n')
  writeFileSync(
    join(folder, 'tsa.cnf'),
    `[t]\nserial = serial\nsigner_digest = ${digest}\ndefault_policy = 1.2.3.4.1\ndigests = ${digests}\nordering = no\ntsa_name = yes\ness_cert_id_chain = no\ness_cert_id_alg = sha256\n`,
  )
  const keyUsage = 'keyUsage=critical,keyCertSign'
  await openssl(
    'req',
    '-x509',
    '-newkey',
    ...key,
    '-nodes',
    '-keyout',
    'ca.key',
    '-out',
    'ca.pem',
    '-subj',
    '/CN=ca',
    '-addext',
    keyUsage,
  )
  const issue = async (name: string, extensions: string): Promise<void> => {
    writeFileSync(join(folder, `${name}.ext`), `keyUsage=critical,digitalSignature\n${extensions}`)
    await openssl(
      'req',
      '-newkey',
      ...key,
      '-nodes',
      '-keyout',
      `${name}.key`,
      '-out',
      `${name}.csr`,
      '-subj',
      `/CN=${name}`,
    )
    await openssl(
      'x509',
      '-req',
      '-in',
      `${name}.csr`,
      '-CA',
      'ca.pem',
      '-CAkey',
      'ca.key',
      '-CAcreateserial',
      '-extfile',
      `${name}.ext`,
      '-out',
      `${name}.pem`,
    )
  }
  await issue('tsa', 'extendedKeyUsage=critical,timeStamping')
  await issue('plain', 'extendedKeyUsage=critical,timeStamping,clientAuth')

  let made = 0
  /** Runs it with the bytes in a file, and reads what it writes. */
  const through = async (bytes: Buffer, ...args: readonly string[]): Promise<Buffer> => {
    const file = join(folder, `${++made}`)
    writeFileSync(file, bytes)
    await openssl(...args.map((arg) => (arg === 'IN' ? file : arg)), '-out', `${file}.out`)
    return readFileSync(`${file}.out`)
  }
  const reply = (query: Buffer): Promise<Buffer> =>
    through(
      query,
      'ts',
      '-reply',
      '-config',
      'tsa.cnf',
      '-section',
      't',
      '-queryfile',
      'IN',
      '-signer',
      'tsa.pem',
      '-inkey',
      'tsa.key',
      '-chain',
      'ca.pem',
    )
  const forged: Authority['forged'] = async (genuine, change, signer = 'tsa') => {
    const token = await through(genuine, 'ts', '-reply', '-in', 'IN', '-token_out')
    const info = await through(token, 'cms', '-verify', '-noverify', '-inform', 'DER', '-in', 'IN')
    const cms = await through(
      change(info),
      'cms',
      '-sign',
      '-binary',
      '-nodetach',
      '-econtent_type',
      '1.2.840.113549.1.9.16.1.4',
      '-outform',
      'DER',
      '-in',
      'IN',
      '-signer',
      `${signer}.pem`,
      '-inkey',
      `${signer}.key`,
    )
    const status = Buffer.from('3003020100', 'hex')
    const length = Buffer.alloc(2)
    length.writeUInt16BE(status.length + cms.length)
    return Buffer.concat([Buffer.from([0x30, 0x82]), length, status, cms])
  }
  const pem = (name: string): string => readFileSync(join(folder, `${name}.pem`), 'utf8')
  return { folder, openssl, ca: pem('ca'), own: pem('tsa'), reply, forged }
}

/** Answers requests over HTTP; undefined: never. @returns the URL */
export const answering = async (
  answer: (query: Buffer) => Promise<Buffer | undefined>,
  status = 200,
): Promise<string> => {
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    void buffer(request)
      .then(answer)
      .then((body) => body && response.writeHead(status, { connection: 'close' }).end(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atEnd(() => new Promise((resolve) => (server.close(resolve), server.closeAllConnections())))
  const { port } = server.address() as AddressInfo
  return `http://127.0.0.1:${port}/tsr`
}
