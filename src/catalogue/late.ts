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
    outline:
      (...args) =>
      async () =>
        (await loaded()).outline(...args)(),
    overview:
      (...args) =>
      async () =>
        (await loaded()).overview(...args)(),
    hidden:
      (...args) =>
      async () =>
        (await loaded()).hidden(...args)(),
    hiddenBy:
      (...args) =>
      async () =>
        (await loaded()).hiddenBy(...args)(),
    calls:
      (...args) =>
      async () =>
        (await loaded()).calls(...args)(),
    branches:
      (...args) =>
      async () =>
        (await loaded()).branches(...args)(),
    fates:
      (...args) =>
      async () =>
        (await loaded()).fates(...args)(),
    search:
      (...args) =>
      async () =>
        (await loaded()).search(...args)(),
    find:
      (...args) =>
      async () =>
        (await loaded()).find(...args)(),
    close: async () => (await loading)?.close(),
  }
}

/** Where it cannot be made, the catalogue is in memory. */
const made = (folder: string): Promise<unknown> => makeFolder(resolve(folder), 0o700).catch(() => undefined)
