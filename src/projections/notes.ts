import type { Metadata } from '../events/events.ts'
import type { NoteEvent } from '../events/notes.ts'

interface Recorded {
  /** Last position of the conversation when the note or link was recorded. */
  readonly at: number
  /** 0-based index among the notes and links of its conversation. */
  readonly revision: number
  readonly id: string
  readonly metadata: Metadata
}

/** A recorded fact about a conversation that is not a message. */
export interface Note extends Recorded {
  /** Id of the conversation that has the note; for a fork, possibly its parent. */
  readonly conversation: string
  readonly kind: string
  readonly data?: unknown
}

/** A relation of a conversation to another one, or to something outside the store. */
export interface Link extends Recorded {
  /** Id of the conversation that has the link. */
  readonly from: string
  /** Kind of relation: `subagent-of`, `continues`, `handed-over-from`, or a word of the writer's choice. */
  readonly relation: string
  /** Id of the linked conversation, if known. It need not be in the store. */
  readonly conversation?: string
  /** Target as free text: a file, a URL, a name. */
  readonly ref?: string
  /** Position in the linked conversation. */
  readonly position?: number
  /** Id of a tool call in the linked conversation. */
  readonly call?: string
}

const recorded = ({ data: { at }, revision, id, metadata }: NoteEvent): Recorded => ({
  at,
  revision,
  id,
  metadata,
})

/** Converts a stored note to the form that callers receive. */
export const noteOf = (conversation: string, event: NoteEvent<'Noted'>): Note => {
  const { kind, data } = event.data
  return { conversation, kind, ...(data !== undefined && { data }), ...recorded(event) }
}

/** Converts a stored link to the form that callers receive. */
export const linkOf = (from: string, event: NoteEvent<'Linked'>): Link => {
  const { relation, conversation, ref, position, call } = event.data
  return {
    from,
    relation,
    ...(conversation !== undefined && { conversation }),
    ...(ref !== undefined && { ref }),
    ...(position !== undefined && { position }),
    ...(call !== undefined && { call }),
    ...recorded(event),
  }
}

/**
 * Returns a conversation's links, deduplicated: a later link with the same relation and target is merged into the earlier link, whose
 * fields it replaces. Two links have the same target if both name the same conversation, or if at least one names no conversation and
 * both have the same `ref`.
 *
 * @param links in the order in which they were recorded
 */
export const mergeLinks = (links: readonly Link[]): readonly Link[] => {
  const found: Link[] = []
  /** Indexes of the found links by what another one may have in common with them. A link may have lost it again. */
  const candidates = new Map<string, number[]>()
  const firstWith = (key: string | undefined, isSame: (earlier: Link) => boolean): number => {
    const indexes = key === undefined ? undefined : candidates.get(key)
    while (indexes?.[0] !== undefined) {
      const earlier = found[indexes[0]]
      if (earlier && isSame(earlier)) return indexes[0]
      indexes.shift()
    }
    return Infinity
  }
  const add = (key: string | undefined, index: number): void => {
    if (key === undefined) return
    const indexes = candidates.get(key)
    if (!indexes) candidates.set(key, [index])
    // Most are added in order.
    else if ((indexes.at(-1) ?? -1) < index) indexes.push(index)
    else if (!indexes.includes(index))
      candidates.set(
        key,
        [...indexes, index].toSorted((one, other) => one - other),
      )
  }
  for (const link of links) {
    const { conversation, ref } = link
    const keys = keysOf(link)
    const index = Math.min(
      ...(conversation === undefined
        ? [firstWith(keys.ref, (earlier) => earlier.ref === ref)]
        : [
            firstWith(keys.conversation, (earlier) => earlier.conversation === conversation),
            firstWith(keys.bare, (earlier) => earlier.ref === ref && earlier.conversation === undefined),
          ]),
    )
    const merged = { ...found[index], ...link }
    const place = index === Infinity ? found.length : index
    found[place] = merged
    const its = keysOf(merged)
    add(its.conversation, place)
    add(its.ref, place)
    if (merged.conversation === undefined) add(its.bare, place)
  }
  return found
}

const keysOf = ({ relation, conversation, ref }: Link) => ({
  conversation: conversation === undefined ? undefined : JSON.stringify(['to', relation, conversation]),
  ref: ref === undefined ? undefined : JSON.stringify(['ref', relation, ref]),
  /** For links without a conversation. */
  bare: ref === undefined ? undefined : JSON.stringify(['bare', relation, ref]),
})

/** A note or link among the entries of a full history. `position` is the position of the event after which it was recorded. */
export type NoteEntry = NotedEntry | LinkedEntry
export interface NotedEntry {
  readonly kind: 'note'
  readonly position: number
  readonly note: Note
}
export interface LinkedEntry {
  readonly kind: 'link'
  readonly position: number
  readonly link: Link
}

/** Converts a recorded note or link to an entry of the full history. */
export const entryOf = (conversation: string, event: NoteEvent): NoteEntry =>
  event.type === 'Noted'
    ? { kind: 'note', position: event.data.at, note: noteOf(conversation, event) }
    : { kind: 'link', position: event.data.at, link: linkOf(conversation, event) }

/**
 * Merges notes into a list of entries: each note follows the entries at or before its position. Notes at the same position keep their
 * order.
 */
export const woven = <E extends { readonly position: number }>(
  entries: readonly E[],
  notes: readonly NoteEntry[],
): readonly (E | NoteEntry)[] => {
  const sorted = notes.toSorted((a, b) => a.position - b.position)
  const all: (E | NoteEntry)[] = []
  let next = 0
  for (const entry of entries) {
    for (let note = sorted[next]; note && note.position < entry.position; note = sorted[++next])
      all.push(note)
    all.push(entry)
  }
  return [...all, ...sorted.slice(next)]
}
