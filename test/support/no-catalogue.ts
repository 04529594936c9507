import type { Catalogue } from '../../src/catalogue/port.ts'

/** For conversations that are not searched. */
export const noCatalogue: Pick<Catalogue<'task'>, 'search'> = {
  search: () => {
    throw new Error('this conversation has no catalogue')
  },
}
