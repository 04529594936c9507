import type { Block } from '../events/blocks.ts'
import type { ConversationEvent } from '../events/events.ts'
import { type Effective, type Item, itemOf } from '../projections/effective.ts'
import { draftOf, emptyOutline, evolve, type Outline, type Slot } from '../projections/outline.ts'
import type { Holder, TermHolders } from './needed.ts'
import { termsIn, wordsOf } from './terms.ts'

/** What another policy would have made of a conversation so far: a history that continues from any of its events. */
export interface Replay {
  readonly outline: Outline
  /** The marker that hides an item, by the item's position; and how many messages are hidden. */
  readonly hiddenBy: ReadonlyMap<number, Item>
  readonly messagesHidden: number
  /** Stands for a system prompt and tools that the log does not have. */
  readonly prompt?: readonly Block[] | undefined
  readonly known: Known
}

/** What is the same on every branch: no position is used twice. */
interface Known {
  /** Every item that there was, by position. */
  readonly items: Map<number, Item>
  /** What markers replaced. */
  readonly replaced: Map<number, readonly Slot[]>
  /** Tokens of the requests that are other ones here, by the position of the reply. */
  readonly requestTokens: Map<number, number>
  /** Messages that were ever hidden, by what they name; and those that were not looked at yet. */
  readonly holders: Map<string, number[]>
  readonly everHidden: Set<number>
  readonly unread: Set<number>
}

export const nothingYet = (): Replay => ({
  outline: emptyOutline,
  hiddenBy: new Map(),
  messagesHidden: 0,
  known: {
    items: new Map(),
    replaced: new Map(),
    requestTokens: new Map(),
    holders: new Map(),
    everHidden: new Set(),
    unread: new Set(),
  },
})

/** A replay of a log that does not have the system prompt and the tools, with something in their place. */
export const withPrompt = (replay: Replay, prompt: Replay['prompt']): Replay =>
  prompt ? { ...replay, prompt, outline: { ...replay.outline, configuration: { system: prompt } } } : replay

/** A replay that events are added to in place. */
export const replaying = ({ prompt, known, ...before }: Replay) => {
  const draft = draftOf(before.outline)
  const hiddenBy = new Map(before.hiddenBy)
  let { messagesHidden } = before
  const { items, replaced, requestTokens } = known

  /** Since the last change. */
  let last: Effective | undefined

  const add = (event: ConversationEvent, as: Item | undefined = itemOf(event)): void => {
    last = undefined
    const slots = evolve(draft, prompted(event, prompt), (marker) => replaced.get(marker))
    if (event.type === 'Restored') {
      for (const { position } of slots ?? []) {
        hiddenBy.delete(position)
        if (items.get(position)?.kind === 'message') messagesHidden--
      }
      return
    }
    if (!as || (as.kind !== 'message' && !slots)) return
    items.set(as.position, as)
    if (!slots) return
    replaced.set(event.position, slots)
    for (const { position } of slots) {
      hiddenBy.set(position, as)
      if (items.get(position)?.kind !== 'message') continue
      messagesHidden++
      if (!known.everHidden.has(position)) known.unread.add(position)
      known.everHidden.add(position)
    }
  }
  const effectiveAt = (at: number): Effective => {
    if (last?.at === at) return last
    const shown: Item[] = []
    for (const { position } of draft.slots) {
      const item = items.get(position)
      if (item) shown.push(item)
    }
    const outline = { ...draft, slots: [...draft.slots], restored: [...draft.restored] }
    return (last = { at, head: at, outline, items: shown })
  }
  const copy = (): Replay => ({
    outline: { ...draft, slots: [...draft.slots], restored: [...draft.restored] },
    hiddenBy: new Map(hiddenBy),
    messagesHidden,
    prompt,
    known,
  })
  const holders: TermHolders = {
    mayHave: (term) => {
      readHidden(known)
      return known.holders.has(term)
    },
    of: (term) => {
      const hidden = (known.holders.get(term) ?? []).flatMap((position): readonly Holder[] => {
        const marker = hiddenBy.get(position)
        return marker ? [{ position, by: marker.position }] : []
      })
      return hidden.toSorted((a, b) => a.position - b.position)
    },
  }
  /** The outline as it is now: it changes with what is added. */
  const now: Outline = draft
  return { add, effectiveAt, copy, now, holders, messagesHidden: () => messagesHidden, requestTokens }
}
export type Replaying = ReturnType<typeof replaying>

const prompted = (event: ConversationEvent, system: Replay['prompt']): ConversationEvent =>
  system && event.type === 'Configured' && event.data.system === undefined && event.data.tools === undefined
    ? { ...event, data: { ...event.data, system } }
    : event

const readHidden = ({ items, holders, unread }: Known): void => {
  for (const position of unread) {
    const item = items.get(position)
    for (const term of item?.kind === 'message' ? termsIn(wordsOf(item.content)) : []) {
      const of = holders.get(term)
      if (of) of.push(position)
      else holders.set(term, [position])
    }
  }
  unread.clear()
}
