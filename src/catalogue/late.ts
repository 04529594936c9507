import { resolve } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { lazily } from '../result/lazily.ts'
import { makeFolder } from '../store/make-folder.ts'
import type { EventStore } from '../store/port.ts'
import type { OwnCatalogue } from './catalogue.ts'

/**
 * The catalogue of a store, loaded and opened when something is asked of it: most programs ask nothing.
 *
 * @param folder made for it, if it was named
 */
export const lateCatalogue = (
  store: EventStore,
  place: string | undefined,
  folder: string | undefined,
): OwnCatalogue => {
  let loading: Promise<OwnCatalogue> | undefined
  const load = async (): Promise<OwnCatalogue> => {
    const [{ catalogueOf }] = await Promise.all([import('./catalogue.ts'), folder && made(folder)])
    return catalogueOf(store, place)
  }
  const loaded = async (): Promise<E.Either<never, OwnCatalogue>> => E.right(await (loading ??= load()))
  const own = ['overviews', 'overviewsOf'] as const
  const asked = [
    'find',
    'search',
    'outline',
    'overview',
    'hidden',
    'hiddenBy',
    'calls',
    'branches',
    'fates',
  ] as const
  return {
    ...lazily(loaded, [...asked, ...own]),
    close: async () => (await loading)?.close(),
  }
}

/** Where it cannot be made, the catalogue is in memory. */
const made = (folder: string): Promise<unknown> => makeFolder(resolve(folder), 0o700).catch(() => undefined)
