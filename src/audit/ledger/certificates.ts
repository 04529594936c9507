import { X509Certificate } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'

const block = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** Returns the certificates in a PEM text. Fails with `InvalidInput` if it contains none. */
export const certificatesIn = (pem: string): E.Either<InvalidInput, readonly X509Certificate[]> => {
  const blocks = pem.match(block)
  const wrong = invalidInput('trust', 'must be one or more certificates in PEM')
  if (!blocks) return E.left(wrong)
  return E.tryCatch(
    () => blocks.map((each) => new X509Certificate(each)),
    () => wrong,
  )
}

/** Certificates that may form a signer's chain, and the time at which they must be valid. */
interface Around {
  /** Intermediate certificates, which are not trusted by themselves. */
  readonly others: readonly X509Certificate[]
  readonly trusted: readonly X509Certificate[]
  readonly time: Date
}

/** Maximum number of certificates in a chain, including the trusted one. */
const longest = 8

/**
 * Reports whether a certificate is trusted, or was issued directly or indirectly by a trusted one. All certificates in the chain must
 * be valid at `time`.
 */
export const isTrusted = (signer: X509Certificate, { others, trusted, time }: Around): boolean => {
  let one = wasValid(signer, time) ? signer : undefined
  for (let links = 0; one && links < longest; links++) {
    if (trusted.some(({ raw }) => one?.raw.equals(raw))) return true
    // A certificate that was renewed with the same key may be present several times.
    one = [...trusted, ...others].find((issuer) => one && wasValid(issuer, time) && hasIssued(issuer, one))
  }
  return false
}

const wasValid = ({ validFrom, validTo }: X509Certificate, time: Date): boolean =>
  Date.parse(validFrom) <= time.getTime() && time.getTime() <= Date.parse(validTo)

const hasIssued = (issuer: X509Certificate, one: X509Certificate): boolean =>
  issuer.ca && one.checkIssued(issuer) && one.verify(issuer.publicKey)
