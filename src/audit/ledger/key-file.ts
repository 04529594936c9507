import { createPrivateKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { readFile, stat, writeFile } from 'node:fs/promises'
import * as E from 'fp-ts/lib/Either.js'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import { unwrap, type Fallible } from '../../result/fallible.ts'
import { newKeyName } from './errors.ts'
import { publicBytes, type Signer } from './keys.ts'

/** File mode with access for the owner only. */
const mode = 0o600
const others = 0o077

/**
 * Returns a signer with a private Ed25519 key.
 *
 * @param pem the key as PEM (PKCS #8), in the format of `openssl genpkey -algorithm ed25519`
 */
export const signerFrom = (pem: string): E.Either<InvalidInput, Signer> => {
  const key = privateKey(pem)
  const publicKey = key && publicBytes(key)
  return key && publicKey
    ? E.right({ publicKey, sign: (message) => Promise.resolve(sign(null, message, key)) })
    : E.left(invalidInput('key', 'must be a private Ed25519 key in PEM: palimpsest audit init creates one'))
}

const privateKey = (pem: string): KeyObject | undefined => {
  try {
    return createPrivateKey(pem)
  } catch {
    return undefined
  }
}

/** Returns the signer whose key is in `file`. Fails if users other than the owner may read the file. */
export async function* signerIn(file: string): Fallible<InvalidInput, Signer> {
  const pem = await readFile(file, 'utf8').catch(() => undefined)
  if (pem === undefined)
    return yield invalidInput(
      'key',
      `${file} cannot be read: restore it, or see docs/audit.md for what to do if it is lost; palimpsest audit init creates the first key`,
    )
  const signer = yield* unwrap(signerFrom(pem))
  const { mode: actual } = await stat(file)
  if (process.platform !== 'win32' && (actual & others) !== 0)
    return yield invalidInput(
      'key',
      `other users can read ${file}: run chmod 600 on it, and replace the key with palimpsest audit rotate-key if somebody may have read it`,
    )
  return signer
}

/** Creates a signing key in a new file. */
export async function* newKeyFile(file: string): Fallible<InvalidInput, Signer> {
  const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const problem = await writeFile(file, pem, { mode, flag: 'wx', flush: true }).then(
    () => undefined,
    (error: NodeJS.ErrnoException) => error,
  )
  if (problem?.code === 'EEXIST')
    return yield invalidInput(
      'key',
      `${file} exists, and a key is never overwritten: name a new file (palimpsest audit init --key ${newKeyName}, palimpsest audit rotate-key ${newKeyName}); palimpsest audit status shows the ledger of a store`,
    )
  if (problem) return yield invalidInput('key', `${file} cannot be written (${problem.message})`)
  return yield* unwrap(signerFrom(pem))
}
