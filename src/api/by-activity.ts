import type { OwnCatalogue } from '../catalogue/catalogue.ts'
import type { ListOptions } from '../jobs/listed.ts'
import type { Overview } from '../jobs/glance.ts'
import { orThrow } from '../result/steps.ts'

type Overviews = (options?: ListOptions) => AsyncGenerator<Overview, void>

/** Conversations of the first page, and of each after it. */
const [first, more] = [100, 1_000]

/**
 * Lists conversations, by their last activity too: that the index knows, and of what it does not know yet, the one begun last comes first.
 * What the index cannot tell of a conversation is looked up in the store.
 */
export const withActivity = (overviews: Overviews, catalogue: Pick<OwnCatalogue, 'overviews'>): Overviews =>
  async function* (options) {
    if (options?.sort !== 'activity' || options.ids !== undefined) return yield* overviews(options)
    const { beginning } = options
    const seen = new Set<string>()
    let isComplete = true
    for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
      const limit = isFirst ? first : more
      const page = await orThrow(catalogue.overviews({ beginning, limit, cursor })())
      isComplete &&= page.isComplete
      const known = page.items.flatMap((item) => (page.isComplete && 'title' in item ? [item] : []))
      const all = new Map<string, Overview>(known.map((item) => [item.id, item]))
      const ids = page.items.flatMap(({ id }) => (all.has(id) ? [] : [id]))
      if (ids.length > 0) for await (const overview of overviews({ ids })) all.set(overview.id, overview)
      for (const { id } of page.items) {
        seen.add(id)
        const overview = all.get(id)
        if (overview) yield overview
      }
      cursor = page.next
    }
    if (isComplete) return
    for await (const overview of overviews({ beginning })) if (!seen.has(overview.id)) yield overview
  }
