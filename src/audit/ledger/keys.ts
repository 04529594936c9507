import { createPublicKey, hash, type KeyObject, verify } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'

/** A signer of checkpoints. Its key may be in a file (`signerFrom`), in the memory of a test, or in a service that never reveals it. */
export interface Signer {
  /** The 32-byte Ed25519 public key (RFC 8032). */
  readonly publicKey: Uint8Array
  /**
   * Signs a message.
   *
   * @returns the 64-byte Ed25519 signature of the message
   */
  readonly sign: (message: Uint8Array) => Promise<Uint8Array>
}

/** Kind of content that a key signs. `log`: a note; `witness`: a checkpoint with a time (C2SP tlog-cosignature). */
export type KeyUse = 'log' | 'witness'

/** A named public key, as defined by C2SP signed-note. */
export interface VerifierKey {
  readonly name: string
  /** Key id: 4 bytes in hex. */
  readonly id: string
  readonly use: KeyUse
  readonly publicKey: Buffer
}

const typeBytes: Readonly<Record<KeyUse, number>> = { log: 0x01, witness: 0x04 }
const keyBytes = 32
/** Prefix of an Ed25519 public key in DER form (RFC 8410). */
const derPrefix = Buffer.from('302a300506032b6570032100', 'hex')

/** Reports whether the name is valid for a signer: 1 to 200 characters without spaces, plus signs or control characters. */
export const isKeyName = (name: unknown): name is string =>
  typeof name === 'string' && name.isWellFormed() && /^[^\p{White_Space}+\p{Cc}]{1,200}$/u.test(name)

/** Returns the verifier key for a public key. Its id is derived from the name, the use and the public key. */
export const verifierKey = (name: string, publicKey: Uint8Array, use: KeyUse = 'log'): VerifierKey => {
  const typed = Buffer.concat([Buffer.from([typeBytes[use]]), publicKey])
  const id = hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), typed]), 'hex').slice(0, 8)
  return { name, id, use, publicKey: Buffer.from(publicKey) }
}

/** Formats a key as `name+id+base64`, the form given to verifiers. */
export const keyText = ({ name, id, use, publicKey }: VerifierKey): string =>
  `${name}+${id}+${Buffer.concat([Buffer.from([typeBytes[use]]), publicKey]).toString('base64')}`

/** Parses the output of `keyText`. */
export const parseKey = (text: string): E.Either<InvalidInput, VerifierKey> => {
  const [, name, id, coded = ''] = /^([^+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/.exec(text) ?? []
  const typed = Buffer.from(coded, 'base64')
  const use = (['log', 'witness'] as const).find((each) => typeBytes[each] === typed[0])
  if (
    !isKeyName(name) ||
    use === undefined ||
    typed.length !== keyBytes + 1 ||
    typed.toString('base64') !== coded
  )
    return E.left(
      invalidInput('key', 'must be a verifier key for Ed25519, such as example.com/log+1a2b3c4d+AZ…'),
    )
  const key = verifierKey(name, typed.subarray(1), use)
  return key.id === id
    ? E.right(key)
    : E.left(
        invalidInput('key', `the id of the verifier key is ${key.id}, not ${id}: it was not copied whole`),
      )
}

/** Reports whether `signature` is a valid signature of the message by the key. */
export const isSigned = ({ publicKey }: VerifierKey, message: Uint8Array, signature: Uint8Array): boolean =>
  !isWeak(publicKey) && verify(null, message, publicKeyFrom(publicKey), signature)

/** The y-coordinates of the points of small order. If a key is such a point, anyone can forge its signatures. */
const smallOrder: ReadonlySet<string> = new Set([
  '0'.repeat(64),
  `01${'0'.repeat(62)}`,
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  `ec${'f'.repeat(60)}7f`,
])

/** Reports whether the key is a point of small order or encodes a y-coordinate not below the field prime. OpenSSL accepts such keys. */
const isWeak = (key: Buffer): boolean => {
  const y = Buffer.from(key)
  y[31] = (y[31] ?? 0) & 0x7f
  const text = y.toString('hex')
  return smallOrder.has(text) || /^(?:e[def]|f.)f{60}7f$/.test(text)
}

const publicKeyFrom = (bytes: Uint8Array): KeyObject =>
  createPublicKey({ key: Buffer.concat([derPrefix, bytes]), format: 'der', type: 'spki' })

/** Returns the public key bytes of an Ed25519 key, public or private; undefined for any other kind of key. */
export const publicBytes = (key: KeyObject): Buffer | undefined => {
  if (key.asymmetricKeyType !== 'ed25519') return undefined
  const open = key.type === 'private' ? createPublicKey(key) : key
  return open.export({ format: 'der', type: 'spki' }).subarray(derPrefix.length)
}
