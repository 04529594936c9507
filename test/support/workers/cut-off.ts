import * as E from 'fp-ts/lib/Either.js'
import { toError } from '../../../src/result/typed-error.ts'
import type { StoreUnavailable } from '../../../src/store/errors.ts'
import type { EventStore } from '../../../src/store/port.ts'

const unavailable: StoreUnavailable = { _tag: 'StoreUnavailable', message: 'cut off', store: 'memory:' }

/** A store that can be out of reach for a while. */
export const cuttable = (store: EventStore) => {
  let isCut = false
  let lost = Promise.withResolvers<never>()
  const reached =
    <A extends readonly unknown[], B>(method: (...args: A) => () => Promise<B>) =>
    (...args: A) =>
    async (): Promise<B> =>
      isCut ? (E.left(unavailable) as B) : method(...args)()
  const cut = (): void => {
    isCut = true
    lost.promise.catch(() => {})
    lost.reject(toError(unavailable))
  }
  return {
    cut,
    mend: (): void => {
      isCut = false
      lost = Promise.withResolvers<never>()
    },
    store: {
      ...store,
      append: reached(store.append),
      read: reached(store.read),
      find: reached(store.find),
      changed: reached(store.changed),
      readAll: reached(store.readAll),
      follow: async function* (options) {
        if (isCut) throw toError(unavailable)
        const followed = store.follow(options)[Symbol.asyncIterator]()
        try {
          for (;;) {
            const next = await Promise.race([followed.next(), lost.promise])
            if (next.done === true) return
            yield next.value
          }
        } finally {
          void followed.return?.()
        }
      },
    } satisfies EventStore as EventStore,
  }
}
