import { existsSync, statSync } from 'node:fs'
import * as E from 'fp-ts/lib/Either.js'
import { toError } from '../../result/typed-error.ts'
import type { VerifierKey } from '../../audit/ledger/keys.ts'
import { usage } from '../errors.ts'
import { fileText } from '../options.ts'

/** Reads the verifier key given with `--key`, either as text or as the name of a file. */
export const readVerifierKey = async (key: string | undefined): Promise<VerifierKey | undefined> =>
  key === undefined ? undefined : keyGiven('--key', key, 'log')

/** Reads the verifier keys given with `--witness`, each either as text or as the name of a file. */
export const witnessKeys = (keys: readonly string[] = []): Promise<readonly VerifierKey[]> =>
  Promise.all(keys.map((key) => keyGiven('--witness', key, 'witness')))

const keyGiven = async (option: string, key: string, use: VerifierKey['use']): Promise<VerifierKey> => {
  const { parseKey } = await import('../../audit/ledger/keys.ts')
  const isThere = existsSync(key)
  if (isThere && statSync(key).isDirectory()) throw toError(usage(`${option} ${key} is a folder`))
  if (!isThere && !key.includes('+'))
    throw toError(
      usage(`${option} ${key} is neither a file nor a verifier key, such as example.com/log+1a2b3c4d+AZ…`),
    )
  const text = (isThere ? await fileText(key) : key).trim()
  if (text.startsWith('-----BEGIN PRIVATE KEY'))
    throw toError(
      usage(`${option} ${key} is a signing key: palimpsest audit key prints the verifier key of a ledger`),
    )
  const parsed = parseKey(text)
  if (E.isLeft(parsed)) throw toError(usage(`${option} ${parsed.left.message.replace(/^key: /, '')}`))
  if (parsed.right.use === use) return parsed.right
  throw toError(
    usage(
      use === 'log'
        ? `${option} must be the key of a ledger, not of a witness`
        : `${option} must be the key of a witness, not of a ledger`,
    ),
  )
}
