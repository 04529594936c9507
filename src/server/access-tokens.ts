import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import {
  closeSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs'
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

const advice =
  'put back a copy, or move it away and create every token again with palimpsest serve token create'
const read = (file: string): readonly Entry[] => {
  let given: unknown
  try {
    given = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    if (error instanceof SyntaxError) throw problem(file, `is not JSON: ${advice}`)
    throw isMissing(error) ? error : problem(file, unreadable(file, error))
  }
  const checked = check(fileSchema, given)
  if (E.isLeft(checked)) throw problem(file, `has the wrong form (${checked.left.message}): ${advice}`)
  return checked.right.tokens
}
const statIfAllowed = (file: string): Stats | undefined => {
  try {
    return statSync(file)
  } catch {
    return undefined
  }
}

/** Says why a file cannot be read, and to whom it belongs if that is the reason. */
const unreadable = (file: string, error: unknown): string => {
  const isDenied =
    Reflect.get(Object(error), 'code') === 'EACCES' && Reflect.get(Object(error), 'syscall') === 'open'
  const owner = isDenied && statIfAllowed(file)
  if (!owner) return fileUnreadable('it', error).message
  const [own, mode] = [process.getuid?.(), (owner.mode & 0o777).toString(8)]
  const access =
    owner.uid === own ? `allow it (chmod 600 ${file})` : `give it to that user (chown ${own} ${file})`
  return `belongs to user ${owner.uid} with mode ${mode}, and this process, user ${own}, may not read it: ${access}`
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

/**
 * Replaces the token file. The new one has the rights of the former one; the first one is readable by its owner only. What root writes
 * belongs to the owner of the former file, or else of its folder, because the server of that user must read it.
 */
const write = (file: string, tokens: readonly Entry[]): void => {
  const former = statSync(file, { throwIfNoEntry: false })
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  let fd
  try {
    fd = openSync(draft, 'wx', 0o600)
  } catch (error) {
    throw isMissing(error)
      ? problem(file, `there is no folder ${dirname(file)}: create it first`)
      : unwritable(file, error)
  }
  try {
    try {
      writeFileSync(fd, `${JSON.stringify({ tokens }, null, 2)}\n`)
      if (former) fchmodSync(fd, former.mode & 0o777)
      const { uid, gid } = former ?? statSync(dirname(file))
      if (process.getuid?.() === 0) fchownSync(fd, uid, gid)
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    renameSync(draft, file)
  } catch (error) {
    rmSync(draft, { force: true })
    throw unwritable(file, error)
  }
}

const unwritable = (file: string, error: unknown): Error & TokenFileError => {
  const isFull = Reflect.get(Object(error), 'code') === 'ENOSPC'
  const why = isFull
    ? 'the disk is full: free some room, and repeat the command'
    : error instanceof Error
      ? error.message
      : String(error)
  return problem(file, `cannot be written: ${why}`)
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

/** An `Authenticate` that reads a token file. */
export interface AccessTokens extends Authenticate {
  /** Returns the reason why the file cannot be read at present, so that no token is accepted. */
  readonly problem: () => TokenFileError | undefined
}

/**
 * Makes an `Authenticate` from a token file, which is read again whenever it changes. Throws `TokenFileError` if the file cannot be
 * read at the start.
 *
 * @param report called once for each reason why the file cannot be read later
 */
export const accessTokensIn = (
  file: string,
  report: (error: TokenFileError) => void = () => undefined,
): AccessTokens => {
  const stamp = (): string => {
    const { mtimeNs, ctimeNs, ino, size } = statSync(file, { bigint: true })
    return `${mtimeNs} ${ctimeNs} ${ino} ${size}`
  }
  const load = () => reportMissing(file, () => ({ stamp: stamp(), entries: read(file) }))
  let known = load()
  let failed: TokenFileError | undefined
  /** Returns the current entries; none if the file is missing or damaged. */
  const now = (): readonly Entry[] => {
    try {
      if (failed || reportMissing(file, stamp) !== known.stamp) known = load()
      failed = undefined
      return known.entries
    } catch (error) {
      const found = error as Error & TokenFileError
      if (failed?.message !== found.message) report(found)
      failed = found
      return []
    }
  }
  const authenticate = (token: string): Identity | undefined => {
    const hash = hashOf(token)
    const found = now().find(({ sha256 }) => timingSafeEqual(Buffer.from(sha256, 'hex'), hash))
    return found && { actor: { kind: 'user', id: found.name }, by: found.name, scopes: found.scopes }
  }
  return Object.assign(authenticate, {
    problem: () => {
      now()
      return failed
    },
  })
}
