import type { KnownPage, OwnCatalogue } from '../catalogue/catalogue.ts'
import type { OverviewsPage } from '../catalogue/list.ts'
import type { ListedConversation, ListOptions } from '../catalogue/list/list-pages.ts'
import type { ConversationOverview } from '../catalogue/list/glance.ts'
import { checkListOptions } from '../catalogue/list/overview.ts'
import { orThrow } from '../result/steps.ts'
import { breath } from '../store/breath.ts'

interface Sources {
  /** Lists conversations by reading the store, without the index. */
  readonly overviews: (options?: ListOptions) => AsyncGenerator<ConversationOverview, void>
  /** Yields the ids of conversations page by page, in the store's order. */
  readonly pages: (options: ListOptions) => AsyncGenerator<readonly ListedConversation[], void>
  readonly catalogue: Pick<OwnCatalogue, 'overviews' | 'overviewsOf'>
  /**
   * True if the index is stored in a file. An in-memory index must be built first, so reading the store is faster for orders that the
   * store itself supports.
   */
  readonly isKept: boolean
}

/** Sizes of the first page and of each later page when listing by last activity. */
const [first, more] = [100, 1_000]

/**
 * Lists conversations in the requested order. Conversations missing from the index are read from the store. The index provides the
 * order by last activity; conversations missing from it come last, the most recently begun first. The store provides every other order.
 */
export const withIndex = (sources: Sources): Sources['overviews'] =>
  async function* (options) {
    const checked = await orThrow(checkListOptions(options))
    const { sort, ids, beginning } = checked
    if (sort === undefined || ids !== undefined) return yield* sources.overviews(checked)
    if (sort === 'activity') return yield* byActivity(sources, beginning)
    return yield* sources.isKept ? asNamed(sources, checked) : sources.overviews(checked)
  }

async function* byActivity(
  sources: Sources,
  beginning: string | undefined,
): AsyncGenerator<ConversationOverview, void> {
  const { overviews, catalogue } = sources
  const seen = new Set<string>()
  let isComplete = true
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const limit = isFirst ? first : more
    const page = await orThrow(catalogue.overviews({ beginning, limit, cursor })())
    isComplete &&= page.isComplete
    const ids = page.items.map(({ id }) => id)
    for (const id of ids) seen.add(id)
    yield* lookedUp(sources, ids, page.isComplete ? page.items : [])
    cursor = page.next
  }
  if (isComplete) return
  for await (const overview of overviews({ beginning })) if (!seen.has(overview.id)) yield overview
}

/** Lists conversations in the store's order, with details from the index. Once the index proves incomplete, it is not consulted again. */
async function* asNamed(sources: Sources, options: ListOptions): AsyncGenerator<ConversationOverview, void> {
  let isComplete = true
  for await (const page of sources.pages(options)) {
    const ids = page.map(({ id }) => id)
    const known: Omit<KnownPage, 'next'> | undefined = isComplete
      ? await orThrow(sources.catalogue.overviewsOf(ids)())
      : undefined
    isComplete &&= known?.isComplete === true
    yield* isComplete ? lookedUp(sources, ids, known?.items ?? []) : sources.overviews({ ids })
  }
}

/**
 * Yields the conversations with these ids, in this order: from `items` if possible, otherwise from the store. Omits missing
 * conversations.
 */
async function* lookedUp(
  { overviews }: Sources,
  ids: readonly string[],
  items: OverviewsPage['items'],
): AsyncGenerator<ConversationOverview, void> {
  await breath()
  const all = new Map<string, ConversationOverview>(
    items.flatMap((item) => ('title' in item ? [[item.id, item] as const] : [])),
  )
  const unknown = ids.filter((id) => !all.has(id))
  if (unknown.length > 0)
    for await (const overview of overviews({ ids: unknown })) all.set(overview.id, overview)
  for (const id of ids) {
    const overview = all.get(id)
    if (overview) yield overview
  }
}
