// SHA-256 (FIPS 180-4) that can stop in the middle of a text and continue from there, which node:crypto does not support. It proves
// withheld events: the hash state after the first blocks of an event's text does not reveal these blocks, and the last bytes of the
// text contain the hash of the preceding event.

/** Size of a SHA-256 block in bytes. */
export const blockBytes = 64
const wordBytes = 4

const primes = Array.from({ length: 310 }, (_, n) => n + 2).filter((n, _, all) =>
  all.every((divisor) => divisor >= n || n % divisor !== 0),
)
/** Returns the first 32 bits of the fractional part of `root`. */
const fraction = (root: number): number => Math.floor((root % 1) * 2 ** 32) | 0
const constants = Int32Array.from(primes, (prime) => fraction(Math.cbrt(prime)))
const initial = Int32Array.from(primes.slice(0, 8), (prime) => fraction(Math.sqrt(prime)))

const turned = (word: number, by: number): number => (word >>> by) | (word << (32 - by))

/** Message schedule of a block. One for all blocks: a new one for each would take ten times as long as the hashing. */
const words = new Int32Array(64)

/** Applies the block of a text at an offset to a state, in place. */
const compress = (state: Int32Array, text: Buffer, offset: number): void => {
  for (let i = 0; i < 16; i++) words[i] = text.readInt32BE(offset + i * wordBytes)
  for (let i = 16; i < 64; i++) {
    const one = words[i - 15] ?? 0
    const other = words[i - 2] ?? 0
    words[i] =
      (words[i - 16] ?? 0) +
      (turned(one, 7) ^ turned(one, 18) ^ (one >>> 3)) +
      (words[i - 7] ?? 0) +
      (turned(other, 17) ^ turned(other, 19) ^ (other >>> 10))
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state
  for (let i = 0; i < 64; i++) {
    const t =
      h +
      (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) +
      ((e & f) ^ (~e & g)) +
      (constants[i] ?? 0) +
      (words[i] ?? 0)
    const u = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))
    h = g
    g = f
    f = e
    e = (d + t) | 0
    d = c
    c = b
    b = a
    a = (t + u) | 0
  }
  for (const [i, word] of [a, b, c, d, e, f, g, h].entries()) state[i] = (state[i] ?? 0) + word
}

const run = (state: Int32Array, text: Buffer): Int32Array => {
  const now = Int32Array.from(state)
  for (let at = 0; at < text.length; at += blockBytes) compress(now, text, at)
  return now
}

const bytesOf = (state: Int32Array): Buffer => {
  const bytes = Buffer.alloc(state.length * wordBytes)
  for (const [i, word] of state.entries()) bytes.writeInt32BE(word, i * wordBytes)
  return bytes
}

/** Returns the 32-byte hash state after a text that consists of whole blocks. */
export const stateAfter = (text: Buffer): Buffer => bytesOf(run(initial, text))

/**
 * Returns the SHA-256 of a text of which only the end is available.
 *
 * @param state hash state after the blocks that precede `rest`
 * @param length length of the whole text in bytes
 */
export const hashFrom = (state: Buffer, rest: Buffer, length: number): Buffer => {
  const zeros = (((blockBytes - 9 - length) % blockBytes) + blockBytes) % blockBytes
  const bits = Buffer.alloc(8)
  bits.writeBigUInt64BE(BigInt(length) * 8n)
  const before = Int32Array.from({ length: 8 }, (_, i) => state.readInt32BE(i * wordBytes))
  return bytesOf(run(before, Buffer.concat([rest, Buffer.from([0x80]), Buffer.alloc(zeros), bits])))
}
