import type { Block } from '../events/blocks.ts'
import type { ConversationEvent } from '../events/events.ts'
import { type Effective, type Item, itemOf } from '../projections/effective.ts'
import { draftOf, emptyLayout, evolve, type HistoryLayout, type Slot } from '../projections/layout.ts'
import { createShownSearch, type Holder, type TermSearch } from './missing-terms.ts'
import { termsOf } from './terms.ts'

/** State of a replayed conversation. The replay can continue from the state after any event. */
export interface ReplayedHistory {
  readonly layout: HistoryLayout
  /** Positions of the markers that currently hide items, and the number of hidden messages. */
  readonly hiding: ReadonlySet<number>
  readonly messagesHidden: number
  /** Stand-in for the system prompt and tools that the log lacks. */
  readonly prompt?: readonly Block[] | undefined
  readonly known: Known
}

/** Data shared by all branches, which is safe because each position is used only once. */
interface Known {
  /** Markers of all branches and the messages that were shown last, by position. */
  readonly items: Map<number, Item>
  /** Makes the item of an added message again: hidden messages are not kept, because a long log has very many of them. */
  readonly messageAt: (position: number) => Item | undefined
  /** Items that each marker replaced, and markers that replaced each item. On a branch, at most one of these markers hides the item. */
  readonly replaced: Map<number, readonly Slot[]>
  readonly markersOf: Map<number, readonly number[]>
  /** Tokens of the requests that differ from the recorded ones, by position of the reply. */
  readonly requestTokens: Map<number, number>
  /** Positions of messages by the terms in them, in log order, and the positions of messages not yet searched for terms. */
  readonly holders: Map<string, number[]>
  readonly unread: Set<number>
  /** Search of the shown items. */
  readonly isShown: TermSearch['isShown']
}

/** @param messageAt makes the item of an added message again; the same one each time */
export const nothingYet = (messageAt: Known['messageAt']): ReplayedHistory => ({
  layout: emptyLayout,
  hiding: new Set(),
  messagesHidden: 0,
  known: {
    items: new Map(),
    messageAt,
    replaced: new Map(),
    markersOf: new Map(),
    requestTokens: new Map(),
    holders: new Map(),
    unread: new Set(),
    isShown: createShownSearch(),
  },
})

/** Adds a stand-in prompt to the replay of a log that lacks the system prompt and the tools. */
export const withPrompt = (replay: ReplayedHistory, prompt: ReplayedHistory['prompt']): ReplayedHistory =>
  prompt ? { ...replay, prompt, layout: { ...replay.layout, configuration: { system: prompt } } } : replay

/** Creates a replay from a state. Events are added to it in place. */
export const createReplay = ({ prompt, known, ...before }: ReplayedHistory) => {
  const draft = draftOf(before.layout)
  const hiding = new Set(before.hiding)
  let { messagesHidden } = before
  const { items, messageAt, replaced, markersOf, requestTokens } = known

  /** Cached effective history, cleared when an event is added. */
  let last: Effective | undefined

  const add = (event: ConversationEvent, as: Item | undefined = itemOf(event)): void => {
    last = undefined
    const slots = evolve(draft, prompted(event, prompt), (marker) => replaced.get(marker))
    if (event.type === 'Restored') {
      if (slots) hiding.delete(event.data.marker)
      for (const { marker } of slots ?? []) if (!marker) messagesHidden--
      return
    }
    if (!as || (as.kind !== 'message' && !slots)) return
    items.set(as.position, as)
    if (as.kind === 'message') known.unread.add(as.position)
    if (!slots) return
    replaced.set(event.position, slots)
    hiding.add(event.position)
    const only = [event.position]
    for (const { position, marker } of slots) {
      const markers = markersOf.get(position)
      markersOf.set(position, markers ? [...markers, event.position] : only)
      if (marker) continue
      messagesHidden++
      items.delete(position)
    }
  }
  const hiddenBy = (position: number): number | undefined =>
    markersOf.get(position)?.findLast((marker) => hiding.has(marker))
  const effectiveAt = (at: number): Effective => {
    if (last?.at === at) return last
    const now: Item[] = []
    for (const { position } of draft.slots) {
      const item = items.get(position) ?? messageAt(position)
      if (!item) continue
      if (item.kind === 'message') items.set(position, item)
      now.push(item)
    }
    const layout = { ...draft, slots: [...draft.slots], restored: [...draft.restored] }
    return (last = { at, head: at, layout, items: now })
  }
  const copy = (): ReplayedHistory => ({
    layout: { ...draft, slots: [...draft.slots], restored: [...draft.restored] },
    hiding: new Set(hiding),
    messagesHidden,
    prompt,
    known,
  })
  const search: TermSearch = {
    hiddenWith: (term, most) => {
      readTerms(known)
      const holding = known.holders.get(term) ?? []
      const hidden: Holder[] = []
      for (let index = holding.length - 1; index >= 0 && hidden.length < most; index--) {
        const position = holding[index] ?? -1
        const by = hiddenBy(position)
        if (by !== undefined) hidden.push({ position, by })
      }
      return hidden
    },
    isShown: known.isShown,
  }
  return { add, effectiveAt, copy, search, messagesHidden: () => messagesHidden, requestTokens }
}
export type ReplayBuilder = ReturnType<typeof createReplay>

const prompted = (event: ConversationEvent, system: ReplayedHistory['prompt']): ConversationEvent =>
  system && event.type === 'Configured' && event.data.system === undefined && event.data.tools === undefined
    ? { ...event, data: { ...event.data, system } }
    : event

/** Length up to which lists are copied to grow: an array reserves room for 16 more at the first push, and most terms are rare. */
const shortList = 8

const readTerms = ({ items, messageAt, holders, unread }: Known): void => {
  for (const position of unread) {
    const item = items.get(position) ?? messageAt(position)
    for (const term of item?.kind === 'message' ? termsOf(item.content) : []) {
      const of = holders.get(term)
      // A copy: a term is a slice of the words of its message, all of which it would keep in memory.
      if (!of) holders.set(Buffer.from(term).toString(), [position])
      else if (of.length < shortList) holders.set(term, [...of, position])
      else of.push(position)
    }
  }
  unread.clear()
}
