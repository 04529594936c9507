import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, statSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { z } from 'zod'
import { check } from '../events/check.ts'
import { fileUnreadable } from '../transfer/formats/errors.ts'
import { toError } from '../result/typed-error.ts'
import { type Identity, type AccessScope, scopes } from './route.ts'

// Access tokens, in a file that holds only the hashes of the tokens.

const entrySchema = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,64}$/, { error: 'must have 1 to 64 characters from A–Z a–z 0–9 . _ -' }),
  scopes: z.array(z.enum(scopes)).min(1),
  /** SHA-256 of the token, in hex. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  created: z.iso.datetime(),
})
const fileSchema = z.strictObject({ tokens: z.array(entrySchema) })
type Entry = z.infer<typeof entrySchema>

/** Error in reading or changing a token file. */
export interface TokenFileError {
  readonly _tag: 'TokenFileError'
  readonly message: string
  readonly file: string
}
const problem = (file: string, message: string): Error & TokenFileError =>
  toError({ _tag: 'TokenFileError' as const, message: `token file ${file}: ${message}`, file })

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT'

const advice = 'create one with palimpsest serve token create'
const read = (file: string): readonly Entry[] => {
  let given: unknown
  try {
    given = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    if (error instanceof SyntaxError) throw problem(file, `is not JSON: ${advice}`)
    throw isMissing(error) ? error : problem(file, fileUnreadable('it', error).message)
  }
  const checked = check(fileSchema, given)
  if (E.isLeft(checked)) throw problem(file, `has the wrong form (${checked.left.message}): ${advice}`)
  return checked.right.tokens
}
const existing = (file: string): readonly Entry[] => {
  try {
    return read(file)
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

/** Runs a function that reads the file. Throws `TokenFileError` if the file is missing. */
const reportMissing = <A>(file: string, reads: () => A): A => {
  try {
    return reads()
  } catch (error) {
    throw isMissing(error) ? problem(file, 'is missing: create it with palimpsest serve token create') : error
  }
}

/** Replaces the token file with one that only its owner can read. */
const write = (file: string, tokens: readonly Entry[]): void => {
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  let fd
  try {
    fd = openSync(draft, 'wx', 0o600)
  } catch (error) {
    throw problem(
      file,
      isMissing(error)
        ? `there is no folder ${dirname(file)}: create it first`
        : `cannot be written: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
  try {
    writeSync(fd, `${JSON.stringify({ tokens }, null, 2)}\n`)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
  renameSync(draft, file)
}

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest()

/**
 * Adds a token to a token file. The file is created if missing.
 *
 * @returns the token, which is not stored anywhere
 */
export const createAccessToken = (file: string, name: string, given: readonly AccessScope[]): string => {
  const tokens = existing(file)
  if (tokens.some((entry) => entry.name === name))
    throw problem(file, `has a token named ${name}: revoke it first`)
  const token = `pal_${randomBytes(32).toString('base64url')}`
  const entry = {
    name,
    scopes: [...given],
    sha256: hashOf(token).toString('hex'),
    created: new Date().toISOString(),
  }
  const checked = check(entrySchema, entry)
  if (E.isLeft(checked)) throw problem(file, checked.left.message)
  write(file, [...tokens, entry])
  return token
}

/**
 * Removes a token from a token file. A running server rejects the token from the next request on, and ends its event streams before
 * sending anything more.
 */
export const revokeAccessToken = (file: string, name: string): void => {
  const tokens = existing(file)
  if (!tokens.some((entry) => entry.name === name)) throw problem(file, `has no token named ${name}`)
  write(
    file,
    tokens.filter((entry) => entry.name !== name),
  )
}

/** Lists the tokens of a token file, without their hashes. */
export const listAccessTokens = (file: string): readonly Omit<Entry, 'sha256'>[] =>
  reportMissing(file, () => read(file)).map(({ name, scopes: given, created }) => ({
    name,
    scopes: given,
    created,
  }))

/** Returns the owner of a token, or undefined if the token file does not currently contain the token. */
export type Authenticate = (token: string) => Identity | undefined

/**
 * Makes an `Authenticate` from a token file, which is read again whenever it changes. Throws `TokenFileError` if the file cannot be
 * read at the start.
 */
export const accessTokensIn = (file: string): Authenticate => {
  const stamp = (): string => {
    const { mtimeNs, ino, size } = statSync(file, { bigint: true })
    return `${mtimeNs} ${ino} ${size}`
  }
  const load = () => ({ stamp: stamp(), entries: read(file) })
  let known = reportMissing(file, load)
  const now = (): readonly Entry[] => {
    try {
      if (stamp() !== known.stamp) known = load()
    } catch {
      // If the file is missing or damaged, no token is accepted.
      return []
    }
    return known.entries
  }
  return (token) => {
    const hash = hashOf(token)
    const found = now().find(({ sha256 }) => timingSafeEqual(Buffer.from(sha256, 'hex'), hash))
    return found && { actor: { kind: 'user', id: found.name }, by: found.name, scopes: found.scopes }
  }
}
