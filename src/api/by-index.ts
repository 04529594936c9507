import type { KnownPage, OwnCatalogue } from '../catalogue/catalogue.ts'
import type { ConversationInfoPage } from '../catalogue/list.ts'
import type { ListedConversation, ListOptions } from '../catalogue/list/list-pages.ts'
import type { ConversationInfo } from '../catalogue/list/conversation-info.ts'
import { checkListOptions } from '../catalogue/list/list-infos.ts'
import { orThrow } from '../result/fallible.ts'
import { breath } from '../store/breath.ts'

interface Sources {
  /** Lists conversations by reading the store, without the index. */
  readonly infos: (options?: ListOptions) => AsyncGenerator<ConversationInfo, void>
  /** Yields the ids of conversations page by page, in the store's order. */
  readonly pages: (options: ListOptions) => AsyncGenerator<readonly ListedConversation[], void>
  readonly catalogue: Pick<OwnCatalogue, 'infos' | 'infosOf'>
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
export const withIndex = (sources: Sources): Sources['infos'] =>
  async function* (options) {
    const checked = await orThrow(checkListOptions(options))
    const { sort, ids, beginning } = checked
    if (sort === undefined || ids !== undefined) return yield* sources.infos(checked)
    if (sort === 'activity') return yield* byActivity(sources, beginning)
    return yield* sources.isKept ? asNamed(sources, checked) : sources.infos(checked)
  }

async function* byActivity(
  sources: Sources,
  beginning: string | undefined,
): AsyncGenerator<ConversationInfo, void> {
  const { infos, catalogue } = sources
  const seen = new Set<string>()
  let isComplete = true
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const limit = isFirst ? first : more
    const page = await orThrow(catalogue.infos({ beginning, limit, cursor })())
    isComplete &&= page.isComplete
    const ids = page.items.map(({ id }) => id)
    for (const id of ids) seen.add(id)
    yield* lookedUp(sources, ids, page.isComplete ? page.items : [])
    cursor = page.next
  }
  if (isComplete) return
  for await (const info of infos({ beginning })) if (!seen.has(info.id)) yield info
}

/**
 * Lists conversations in the store's order, with details from the index. Once the index proves incomplete, it is not consulted again.
 */
async function* asNamed(sources: Sources, options: ListOptions): AsyncGenerator<ConversationInfo, void> {
  let isComplete = true
  for await (const page of sources.pages(options)) {
    const ids = page.map(({ id }) => id)
    const known: Omit<KnownPage, 'next'> | undefined = isComplete
      ? await orThrow(sources.catalogue.infosOf(ids)())
      : undefined
    isComplete &&= known?.isComplete === true
    yield* isComplete ? lookedUp(sources, ids, known?.items ?? []) : sources.infos({ ids })
  }
}

/**
 * Yields the conversations with these ids, in the order of the ids. Takes each from `items` if it is there, otherwise from the store.
 * Omits missing conversations.
 */
async function* lookedUp(
  { infos }: Sources,
  ids: readonly string[],
  items: ConversationInfoPage['items'],
): AsyncGenerator<ConversationInfo, void> {
  await breath()
  const all = new Map<string, ConversationInfo>(
    items.flatMap((item) => ('title' in item ? [[item.id, item] as const] : [])),
  )
  const unknown = ids.filter((id) => !all.has(id))
  if (unknown.length > 0) for await (const info of infos({ ids: unknown })) all.set(info.id, info)
  for (const id of ids) {
    const info = all.get(id)
    if (info) yield info
  }
}
