import type { Block } from '../events/blocks.ts'
import type { ConversationEvent } from '../events/events.ts'
import { type Effective, type Item, itemOf } from '../projections/effective.ts'
import { draftOf, emptyOutline, evolve, type Outline, type Slot } from '../projections/outline.ts'

/** What another policy would have made of a conversation so far: a history that continues from any of its events. */
export interface Replay {
  readonly outline: Outline
  /** Every item that there was, by position. */
  readonly items: ReadonlyMap<number, Item>
  /** What markers replaced, and the marker that hides an item. */
  readonly replaced: ReadonlyMap<number, readonly Slot[]>
  readonly hiddenBy: ReadonlyMap<number, Item>
  /** Stands for a system prompt and tools that the log does not have. */
  readonly prompt?: readonly Block[] | undefined
  /** Tokens of the requests that are other ones here, by the position of the reply. */
  readonly requestTokens: ReadonlyMap<number, number>
}

export const nothingYet: Replay = {
  outline: emptyOutline,
  items: new Map(),
  replaced: new Map(),
  hiddenBy: new Map(),
  requestTokens: new Map(),
}

/** A replay that events are added to in place. */
export const replaying = (before: Replay) => {
  const { prompt } = before
  const draft = draftOf(before.outline)
  const items = new Map(before.items)
  const replaced = new Map(before.replaced)
  const hiddenBy = new Map(before.hiddenBy)
  const requestTokens = new Map(before.requestTokens)

  const add = (event: ConversationEvent, as: Item | undefined = itemOf(event)): void => {
    const slots = evolve(draft, event, (marker) => replaced.get(marker))
    if (event.type === 'Restored') {
      for (const { position } of slots ?? []) hiddenBy.delete(position)
      return
    }
    if (!as || (as.kind !== 'message' && !slots)) return
    items.set(as.position, as)
    if (!slots) return
    replaced.set(event.position, slots)
    for (const { position } of slots) hiddenBy.set(position, as)
  }
  const effectiveAt = (at: number): Effective => {
    const shown: Item[] = []
    for (const { position } of draft.slots) {
      const item = items.get(position)
      if (item) shown.push(item)
    }
    const { configuration } = draft
    const isRecorded = configuration?.system !== undefined || configuration?.tools !== undefined
    const outline = {
      ...draft,
      slots: [...draft.slots],
      restored: [...draft.restored],
      ...(prompt && !isRecorded && { configuration: { ...configuration, system: prompt } }),
    }
    return { at, head: at, outline, items: shown }
  }
  const copy = (): Replay => ({
    outline: { ...draft, slots: [...draft.slots], restored: [...draft.restored] },
    items: new Map(items),
    replaced: new Map(replaced),
    hiddenBy: new Map(hiddenBy),
    prompt,
    requestTokens: new Map(requestTokens),
  })
  /** The outline as it is now: it changes with what is added. */
  const now: Outline = draft
  return { add, effectiveAt, copy, now, hiddenBy, items, requestTokens }
}
export type Replaying = ReturnType<typeof replaying>
