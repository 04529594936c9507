import { createCipheriv, createDecipheriv, randomFillSync } from 'node:crypto'
import { type EventForm, erasedMetadata } from '../../events/erased-form.ts'
import type { StoredEvent } from '../../events/stored-event.ts'
import { sealedStart } from '../marks.ts'

// A sealed event shows what an erased one shows, and holds the rest encrypted: without its key, it is an erased event.

export const cipher = 'aes-256-gcm'
export const ivBytes = 12
export const tagBytes = 16

const left = '","left":'
const stub = ',"stub":"'

// Asking the system for the bytes of one IV takes longer than encrypting a message.
const ivs = Buffer.alloc(256 * ivBytes)
let used = ivs.length

const newIv = (): Buffer => {
  if (used === ivs.length) {
    randomFillSync(ivs)
    used = 0
  }
  used += ivBytes
  return ivs.subarray(used - ivBytes, used)
}

/** Encrypts a text: a random IV, the ciphertext and the tag of AES-256-GCM. */
export const encrypt = (key: Uint8Array, text: string | Uint8Array): Buffer => {
  const iv = newIv()
  const encrypting = createCipheriv(cipher, key, iv)
  const body = typeof text === 'string' ? encrypting.update(text, 'utf8') : encrypting.update(text)
  encrypting.final()
  return Buffer.concat([iv, body, encrypting.getAuthTag()])
}

/** Decrypts what `encrypt` returned; undefined if the key is another, or a byte was changed. */
export const decrypt = (key: Uint8Array, sealed: Buffer): Buffer | undefined => {
  if (sealed.length < ivBytes + tagBytes) return undefined
  const end = sealed.length - tagBytes
  const decrypting = createDecipheriv(cipher, key, sealed.subarray(0, ivBytes), { authTagLength: tagBytes })
  decrypting.setAuthTag(sealed.subarray(end))
  const text = decrypting.update(sealed.subarray(ivBytes, end))
  try {
    decrypting.final()
    return text
  } catch {
    return undefined
  }
}

/**
 * Returns an event with its content encrypted.
 *
 * @param form what stays readable; undefined if the event was written by another program, so that its hash could not be proved without
 *   its content
 */
export const sealedEvent = (
  { id, type, data, metadata }: StoredEvent,
  form: EventForm | undefined,
  key: Uint8Array,
): StoredEvent => {
  const sealed = encrypt(key, `${data.length}\n${data}${metadata}`).toString('base64')
  return form
    ? {
        id,
        type,
        data: `${sealedStart}${sealed}${left}${form.data}${stub}${form.stub}"}`,
        metadata: form.metadata,
      }
    : { id, type, data: `${sealedStart}${sealed}"}`, metadata: '{}' }
}

/** Returns a sealed event as it was before; undefined if its key is another, or the event was changed. */
export const openedEvent = <S extends StoredEvent>(event: S, key: Uint8Array): S | undefined => {
  const { data } = event
  const end = data.indexOf('"', sealedStart.length)
  const bytes = decrypt(key, Buffer.from(data.slice(sealedStart.length, end), 'base64'))
  if (!bytes) return undefined
  const text = bytes.toString()
  const from = text.indexOf('\n') + 1
  const to = from + Number(text.slice(0, from - 1))
  return { ...event, data: text.slice(from, to), metadata: text.slice(to) }
}

/**
 * Returns the erased form of a sealed event whose key was destroyed; undefined if it shows none.
 *
 * @param time time of the erasure, in ISO 8601
 */
export const erasedEvent = <S extends StoredEvent>(event: S, time: string): S | undefined => {
  const { data, metadata } = event
  const from = data.indexOf('"', sealedStart.length)
  const to = data.lastIndexOf(stub)
  if (!data.startsWith(left, from) || to < from || !data.endsWith('"}')) return undefined
  const form = {
    data: data.slice(from + left.length, to),
    metadata,
    stub: data.slice(to + stub.length, -2),
  }
  return { ...event, data: form.data, metadata: erasedMetadata(form, time) }
}
