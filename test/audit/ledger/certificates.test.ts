import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { timestampAnchor } from '../../../src/audit.ts'
import { isTrusted } from '../../../src/audit/ledger/certificates.ts'
import { temporaryFolder } from '../../support/stores.ts'
import { hasOpenssl, onlyOpenssl } from '../../support/timestamp-authority.ts'

/** Makes certificates with OpenSSL. Without key identifiers, only a signature tells two of one name from each other. */
const making = () => {
  const folder = temporaryFolder()
  const openssl = (...args: readonly string[]): void =>
    void execFileSync('openssl', args, { cwd: folder, stdio: 'ignore' })
  return (file: string, { name = file, by = '', ca = true, days = 2, renews = '' }): X509Certificate => {
    const [key, csr, pem, ext] = [`${file}.key`, `${file}.csr`, `${file}.pem`, `${file}.ext`] as const
    writeFileSync(
      join(folder, ext),
      `basicConstraints=CA:${ca}\nsubjectKeyIdentifier=none\nauthorityKeyIdentifier=none\n`,
    )
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
    if (renews !== '') copyFileSync(join(folder, `${renews}.key`), join(folder, key))
    const own = renews === '' ? [...curve, '-keyout', key] : ['-new', '-key', key]
    openssl('req', ...own, '-out', csr, '-subj', `/CN=${name}`)
    const issuer =
      by === '' ? ['-signkey', key] : ['-CA', `${by}.pem`, '-CAkey', `${by}.key`, '-CAcreateserial']
    openssl('x509', '-req', '-in', csr, '-out', pem, '-extfile', ext, '-days', `${days}`, ...issuer)
    return new X509Certificate(readFileSync(join(folder, pem)))
  }
}

describe.skipIf(!hasOpenssl)(`a certificate is trusted${onlyOpenssl}`, () => {
  it('if one that is trusted has issued it, directly or through others that may issue any', () => {
    const made = making()
    const root = made('root', {})
    const between = made('between', { by: 'root' })
    const leaf = made('leaf', { by: 'between', ca: false })
    const time = new Date()
    const around = { trusted: [root], time }
    expect(isTrusted(leaf, { ...around, others: [leaf, between] })).toBe(true)
    expect(isTrusted(leaf, { ...around, others: [leaf, between, root], trusted: [leaf] })).toBe(true)
    expect(isTrusted(leaf, { ...around, others: [leaf] })).toBe(false)
    expect(isTrusted(leaf, { ...around, others: [leaf, between, root], trusted: [] })).toBe(false)

    made('impostor', { name: 'root' })
    expect(isTrusted(made('theirs', { by: 'impostor', ca: false }), { ...around, others: [] })).toBe(false)
    const below = made('below', { by: 'leaf', ca: false })
    expect(isTrusted(below, { ...around, others: [leaf, between] })).toBe(false)
  })

  it('while it is valid, and while those are that it leads through', () => {
    const made = making()
    const root = made('root', {})
    const between = made('between', { by: 'root', days: 1 })
    const leaf = made('leaf', { by: 'between', ca: false })
    const at = (hours: number) => ({
      others: [between],
      trusted: [root],
      time: new Date(Date.now() + hours * 3_600_000),
    })
    expect([-1, 1, 30].map((hours) => isTrusted(leaf, at(hours)))).toEqual([false, true, false])

    const renewed = made('renewed', { name: 'between', renews: 'between', by: 'root', days: 2 })
    expect(isTrusted(leaf, { ...at(30), others: [between, renewed] })).toBe(true)
  })
})

it('what is no certificate, or no URL, is not taken', () => {
  const url = 'https://tsa.example/tsr'
  for (const trust of ['', 'ca.pem', '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----'])
    expect(() => timestampAnchor({ url, trust })).toThrow('trust: must be one or more certificates in PEM')
})
