import type { EventStore } from '../store/port.ts'
import type { OwnCatalogue } from './catalogue.ts'

/** The catalogue of a store, loaded and opened when something is asked of it: most programs ask nothing. */
export const lateCatalogue = (store: EventStore, place: string | undefined): OwnCatalogue => {
  let loading: Promise<OwnCatalogue> | undefined
  const loaded = (): Promise<OwnCatalogue> =>
    (loading ??= import('./catalogue.ts').then(({ catalogueOf }) => catalogueOf(store, place)))
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
    close: async () => (await loading)?.close(),
  }
}
