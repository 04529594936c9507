import { createCipheriv, createDecipheriv, createHmac, type DecipherGCM, randomFillSync } from 'node:crypto'
import { type Fallible, orThrow, task, unwrap } from '../../result/fallible.ts'
import { blobInfo } from '../blob-info.ts'
import type { StoreError } from '../errors.ts'
import { isSealedBlob, sealMarkBytes } from '../marks.ts'
import type { BlobInfo, BlobStore } from '../port.ts'
import { type BlobKey, createBlobKeys } from './blob-keys.ts'
import type { KeyStore } from './key-store.ts'
import { cipher, decrypt, encrypt, ivBytes, tagBytes } from './sealed-event.ts'
import type { StoreSecret } from './store-secret.ts'

// Large content is stored under a name that only the store's secret yields, so that nobody can look for a content that he can guess. A
// sealed blob begins with a mark and the content's own hash, encrypted, because `list` must return it; IV, ciphertext and tag follow.

const hashBytes = 32
const markBytes = sealMarkBytes.length
const headBytes = markBytes + ivBytes + hashBytes + tagBytes
const overhead = headBytes + ivBytes + tagBytes
/** Later than any content was put. */
const ever = new Date('9999-12-31T23:59:59.999Z')

const derived = (secret: Uint8Array, purpose: string): Buffer =>
  createHmac('sha256', secret).update(purpose).digest()
/** Returns the name of a content in the store. */
const nameOf = (secret: Uint8Array, sha256: string, number: number): string =>
  derived(secret, `name ${sha256} ${number}`).toString('hex')
/** Returns the id of a content's key. No conversation has such an id, because only the secret yields it. */
const keyIdOf = (secret: Uint8Array, sha256: string): string =>
  `blob-${derived(secret, `key ${sha256}`).toString('hex')}`

interface Sealing {
  readonly secret: StoreSecret
  readonly keys: KeyStore
  /** Runs work with keys, and names them if it fails. */
  readonly withKeys: <A>(work: () => Promise<A>) => Fallible<StoreError, A>
}

/**
 * Returns a blob store that encrypts what it stores, each content with a key of its own. Removing a content destroys its key. Blobs that
 * were stored before are read as they are.
 */
