import { resolve } from 'node:path'
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
  const loaded = (): Promise<OwnCatalogue> => (loading ??= load())
  return {
    find: (options) => async () => (await loaded()).find(options)(),
    overviews: (options) => async () => (await loaded()).overviews(options)(),
    overviewsOf: (ids) => async () => (await loaded()).overviewsOf(ids)(),
    search: (text, options) => async () => (await loaded()).search(text, options)(),
    outline: (id, options) => async () => (await loaded()).outline(id, options)(),
    overview: (id, options) => async () => (await loaded()).overview(id, options)(),
    hidden: (id, marker) => async () => (await loaded()).hidden(id, marker)(),
    hiddenBy: (id, markers) => async () => (await loaded()).hiddenBy(id, markers)(),
    calls: (id, options) => async () => (await loaded()).calls(id, options)(),
    branches: (id, options) => async () => (await loaded()).branches(id, options)(),
    fates: (id, options) => async () => (await loaded()).fates(id, options)(),
    close: async () => (await loading)?.close(),
  }
}

/** Where it cannot be made, the catalogue is in memory. */
const made = (folder: string): Promise<unknown> => makeFolder(resolve(folder), 0o700).catch(() => undefined)
