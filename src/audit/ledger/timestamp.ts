import { hash, X509Certificate } from 'node:crypto'
import * as TE from 'fp-ts/lib/TaskEither.js'
import type * as Core from '@sigstore/core'
import { isTrusted } from './certificates.ts'
import type { SignedNote, NoteSignature } from './notes.ts'

// Timestamps as specified by RFC 3161. Their parser is an optional peer dependency, loaded when a timestamp is checked.

/** A timestamp authority's statement that a text existed at a certain time. */
export interface Timestamp {
  readonly time: Date
  /** Nonce of the request that the timestamp answers. */
  readonly nonce: bigint | undefined
}

export const nonceBytes = 8

/**
 * Creates a request, in DER, for a timestamp of the SHA-256 of a text. The request asks for the signer's certificate.
 *
 * @param nonce 8 bytes, the first of which is 0x01 to 0x7f
 */
export const timestampRequest = (text: string, nonce: Uint8Array): Buffer =>
  Buffer.concat([
    Buffer.from('30430201013031300d060960864801650304020105000420', 'hex'),
    hash('sha256', text, 'buffer'),
    Buffer.from([0x02, nonceBytes]),
    nonce,
    Buffer.from('0101ff', 'hex'),
  ])

/**
 * Signature type that is hashed with the authority's name into the id of its signature line. C2SP signed-note defines no type byte for
 * timestamps.
 */
const type = Buffer.from('\u00ffRFC 3161', 'latin1')

/**
 * Returns the signature line that holds an authority's reply. Its id is derived from the name instead of a key, because authorities
 * change their keys.
 */
export const timestampLine = (name: string, reply: Buffer): NoteSignature => ({
  name,
  id: hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), type])).slice(0, 8),
  signature: reply,
})

/** Returns the signature lines of a note that hold timestamps. */
export const timestampLines = ({ signatures }: SignedNote): readonly NoteSignature[] =>
  signatures.filter(({ name, id, signature }) => timestampLine(name, signature).id === id)

/**
 * Checks that a reply grants a timestamp of this text. The signing certificate must be for timestamps only, and must be trusted or
 * issued by a trusted one, directly or through certificates in the reply. All certificates must be valid at the time of the timestamp.
 * Revocation is not checked.
 *
 * @returns the timestamp, or the problem as the end of a sentence about the authority
 */
export const checkTimestamp = (
  reply: Buffer,
  text: string,
  trusted: readonly X509Certificate[],
): TE.TaskEither<string, Timestamp> =>
  TE.tryCatch(async () => checked(await core(), Buffer.from(reply), { text, trusted }), problemOf)

const problemOf = (error: unknown): string =>
  error instanceof Refused ? error.message : `answered without a timestamp (${String(error)})`

/** Error that is thrown and caught in this file only. */
class Refused extends Error {}

const need = (isSo: boolean, problem: string): void => {
  if (!isSo) throw new Refused(problem)
}

const core = async (): Promise<typeof Core> => {
  try {
    return await import('@sigstore/core')
  } catch {
    throw new Refused('cannot be checked without the package @sigstore/core: npm install @sigstore/core')
  }
}

/** Loads the package that reads timestamps. If it is missing, the problem is the end of a sentence about the authority. */
export const timestampParser: TE.TaskEither<string, typeof Core> = TE.tryCatch(core, problemOf)

interface Expected {
  readonly text: string
  readonly trusted: readonly X509Certificate[]
}

const granted: ReadonlySet<bigint> = new Set([0n, 1n])

const checked = (parser: typeof Core, reply: Buffer<ArrayBuffer>, { text, trusted }: Expected): Timestamp => {
  const { ASN1Obj, RFC3161Timestamp, X509Certificate: Parsed } = parser
  class Reply extends RFC3161Timestamp {
    /** Hash algorithm of the signature. If an RSA signature does not name one, the signer's digest algorithm applies. */
    override get signatureAlgorithm(): string {
      return super.signatureAlgorithm ?? this.signerDigestAlgorithm
    }
  }
  const stamp = new Reply(ASN1Obj.parseBuffer(reply))
  need(granted.has(stamp.status), `refused the request (status ${stamp.status}${reasonIn(stamp.root)})`)
  const { tstInfo } = stamp
  const imprint = hash(tstInfo.messageImprintHashAlgorithm, text, 'buffer')
  need(imprint.equals(tstInfo.messageImprintHashedMessage), 'gave a timestamp for different content')
  const others = certificatesOf(stamp.root)
  const signer = [...others, ...trusted].find((each) => serialOf(each) === numberOf(stamp.signerSerialNumber))
  if (!signer) throw new Refused('gave a timestamp without its signing certificate')
  try {
    stamp.verify(Buffer.from(text), signer.publicKey)
  } catch (error) {
    throw new Refused(`gave a timestamp that its certificate does not verify (${String(error)})`)
  }
  const usage = Parsed.parse(Buffer.from(signer.raw)).extension(extendedKeyUsage)
  const isForTimestamps = usage?.critical === true && signer.keyUsage?.join() === timeStamping
  need(isForTimestamps, 'signed with a certificate that is not limited to timestamps')
  const isKnown = isTrusted(signer, { others, trusted, time: tstInfo.genTime })
  need(isKnown, 'signed with a certificate that is not trusted, or was not valid then')
  const nonce = tstInfo.root.subs.slice(optionalFields).find(({ tag }) => tag.isInteger())
  return { time: tstInfo.genTime, nonce: nonce?.toInteger() }
}

const extendedKeyUsage = '2.5.29.37'
const timeStamping = '1.3.6.1.5.5.7.3.8'
/** Index of the first optional field of a TSTInfo. The nonce is the only integer among the optional fields. */
const optionalFields = 5

/** Returns the reason stated in a reply without a timestamp. */
const reasonIn = ({ subs: [status] }: Core.ASN1Obj): string => {
  const texts = status?.subs[1]?.subs.map(({ value }) => value.toString()) ?? []
  const said = texts.join(' ').replaceAll(/\p{Cc}+/gu, ' ')
  return said === '' ? '' : `, ${said.slice(0, 200)}`
}

/** Returns the certificates in a reply, from the signed data (RFC 5652, 5.1) of its timestamp token. */
const certificatesOf = ({ subs: [, token] }: Core.ASN1Obj): readonly X509Certificate[] => {
  const held = token?.subs[1]?.subs[0]?.subs.find(({ tag }) => tag.isContextSpecific(0))
  return (held?.subs ?? []).map((each) => new X509Certificate(each.toDER()))
}

const serialOf = ({ serialNumber }: X509Certificate): bigint => BigInt(`0x${serialNumber}`)
const numberOf = (bytes: Buffer): bigint => BigInt(`0x${bytes.toString('hex')}`)
