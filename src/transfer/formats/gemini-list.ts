import type { NewMessage } from '../../commands/command.ts'
import type { Block } from '../../events/blocks.ts'
import type { Message } from '../../events/events.ts'
import { actionsOn } from './actions.ts'
import type { ActionBody, ImportAction, RefCovers } from './plan.ts'
import type { LazyList, Shelf } from './shelf.ts'
import { digest } from './source.ts'

/** An entry of a list, with what the model sees of it: nothing, a message, or a reply and its results. */
export interface EntryMessage {
  readonly id: string
  readonly time?: string
  readonly messages: readonly (NewMessage & { readonly content: readonly Block[] })[]
}

/** A list of entries that a program changes in any way, as actions that have the same effect. */
export interface EntryList {
  /** Returns the last entry with messages before the one with this id, or, for a new id, of all. */
  readonly before: (id: string) => EntryMessage | undefined
  /** Adds an entry, or replaces the one of the same id where it is. `ref` names the record. */
  readonly put: (ref: string, entry: EntryMessage) => void
  /** Drops the entry and all after it; all entries if none has this id. Returns false if nothing shown was dropped. */
  readonly rewind: (ref: string, id: string) => boolean
  /** Replaces the whole list. */
  readonly replace: (ref: string, entries: readonly EntryMessage[]) => void
  readonly actions: () => LazyList<ImportAction>
}

/** An entry whose messages are on the shelf. `key` tells its messages from others; undefined if there are none. */
interface Entry {
  readonly id: string
  readonly key: string | undefined
  readonly place: number
}

/** An item of the history: an entry's messages, or a summary made of several entries, from the first to the last action. */
interface Slot {
  readonly entries: readonly Entry[]
  readonly first: string
  readonly last: string
}

/** The history before an entry: after the action `to`, and the first `changes` changes, it had `length` slots. */
interface Mark {
  readonly to: string | null
  readonly changes: number
  readonly length: number
}

/** A change other than an addition at the end: the slot or slots before it. */
type Change = { readonly index: number; readonly slot: Slot } | { readonly slots: Slot[] }