export const sealedBlobs = (inner: BlobStore, { secret, keys, withKeys }: Sealing): BlobStore => {
  const blobKeys = createBlobKeys(keys)
  const infoOf = (
    own: Uint8Array,
    sha256: string,
    number: number,
  ): Fallible<StoreError, BlobInfo | undefined> => unwrap(blobInfo(inner, nameOf(own, sha256, number)))

  /** Returns the secret, and the key of a content; undefined if there is none. */
  const found = (
    sha256: string,
  ): Fallible<StoreError, { own: Uint8Array; key: BlobKey | undefined } | undefined> =>
    withKeys(async () => {
      const own = await secret.find()
      return own && { own, key: await blobKeys.read(keyIdOf(own, sha256)) }
    })

  /** Returns the key of a content. Creates it if there is none. */
  async function* keyFor(own: Uint8Array, sha256: string): Fallible<StoreError, BlobKey> {
    const id = keyIdOf(own, sha256)
    for (;;) {
      const before = yield* withKeys(() => blobKeys.read(id))
      if (before?.key) return before
      let number = before ? before.number + 1 : 0
      // An older copy of the keys was restored: a put would keep what is stored, which the new key does not open.
      while (yield* infoOf(own, sha256, number)) number++
      const created = yield* withKeys(() => blobKeys.create(id, number, before))
      if (created) return created
    }
  }

  async function* put(sha256: string, chunks: Iterable<Uint8Array>): Fallible<StoreError, void> {
    const own = yield* withKeys(secret.create)
    const head = encrypt(derived(own, 'head'), Buffer.from(sha256, 'hex'))
    for (;;) {
      const given = yield* keyFor(own, sha256)
      const iv = randomFillSync(Buffer.alloc(ivBytes))
      const sealed = { [Symbol.iterator]: () => encrypted(chunks, given.key ?? iv, head, iv) }
      const name = nameOf(own, sha256, given.number)
      yield* unwrap(inner.put(name, sealed))
      if (yield* withKeys(() => blobKeys.confirm(keyIdOf(own, sha256), given))) return
      yield* unwrap(inner.remove(name, ever))
    }
  }

  async function* get(sha256: string): AsyncGenerator<Uint8Array, void> {
    const { own, key } = (await orThrow(task(() => found(sha256)))) ?? {}
    let isStored = false
    if (own && key?.key)
      for await (const piece of decrypted(inner.get(nameOf(own, sha256, key.number)), key.key)) {
        isStored = true
        yield piece
      }
    if (!isStored) yield* inner.get(sha256)
  }

  async function* list(): AsyncGenerator<BlobInfo, void> {
    const own = await orThrow(task(() => withKeys(secret.find)))
    for await (const info of inner.list()) {
      const beginning = await beginningOf(inner.get(info.sha256))
      const head =
        own && isSealedBlob(beginning)
          ? decrypt(derived(own, 'head'), beginning.subarray(markBytes))
          : undefined
      yield head ? { ...info, sha256: head.toString('hex'), bytes: info.bytes - overhead } : info
    }
  }

  /**
   * Destroys the key of a content, unless the content was put at or after `before`.
   *
   * @returns the number of the last key that was destroyed, now or before; -1 if none was
   */
  async function* destroyKey(
    own: Uint8Array,
    sha256: string,
    before: Date,
  ): Fallible<StoreError, { readonly last: number; readonly isKept: boolean }> {
    const id = keyIdOf(own, sha256)
    for (;;) {
      const given = yield* withKeys(() => blobKeys.read(id))
      // What destroyed it may have failed before nothing was left of the key.
      if (given && !given.key) yield* withKeys(async () => keys.scrub?.())
      if (!given?.key) return { last: given?.number ?? -1, isKept: false }
      const { number } = given
      const isRecent = async function* (): Fallible<StoreError, boolean> {
        const info = yield* infoOf(own, sha256, number)
        return info !== undefined && info.time >= before
      }
      const kept = { last: number - 1, isKept: true }
      if (given.removal === undefined && (yield* isRecent())) return kept
      const announced =
        given.removal === undefined ? yield* withKeys(() => blobKeys.announce(id, given)) : given
      if (!announced) continue
      // A put before the announcement has renewed its time.
      if (yield* isRecent()) {
        yield* withKeys(() => blobKeys.revoke(id, announced))
        return kept
      }
      if (yield* withKeys(() => blobKeys.destroy(id, announced))) return { last: number, isKept: false }
    }
  }

  async function* remove(sha256: string, before: Date): Fallible<StoreError, void> {
    const own = yield* withKeys(secret.find)
    if (own) {
      // The key goes first: content that is left without its key is listed, and removed the next time.
      const { last, isKept } = yield* destroyKey(own, sha256, before)
      for (let number = 0; number <= last || (!isKept && (yield* infoOf(own, sha256, number))); number++)
        yield* unwrap(inner.remove(nameOf(own, sha256, number), number <= last ? ever : before))
    }
    yield* unwrap(inner.remove(sha256, before))
  }

  async function* whyAbsent(sha256: string): Fallible<StoreError, string | undefined> {
    const { own, key } = (yield* found(sha256)) ?? {}
    if (key?.erased !== undefined)
      return `was erased on ${key.erased}, and its key destroyed; if this is an older copy of the store, restore the newest one`
    if (!own || key || !(yield* infoOf(own, sha256, 0))) return undefined
    return `is sealed, and ${keys.name} has no key that opens it; restore the newest copy of the keys`
  }

  return {
    put: (sha256, chunks) => task(() => put(sha256, chunks)),
    get,
    list,
    remove: (sha256, before) => task(() => remove(sha256, before)),
    whyAbsent: (sha256) => task(() => whyAbsent(sha256)),
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

/**
 * Decrypts the pieces of a sealed blob; yields nothing if there are none. Does not check the tag: a reader of content compares it with
 * its hash, and reports damage.
 */
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
