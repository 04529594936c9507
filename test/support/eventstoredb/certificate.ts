import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { temporaryFolder } from '../stores.ts'

/** Behind the title of what needs a certificate, where none can be made. */
export const noTls = spawnSync('openssl', ['version']).status === 0 ? '' : ' (skipped: no openssl)'

/** Files with a certificate for a host and its key, made when they are needed: in the repository they would expire. */
export const certified = (
  name: string,
  host = 'localhost',
): { readonly certificate: string; readonly key: string } => {
  const folder = temporaryFolder()
  const [certificate, key] = [join(folder, `${name}.pem`), join(folder, `${name}.key`)]
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=${isIP(host) ? 'IP' : 'DNS'}:${host}`]
  execFileSync('openssl', ['req', '-x509', ...curve, ...subject, '-keyout', key, '-out', certificate], {
    stdio: 'ignore',
  })
  return { certificate, key }
}

/** The file of a certificate, and what a server needs to show it. */
export const tlsFor = (host?: string) => {
  const { certificate, key } = certified('server', host)
  return { certificate, tls: { certificate: readFileSync(certificate), key: readFileSync(key) } }
}
