import type { KnownPage, OwnCatalogue } from '../catalogue/catalogue.ts'
import type { ConversationInfoPage } from '../catalogue/list.ts'
import type { ListedConversation, ListOptions } from '../catalogue/list/list-pages.ts'
import type { ConversationInfo } from '../catalogue/list/conversation-info.ts'
import { checkListOptions, hasConditions } from '../catalogue/list/list-infos.ts'
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

/** Sizes of the first page and of each later page of a list from the index. */
const [first, more] = [100, 1_000]

/**
 * Lists conversations in the requested order. Conversations missing from the index are read from the store. The index provides the
 * orders by last activity and by tokens, and every order of a list with facts or with conditions on them; conversations missing from it
 * come last, the most recently begun first. The store provides every other order.
 */
export const withIndex = (sources: Sources): Sources['infos'] =>
  async function* (options) {
    const checked = await orThrow(checkListOptions(options))
    const { sort, ids, facts } = checked
    if (ids !== undefined) return yield* sources.infos(checked)
    const needsIndex = sort === 'activity' || sort === 'tokens' || facts || hasConditions(checked)
    const isNamed = sort !== undefined && sources.isKept
    if (!needsIndex && !isNamed) return yield* sources.infos(checked)
    // Page by page up to here: passing each conversation on takes as long as making it.
    for await (const page of needsIndex ? fromIndex(sources, checked) : asNamed(sources, checked))
      for (const info of page) yield info
  }

type InfoPages = AsyncGenerator<readonly ConversationInfo[], void>

async function* fromIndex(
  sources: Sources,
  { sort: order = 'begun', facts = false, ...filter }: ListOptions,
): InfoPages {
  const { infos, catalogue } = sources
  const { beginning } = filter
  const seen = new Set<string>()
  let isComplete = true
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const limit = isFirst ? first : more
    const page = await orThrow(catalogue.infos({ ...filter, order, facts, limit, cursor })())
    isComplete &&= page.isComplete
    const ids = page.items.map(({ id }) => id)
    for (const id of ids) seen.add(id)
    yield await lookedUp(sources, page.items, page.isComplete)
    cursor = page.next
  }
  if (isComplete || hasConditions(filter)) return
  for await (const info of infos({ beginning })) if (!seen.has(info.id)) yield [info]
}

/**
 * Lists conversations in the store's order, with details from the index. Once the index proves incomplete, it is not consulted again.
 */
async function* asNamed(sources: Sources, options: ListOptions): InfoPages {
  let isComplete = true
  for await (const page of sources.pages(options)) {
    const ids = page.map(({ id }) => id)
    const known: Omit<KnownPage, 'next'> | undefined = isComplete
      ? await orThrow(sources.catalogue.infosOf(ids)())
      : undefined
    isComplete &&= known?.isComplete === true
    if (!known || !isComplete) for await (const info of sources.infos({ ids })) yield [info]
    else {
      const items = new Map(known.items.map((item) => [item.id, item]))
      yield await lookedUp(
        sources,
        ids.map((id) => items.get(id) ?? { id }),
        true,
      )
    }
  }
}

/**
 * Returns conversations in the given order. If the information in the index is not current or is missing, reads it from the store.
 * Omits missing conversations.
 */
const lookedUp = async (
  { infos }: Sources,
  items: ConversationInfoPage['items'],
  isCurrent: boolean,
): Promise<readonly ConversationInfo[]> => {
  await breath()
  const unknown = items.flatMap((item) => (isCurrent && 'title' in item ? [] : [item.id]))
  const read = new Map<string, ConversationInfo>()
  if (unknown.length > 0) for await (const info of infos({ ids: unknown })) read.set(info.id, info)
  return items.flatMap(({ facts, ...known }) => {
    const info = read.get(known.id) ?? (isCurrent && 'title' in known ? known : undefined)
    if (!info) return []
    // The store may not count messages.
    return [facts ? { ...info, ...facts, messages: info.messages ?? facts.messages } : info]
  })
}
