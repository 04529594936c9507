import type { OwnCatalogue } from '../catalogue/catalogue.ts'
import type { ListOptions } from '../jobs/listed.ts'
import type { Overview } from '../jobs/glance.ts'
import { orThrow } from '../result/steps.ts'

type Overviews = (options?: ListOptions) => AsyncGenerator<Overview, void>

/** Conversations that are looked at together. */
const page = 200

/** Lists conversations, by their last activity too: that the index knows, and of what it does not know yet, the one begun last comes first. */
export const withActivity = (overviews: Overviews, { find }: Pick<OwnCatalogue, 'find'>): Overviews =>
  async function* (options) {
    if (options?.sort !== 'activity' || options.ids !== undefined) return yield* overviews(options)
    const { beginning } = options
    const seen = new Set<string>()
    let isComplete = true
    for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
      const found = await orThrow(find({ order: 'activity', beginning, limit: page, cursor })())
      isComplete &&= found.isComplete
      const ids = found.items.map(({ id }) => id)
      for (const id of ids) seen.add(id)
      yield* overviews({ ids })
      cursor = found.next
    }
    if (isComplete) return
    for await (const overview of overviews({ beginning })) if (!seen.has(overview.id)) yield overview
  }
