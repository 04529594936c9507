import * as E from 'fp-ts/lib/Either.js'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import { isKeyName, isSigned, type Signer, type VerifierKey, verifierKey } from './keys.ts'

// Signed notes, as specified by C2SP signed-note and tlog-cosignature.

/** A text with its signatures. */
export interface SignedNote {
  /** Text of the note, ending with a newline. */
  readonly text: string
  readonly signatures: readonly NoteSignature[]
}

export interface NoteSignature {
  readonly name: string
  /** Key id: 4 bytes in hex. */
  readonly id: string
  readonly signature: Buffer
}

const mostSignatures = 100
const idBytes = 4
/** Size of a cosignature's time in bytes. */
const timeBytes = 8
const signatureBytes = 64

const signatureLine = ({ name, id, signature }: NoteSignature): string =>
  `— ${name} ${Buffer.concat([Buffer.from(id, 'hex'), signature]).toString('base64')}\n`

export const noteText = ({ text, signatures }: SignedNote): string =>
  `${text}\n${signatures.map(signatureLine).join('')}`

/** Parses the output of `noteText`. Does not verify the signatures. */
export const parseNote = (source: string): E.Either<InvalidInput, SignedNote> => {
  const end = source.lastIndexOf('\n\n')
  // The only control characters that a note may hold are newlines.
  if (end < 0 || !source.isWellFormed() || /[^\P{Cc}\n]/u.test(source)) return notANote
  const signatures = parseSignatures(source.slice(end + 2))
  return signatures && signatures.length > 0
    ? E.right({ text: source.slice(0, end + 1), signatures })
    : notANote
}

const notANote = E.left(
  invalidInput('note', 'must be a signed note: a text, an empty line, and lines with signatures'),
)

/** Parses signature lines as returned by a witness; undefined if a line is malformed. */
export const parseSignatures = (lines: string): readonly NoteSignature[] | undefined => {
  if (!lines.endsWith('\n')) return undefined
  const signatures = lines.slice(0, -1).split('\n').map(parseSignature)
  return signatures.length <= mostSignatures && signatures.every((each) => each !== undefined)
    ? signatures
    : undefined
}

const parseSignature = (line: string): NoteSignature | undefined => {
  const [, name, coded = ''] = /^— ([^ ]+) ([A-Za-z0-9+/]+={0,2})$/.exec(line) ?? []
  const bytes = Buffer.from(coded, 'base64')
  if (!isKeyName(name) || bytes.length <= idBytes || bytes.toString('base64') !== coded) return undefined
  return { name, id: bytes.toString('hex', 0, idBytes), signature: bytes.subarray(idBytes) }
}

/** Signs a text on behalf of a log. */
export const signNote = async (text: string, name: string, signer: Signer): Promise<SignedNote> => {
  const { id } = verifierKey(name, signer.publicKey)
  return { text, signatures: [{ name, id, signature: Buffer.from(await signer.sign(Buffer.from(text))) }] }
}

/** Returns the keys that have signed the note. An invalid signature by any of the given keys makes the whole note invalid. */
export const signersOf = (
  { text, signatures }: SignedNote,
  keys: readonly VerifierKey[],
): E.Either<InvalidInput, readonly VerifierKey[]> => {
  const found = new Set<VerifierKey>()
  for (const { name, id, signature } of signatures) {
    const key = keys.find((each) => each.name === name && each.id === id)
    if (!key) continue
    if (!hasSigned(key, text, signature))
      return E.left(invalidInput('note', `the signature of ${name} (${id}) does not match this text`))
    found.add(key)
  }
  return E.right([...found])
}

/** Reports whether the note has at least one valid signature and no invalid signature by these keys. */
export const isSignedBy = (note: SignedNote, keys: readonly VerifierKey[]): boolean => {
  const signers = signersOf(note, keys)
  return E.isRight(signers) && signers.right.length > 0
}

const hasSigned = (key: VerifierKey, text: string, signature: Buffer): boolean => {
  if (key.use === 'log') return isSigned(key, Buffer.from(text), signature)
  const time = cosignatureTime(signature)
  return time !== undefined && isSigned(key, cosignatureText(text, time), signature.subarray(timeBytes))
}

/**
 * Returns the bytes that a witness signs.
 *
 * @param time seconds since 1970
 */
export const cosignatureText = (text: string, time: number): Buffer =>
  Buffer.from(`cosignature/v1\ntime ${time}\n${text}`)

/** Last second that a `Date` can represent, in seconds since 1970. */
const endOfTime = 8.64e12

/** Returns the time at which a witness signed, in seconds since 1970; undefined if the signature is not a valid cosignature. */
export const cosignatureTime = (signature: Buffer): number | undefined => {
  if (signature.length !== timeBytes + signatureBytes) return undefined
  const time = Number(signature.readBigUInt64BE())
  return time <= endOfTime ? time : undefined
}
