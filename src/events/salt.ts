import { randomFillSync } from 'node:crypto'

const saltBytes = 16
// Asking the system for the bytes of one salt takes ten times as long as cutting them from a pool.
const pool = Buffer.alloc(256 * saltBytes)
let used = pool.length

/** Creates the salt of an event: 16 random bytes in base64url. */
export const newSalt = (): string => {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += saltBytes
  return pool.toString('base64url', used - saltBytes, used)
}

/** Creates the salts of a command's events, by index: the same ones each time that the command is tried. */
export const newSalts = (): ((index: number) => string) => {
  const salts: string[] = []
  return (index) => (salts[index] ??= newSalt())
}
