import { hash, randomBytes, randomUUID } from 'node:crypto'
import { type Fallible, orThrow, unwrap } from '../../result/fallible.ts'
import { toError } from '../../result/typed-error.ts'
import type { StoreError } from '../errors.ts'
import type { EventStore, StreamRange } from '../port.ts'
import type { KeyStore } from './key-store.ts'

/** The secret of a store: the name of each large content, and the id of its key, are derived from it. */
export interface StoreSecret {
  /** Returns the secret. Rejects with `StoreDenied` if the store was sealed with other keys. Creates the secret if there is none. */
  readonly create: () => Promise<Uint8Array>
  /** Returns the secret, or undefined if nothing is sealed. Rejects like `create`. */
  readonly find: () => Promise<Uint8Array | undefined>
  /** Reports whether the secret has been found. */
  readonly isKnown: () => boolean
}

/** Id of the secret among the keys: no conversation can have it. */
const secretId = '.'
/** End of the text of a secret with which a store is sealed. */
const used = ' used'
/** Stream whose first event names the keys with which the store is sealed. */
export const sealStream = 'seal'

const firstOf = (name: string): StreamRange => ({ stream: name, from: 0, direction: 'forwards', limit: 1 })

/** Fails with `StoreDenied` if a store is sealed and was opened without keys. */
export async function* checkHasKeys(
  store: Pick<EventStore, 'read' | 'isSealed' | 'url'>,
): Fallible<StoreError, void> {
  if (store.isSealed || (yield* unwrap(store.read(firstOf(sealStream)))).length === 0) return
  yield {
    _tag: 'StoreDenied',
    message: `${store.url} is sealed, and was opened without its keys: add them to its URL, like sqlite:palimpsest.db?seal=keys.db`,
    store: store.url,
  }
}

export const createStoreSecret = (store: EventStore, keys: KeyStore): StoreSecret => {
  let known: Promise<Uint8Array | undefined> | undefined
  let isKnown = false

  const readNamed = async (): Promise<string | undefined> => {
    const [event] = await orThrow(store.read(firstOf(sealStream)))
    return event && (JSON.parse(event.data) as { readonly keys: string }).keys
  }
  const compared = async (): Promise<Uint8Array | undefined> => {
    const named = await readNamed()
    // An erasure in one store would destroy the keys of the other one's conversations with the same ids.
    const text = await keys.read(secretId)
    if (named === undefined && text?.endsWith(used)) {
      // Another process may have begun to seal the store in between.
      if ((await readNamed()) !== undefined) return compared()
      throw toError(keysOfAnother(store.url, keys.name))
    }
    const own = text === undefined ? undefined : secretIn(text)
    if (named !== undefined && own === undefined) throw toError(noKeys(store.url, keys.name))
    if (named !== undefined && named !== (own && nameOf(own))) throw toError(otherKeys(store.url, keys.name))
    return named === undefined ? undefined : own
  }
  const created = async (): Promise<Uint8Array> => {
    const found = await compared()
    if (found) return found
    await keys.write(secretId, secretText(randomBytes(32)), undefined)
    const stored = await keys.read(secretId)
    if (stored === undefined) throw new Error('the secret that was stored is not there')
    const own = secretIn(stored)
    const event = {
      id: randomUUID(),
      type: 'Sealed',
      data: JSON.stringify({ keys: nameOf(own) }),
      metadata: JSON.stringify({ time: new Date().toISOString() }),
    }
    // If another process was first, its event is compared.
    await store.append({ stream: sealStream, expected: -1, events: [event] })()
    const secret = await compared()
    if (!secret) throw new Error('the store does not return what was just appended')
    const text = secretText(secret)
    await keys.write(secretId, text + used, text)
    return secret
  }
  const remembered = async <A extends Uint8Array | undefined>(read: () => Promise<A>): Promise<A> => {
    const reading = read()
    known = reading
    try {
      const secret = await reading
      if (!secret) known = undefined
      isKnown = secret !== undefined
      return secret
    } catch (error) {
      known = undefined
      throw error
    }
  }

  return {
    isKnown: () => isKnown,
    create: async () => (await known) ?? remembered(created),
    find: async () => (await known) ?? remembered(compared),
  }
}

const secretIn = (text: string): Uint8Array => Buffer.from(text.replace(used, ''), 'base64url')
const secretText = (secret: Uint8Array): string => Buffer.from(secret).toString('base64url')

const nameOf = (secret: Uint8Array): string => hash('sha256', secret)

const noKeys = (store: string, name: string) =>
  ({
    _tag: 'StoreDenied',
    message: `${store} is sealed, and there are no keys in ${name}: give the path of the keys with which it was sealed, or put them back there`,
    store,
  }) as const

const otherKeys = (store: string, name: string) =>
  ({
    _tag: 'StoreDenied',
    message: `${store} was sealed with other keys than those in ${name}: give the keys with which it was sealed`,
    store,
  }) as const

const keysOfAnother = (store: string, name: string) =>
  ({
    _tag: 'StoreDenied',
    message: `${store} cannot be sealed with the keys in ${name}: another store is sealed with them; give each store keys of its own`,
    store,
  }) as const
