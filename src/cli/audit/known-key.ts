import { existsSync, statSync } from 'node:fs'
import * as E from 'fp-ts/lib/Either.js'
import { toError } from '../../result/typed.ts'
import type { VerifierKey } from '../../ledger/keys.ts'
import { usage } from '../errors.ts'
import { fileText } from '../options.ts'

/** The verifier key of `--key`: as text, or in a file. */
export const knownKey = async (key: string | undefined): Promise<VerifierKey | undefined> => {
  if (key === undefined) return undefined
  const { parseKey } = await import('../../ledger/keys.ts')
  const isThere = existsSync(key)
  if (isThere && statSync(key).isDirectory()) throw toError(usage(`--key ${key} is a folder`))
  const parsed = parseKey((isThere ? await fileText(key) : key).trim())
  if (E.isLeft(parsed)) throw toError(usage(`--key ${parsed.left.message.replace(/^key: /, '')}`))
  if (parsed.right.use !== 'log') throw toError(usage('--key must be the key of a ledger, not of a witness'))
  return parsed.right
}
