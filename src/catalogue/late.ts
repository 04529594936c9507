import { resolve } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { lazily } from '../result/lazily.ts'
import { makeFolder } from '../store/make-folder.ts'
import type { EventStore } from '../store/port.ts'
import type { OwnCatalogue } from './catalogue.ts'

/**
 * Returns the catalogue of a store. It is loaded and opened on first use, because most programs never use it.
 *
 * @param folder folder to create for the catalogue, if any
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
  const own = ['infos', 'infosOf'] as const
  const asked = [
    'find',
    'search',
    'about',
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

/** Creates the folder. A failure is ignored: the catalogue is then in memory. */
const made = (folder: string): Promise<unknown> => makeFolder(resolve(folder), 0o700).catch(() => undefined)
