import { catalogueOf as impatient, type OwnCatalogue } from '../../../src/catalogue/catalogue.ts'
import type { EventStore } from '../../../src/store/port.ts'

/** A catalogue whose answers wait for its index, by default however slow the machine is. */
export const catalogueOf = (store: EventStore, place: string | undefined, patience = 900_000): OwnCatalogue =>
  impatient(store, place, patience)