export const listEntries = (shelf: Shelf): EntryList => {
  const actions = actionsOn(shelf)
  const refs = new Set<string>()
  const marks = new Map<string, Mark>()
  let entries: Entry[] = []
  let places = new Map<string, number>()
  let slots: Slot[] = []
  const changes: Change[] = []
  let last: string | null = null
  /** The last entry, which may still grow, and the index of its first action. */
  let open: { readonly said: EntryMessage; readonly index: number } | undefined

  const act = (wished: string, body: ActionBody, time?: string): string => {
    const ref = refs.has(wished) ? `${wished}:${actions.count()}` : wished
    refs.add(ref)
    actions.add({ ref, ...(time !== undefined && { time }), ...body })
    last = body.type === 'rewind' ? body.to : ref
    open = undefined
    return ref
  }
  const saidBy = ({ place }: Entry): EntryMessage => shelf.get(place) as EntryMessage
  const shelved = (said: EntryMessage): Entry => ({ id: said.id, key: keyOf(said), place: shelf.put(said) })
  const setEntries = (wanted: readonly Entry[]): void => {
    entries = [...wanted]
    places = new Map(entries.map(({ id }, index) => [id, index]))
  }

  const append = (entry: Entry, said: EntryMessage): void => {
    marks.set(entry.id, { to: last, changes: changes.length, length: slots.length })
    places.set(entry.id, entries.push(entry) - 1)
    open = undefined
    say(entry, said, [])
  }
  /** Adds the messages of the last entry that were not added before. */
  const say = (entry: Entry, said: EntryMessage, before: EntryMessage['messages']): void => {
    const index = open?.index ?? actions.count()
    const added = said.messages
      .slice(before.length)
      .map((message, at) =>
        act(
          at + before.length === 0 ? entry.id : `${entry.id}:results`,
          { type: 'message', message },
          said.time,
        ),
      )
    const known = before.length === 0 ? undefined : slots.pop()
    const [first = known?.first] = added
    if (first !== undefined)
      slots.push({
        entries: [entry],
        first: known?.first ?? first,
        last: added.at(-1) ?? known?.last ?? first,
      })
    open = { said, index }
  }

  /** Completes the last entry if it only has more than before. Returns false otherwise. */
  const extend = (entry: Entry, said: EntryMessage): boolean => {
    if (open?.said.id !== entry.id || entries.at(-1)?.id !== entry.id) return false
    const { said: before, index } = open
    const more = before.messages.map((message, at) => restOf(message, said.messages[at]))
    if (more.includes(undefined)) return false
    for (const [at, content] of more.entries())
      actions.extend(index + at, { content: content ?? [], origin: said.messages[at]?.origin })
    entries[entries.length - 1] = entry
    say(entry, said, before.messages)
    return true
  }

  const hide = (ref: string, covers: RefCovers, added: readonly Entry[]): Slot => {
    const summary = added.flatMap((each) => saidBy(each).messages.map(withoutOrigin))
    const body: ActionBody =
      added.length > 0
        ? { type: 'condense', covers, summary, method: 'client' }
        : { type: 'truncate', covers, reason: 'the program dropped these messages' }
    const marker = act(ref, body)
    return { entries: added, first: marker, last: marker }
  }

  /** Edits an entry that is shown by itself, without a look at the others. Returns false for any other one. */
  const edit = (ref: string, index: number, entry: Entry): boolean => {
    const at = slots.findLastIndex((each) => each.entries.length === 1 && each.entries[0]?.id === entry.id)
    const slot = slots[at]
    if (!slot || entry.key === undefined) return false
    changes.push({ index: at, slot })
    slots[at] = hide(ref, { first: slot.first, last: slot.last }, [entry])
    entries[index] = entry
    return true
  }

  /** Makes the history show these entries: what differs is condensed to what took its place; what is new at the end is added. */
  const align = (ref: string, wanted: readonly Entry[]): void => {
    const seen = wanted.filter(({ key }) => key !== undefined)
    const at = new Map(seen.map(({ id }, index) => [id, index]))
    const next: Slot[] = []
    let from = 0
    let hidden: Slot[] = []
    for (const slot of [...slots, undefined]) {
      const [begin] = slot?.entries ?? []
      if (slot && !begin) {
        // What was dropped without a summary stays so.
        const list = hidden.length > 0 ? hidden : next
        list.push(slot)
        continue
      }
      const index = begin ? (at.get(begin.id) ?? -1) : seen.length
      const isKept = index >= from && (slot?.entries ?? []).every((each, k) => isEqual(each, seen[index + k]))
      const added = isKept ? seen.slice(from, index) : []
      if (slot && (!isKept || (hidden.length === 0 && added.length > 0))) {
        hidden.push(slot)
        continue
      }
      const [first, final] = [hidden[0], hidden.at(-1)]
      if (first && final) {
        next.push(hide(ref, { first: first.first, last: final.last }, added))
        from = index
      }
      if (slot) next.push(slot)
      from += slot?.entries.length ?? 0
      hidden = []
    }
    if (next.length !== slots.length || next.some((slot, index) => slot !== slots[index])) {
      changes.push({ slots })
      slots = next
    }
    const rest = new Set(seen.slice(from))
    const kept = wanted.findIndex((each) => rest.has(each))
    const before = entries
    setEntries(kept < 0 ? wanted : wanted.slice(0, kept))
    for (const { id } of before) if (!places.has(id)) marks.delete(id)
    for (const each of kept < 0 ? [] : wanted.slice(kept)) append(each, saidBy(each))
    if (rest.size === 0) open = undefined
  }

  const restore = (ref: string, mark: Mark): void => {
    act(ref, { type: 'rewind', to: mark.to })
    for (const change of changes.splice(mark.changes).toReversed())
      if ('slots' in change) ({ slots } = change)
      else slots[change.index] = change.slot
    slots.length = mark.length
    // Marks of what came later do not hold any more.
    for (const [id, { changes: count, length }] of marks)
      if (count > changes.length || length > slots.length) marks.delete(id)
  }

  /** Goes back to before the entry at this index. Returns false if nothing shown comes after. */
  const back = (ref: string, index: number): boolean => {
    const wanted = entries.slice(0, index)
    const first = entries.slice(index).find(({ key }) => key !== undefined)
    if (first) {
      const isEmpty = wanted.every(({ key }) => key === undefined)
      const mark = isEmpty ? { to: null, changes: 0, length: 0 } : marks.get(first.id)
      if (mark) restore(ref, mark)
      align(ref, wanted)
    } else setEntries(wanted)
    return first !== undefined
  }

  const change = (ref: string, wanted: readonly Entry[]): void => {
    const isBeginning =
      wanted.length < entries.length && wanted.every((each, index) => isEqual(each, entries[index]))
    if (isBeginning) back(ref, wanted.length)
    else align(ref, wanted)
  }

  return {
    before: (id) => {
      let index = (places.get(id) ?? entries.length) - 1
      while (index >= 0 && entries[index]?.key === undefined) index--
      const entry = entries[index]
      return entry && saidBy(entry)
    },
    put: (ref, said) => {
      const index = places.get(said.id)
      const entry = shelved(said)
      if (index === undefined) append(entry, said)
      else if (!extend(entry, said) && !isEqual(entry, entries[index]) && !edit(ref, index, entry))
        change(ref, entries.with(index, entry))
    },
    rewind: (ref, id) => back(ref, places.get(id) ?? 0),
    replace: (ref, said) => {
      // The last of several entries with one id counts, in the place of the first.
      const byId = new Map(said.map((each) => [each.id, each]))
      change(ref, [...byId.values()].map(shelved))
    },
    actions: () => actions.list(),
  }
}

const isEqual = (one: Entry, other: Entry | undefined): boolean =>
  one.id === other?.id && one.key === other.key

const withoutOrigin = ({ role, content }: EntryMessage['messages'][number]): Message => ({ role, content })

/**
 * Returns the blocks by which entries are compared: without thinking, which a checkpoint words otherwise than the reply did, and with texts
 * joined, which it may divide.
 */
const comparable = (content: readonly Block[]): readonly Block[] => {
  const blocks: Block[] = []
  for (const block of content) {
    const before = blocks.at(-1)
    if (block.type === 'thinking') continue
    if (before?.type === 'text' && block.type === 'text')
      blocks.splice(-1, 1, { type: 'text', text: before.text + block.text })
    else blocks.push(block)
  }
  return blocks
}

const keyOf = ({ messages }: EntryMessage): string | undefined =>
  messages.length === 0 ? undefined : digest(messages.map(({ role, content }) => [role, comparable(content)]))

/** Returns the blocks that a message has more than before; undefined if it has not all of those. */
const restOf = (
  before: EntryMessage['messages'][number],
  now: EntryMessage['messages'][number] | undefined,
): readonly Block[] | undefined => {
  if (now?.role !== before.role) return undefined
  const [old, all] = [comparable(before.content), comparable(now.content)]
  const isBeginning = JSON.stringify(old) === JSON.stringify(all.slice(0, old.length))
  return isBeginning ? all.slice(old.length) : undefined
}
