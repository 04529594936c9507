import { createCipheriv, createDecipheriv, createHmac, type DecipherGCM, randomFillSync } from 'node:crypto'
import { type Fallible, orThrow, task, unwrap } from '../../result/fallible.ts'
import type { StoreError } from '../errors.ts'
import { isSealedBlob, sealMarkBytes } from '../marks.ts'
import type { BlobInfo, BlobStore } from '../port.ts'
import { cipher, decrypt, encrypt, ivBytes, tagBytes } from './sealed-event.ts'
import type { StoreSecret } from './store-secret.ts'

// Large content is stored under a name that only the store's secret yields, so that nobody can look for a content that he can guess. A
// sealed blob begins with a mark and the content's own hash, encrypted, because `list` must return it; IV, ciphertext and tag follow.

const hashBytes = 32
const markBytes = sealMarkBytes.length
const headBytes = markBytes + ivBytes + hashBytes + tagBytes
const overhead = headBytes + ivBytes + tagBytes

const derived = (secret: Uint8Array, purpose: string): Buffer =>
  createHmac('sha256', secret).update(purpose).digest()
const nameOf = (secret: Uint8Array, sha256: string): string =>
  derived(secret, `name ${sha256}`).toString('hex')
const keyOf = (secret: Uint8Array, sha256: string): Buffer => derived(secret, `content ${sha256}`)

/** Returns a blob store that encrypts what it stores. Blobs that were stored before are read as they are. */
export const sealedBlobs = (
  inner: BlobStore,
  secret: StoreSecret,
  withKeys: <A>(work: () => Promise<A>) => Fallible<StoreError, A>,
): BlobStore => {
  const found = (): Promise<Uint8Array | undefined> => orThrow(task(() => withKeys(secret.find)))

  async function* get(sha256: string): AsyncGenerator<Uint8Array, void> {
    const own = await found()
    let isStored = false
    if (own)
      for await (const piece of decrypted(inner.get(nameOf(own, sha256)), keyOf(own, sha256))) {
        isStored = true
        yield piece
      }
    if (!isStored) yield* inner.get(sha256)
  }

  async function* list(): AsyncGenerator<BlobInfo, void> {
    const own = await found()
    for await (const info of inner.list()) {
      const beginning = await beginningOf(inner.get(info.sha256))
      const head =
        own && isSealedBlob(beginning)
          ? decrypt(derived(own, 'head'), beginning.subarray(markBytes))
          : undefined
      yield head ? { ...info, sha256: head.toString('hex'), bytes: info.bytes - overhead } : info
    }
  }

  return {
    put: (sha256, chunks) =>
      task(async function* (): Fallible<StoreError, void> {
        const own = yield* withKeys(secret.create)
        const head = encrypt(derived(own, 'head'), Buffer.from(sha256, 'hex'))
        const iv = randomFillSync(Buffer.alloc(ivBytes))
        const sealed = { [Symbol.iterator]: () => encrypted(chunks, keyOf(own, sha256), head, iv) }
        yield* unwrap(inner.put(nameOf(own, sha256), sealed))
      }),
    get,
    list,
    remove: (sha256, before) =>
      task(async function* (): Fallible<StoreError, void> {
        const own = yield* withKeys(secret.find)
        if (own) yield* unwrap(inner.remove(nameOf(own, sha256), before))
        yield* unwrap(inner.remove(sha256, before))
      }),
  }
}

function* encrypted(
  chunks: Iterable<Uint8Array>,
  key: Uint8Array,
  head: Buffer,
  iv: Buffer,
): Generator<Uint8Array, void> {
  const encrypting = createCipheriv(cipher, key, iv)
  yield Buffer.concat([sealMarkBytes, head, iv])
  for (const chunk of chunks) yield encrypting.update(chunk)
  encrypting.final()
  yield encrypting.getAuthTag()
}

/** Decrypts the pieces of a sealed blob; yields nothing if there are none. Throws an `Error` at the end if a byte was changed. */
async function* decrypted(
  pieces: AsyncIterable<Uint8Array>,
  key: Uint8Array,
): AsyncGenerator<Uint8Array, void> {
  let decrypting: DecipherGCM | undefined
  let rest = Buffer.alloc(0)
  for await (const piece of pieces) {
    rest = Buffer.concat([rest, piece])
    if (!decrypting) {
      if (rest.length < headBytes + ivBytes) continue
      decrypting = createDecipheriv(cipher, key, rest.subarray(headBytes, headBytes + ivBytes))
      rest = rest.subarray(headBytes + ivBytes)
    }
    // The last bytes may be the tag.
    const end = rest.length - tagBytes
    if (end <= 0) continue
    yield decrypting.update(rest.subarray(0, end))
    rest = rest.subarray(end)
  }
  if (!decrypting) return
  decrypting.setAuthTag(rest)
  decrypting.final()
}

/** Returns the head of a sealed blob, or as much as there is. */
const beginningOf = async (pieces: AsyncIterable<Uint8Array>): Promise<Buffer> => {
  let beginning = Buffer.alloc(0)
  for await (const piece of pieces) {
    beginning = Buffer.concat([beginning, piece])
    if (beginning.length >= headBytes) break
  }
  return beginning.subarray(0, headBytes)
}
