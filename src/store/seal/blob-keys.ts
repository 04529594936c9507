import { randomBytes, randomUUID } from 'node:crypto'
import type { KeyStore } from './key-store.ts'

// Large content has a key of its own, so that it can be erased alone. A destroyed key is not created again: content that is stored once
// more gets a new key under the next number, and so another name in the store. The key is destroyed in two steps, because the content
// may be put at the same time: a writer that finds a removal announced after its put revokes it, or sees that the key is gone.

/** Key of a large content, as it is stored. */
export interface BlobKey {
  /** Text in the key store. */
  readonly text: string
  /** Number of keys of this content that were destroyed before. */
  readonly number: number
  /** Undefined if the key was destroyed. */
  readonly key: Uint8Array | undefined
  /** Id of an announced removal. */
  readonly removal: string | undefined
  /** Time at which the key was destroyed, in ISO 8601. */
  readonly erased: string | undefined
}

/** The keys of large contents. Each content has one record, under an id. */
export interface BlobKeys {
  readonly read: (id: string) => Promise<BlobKey | undefined>
  /** Creates a key in place of a destroyed one, or of none. Returns undefined if another process was first. */
  readonly create: (id: string, number: number, before: BlobKey | undefined) => Promise<BlobKey | undefined>
  /** Reports whether content that was put can be read, and revokes a removal that was announced meanwhile. */
  readonly confirm: (id: string, put: BlobKey) => Promise<boolean>
  /** Announces that a key is to be destroyed. Returns undefined if its record was changed. */
  readonly announce: (id: string, found: BlobKey) => Promise<BlobKey | undefined>
  readonly revoke: (id: string, announced: BlobKey) => Promise<boolean>
  /** Destroys a key. Returns false if its record was changed since the removal was announced. */
  readonly destroy: (id: string, announced: BlobKey) => Promise<boolean>
}

export const createBlobKeys = (keys: KeyStore): BlobKeys => {
  const read: BlobKeys['read'] = async (id) => {
    const text = await keys.read(id)
    return text === undefined ? undefined : keyIn(text)
  }
  const write = async (id: string, record: KeyText, before?: string): Promise<BlobKey | undefined> => {
    const text = JSON.stringify({ palimpsest: form, ...record })
    return (await keys.write(id, text, before)) ? keyIn(text) : undefined
  }
  const revoke: BlobKeys['revoke'] = async (id, announced) =>
    (await write(id, liveText(announced), announced.text)) !== undefined

  return {
    read,
    create: (id, number, before) =>
      write(id, { number, key: randomBytes(32).toString('base64url') }, before?.text),
    confirm: async (id, put) => {
      for (;;) {
        const found = await read(id)
        if (!found?.key || Buffer.compare(found.key, put.key ?? Buffer.alloc(0)) !== 0) return false
        if (found.removal === undefined || (await revoke(id, found))) return true
      }
    },
    announce: (id, found) => write(id, { ...liveText(found), removal: randomUUID() }, found.text),
    revoke,
    destroy: async (id, { number, text }) =>
      (await write(id, { number, erased: new Date().toISOString() }, text)) !== undefined,
  }
}

const form = 'blob key 1'

type KeyText = Pick<BlobKey, 'number'> & { readonly [K in 'key' | 'removal' | 'erased']?: string }

const liveText = ({ number, key }: BlobKey): KeyText => ({
  number,
  key: Buffer.from(key ?? []).toString('base64url'),
})

/** Parses a record. Throws an `Error` if it has another form. */
const keyIn = (text: string): BlobKey => {
  const record = JSON.parse(text) as KeyText & { readonly palimpsest: string }
  if (record.palimpsest !== form)
    throw new Error(
      `a key has the form ${record.palimpsest}: a newer palimpsest wrote it; upgrade palimpsest`,
    )
  const { number, key, removal, erased } = record
  return { text, number, key: key === undefined ? undefined : Buffer.from(key, 'base64url'), removal, erased }
}
