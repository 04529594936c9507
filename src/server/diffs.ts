import type { Conversation, Diff, Entry, RenderResult, Store } from '../index.ts'
import { differenceOf, missingItems } from '../projections/diff.ts'

// Differences between the histories or requests at two positions.

/**
 * Maximum distance between two positions for which the library compares effective histories, because it reads every event in between.
 * For a larger distance, the index provides the status of removed entries.
 */
const near = 2_000

export const effectiveChanges = async (
  { catalogue }: Pick<Store, 'catalogue'>,
  chat: Conversation,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<Diff> => {
  if (to - from <= near) return chat.diff({ from, to })
  const [before, after] = await Promise.all([chat.effective({ at: from }), chat.effective({ at: to })])
  const gone = missingItems({ before, after })
  const fates = await catalogue.fates(chat.id, { at: to, of: gone.map(({ position }) => position) })
  // The index does not cover `to` yet.
  if (!fates) return chat.diff({ from, to })
  const fateOf = new Map(fates.map(({ position, ...fate }) => [position, fate]))
  const entries = gone.flatMap((item): readonly Entry[] => {
    const fate = fateOf.get(item.position)
    return fate ? [{ ...item, ...fate }] : []
  })
  return differenceOf({ from, to, before, after }, entries)
}

/** Status of an entry at the earlier position, and the position of the event that caused it. */
interface Fate {
  readonly status: Entry['status']
  readonly by?: number | undefined
}
export interface EntryChange {
  /** Kind of change. `turned`: the entry is in both histories, but its status changed. */
  readonly change: 'appeared' | 'disappeared' | 'turned'
  /** The entry at the later position or, if it disappeared, at the earlier one. */
  readonly entry: Entry
  /** Status at the earlier position, for `turned`. */
  readonly was?: Fate
}

/** Returns the entries that differ between two full histories, ordered by position. */
export const entryChanges = (before: readonly Entry[], after: readonly Entry[]): readonly EntryChange[] => {
  const old = new Map(before.map((entry) => [entry.position, entry]))
  const now = new Set(after.map(({ position }) => position))
  const left = before.flatMap((entry): readonly EntryChange[] =>
    now.has(entry.position) ? [] : [{ change: 'disappeared', entry }],
  )
  const come = after.flatMap((entry): readonly EntryChange[] => {
    const was = old.get(entry.position)
    if (!was) return [{ change: 'appeared', entry }]
    const { status, by } = was
    if (status === entry.status && by === entry.by) return []
    return [{ change: 'turned', entry, was: { status, ...(by !== undefined && { by }) } }]
  })
  return [...left, ...come].toSorted((one, other) => one.entry.position - other.entry.position)
}

/** A field of a request other than its messages, as JSON; a value is absent if its request lacks the field. */
interface Part {
  readonly name: string
  readonly before?: unknown
  readonly after?: unknown
}
export interface RequestChanges {
  /** Number of equal messages at the beginning, which a prompt cache may still hold. */
  readonly first: number
  /** Number of equal messages at the end, without those counted in `first`. */
  readonly last: number
  readonly disappeared: RenderResult['messages']
  readonly appeared: RenderResult['messages']
  readonly parts: readonly Part[]
}

const parts = ['system', 'tools'] as const

export const requestChanges = (before: RenderResult, after: RenderResult): RequestChanges => {
  const [old, now] = [before.messages, after.messages].map((all) => all.map((one) => JSON.stringify(one)))
  const [was = [], is = []] = [old, now]
  const most = Math.min(was.length, is.length)
  let first = 0
  while (first < most && was[first] === is[first]) first++
  let last = 0
  while (last < most - first && was.at(-1 - last) === is.at(-1 - last)) last++
  return {
    first,
    last,
    disappeared: before.messages.slice(first, was.length - last),
    appeared: after.messages.slice(first, is.length - last),
    parts: parts.flatMap((name) =>
      JSON.stringify(before[name]) === JSON.stringify(after[name])
        ? []
        : [{ name, before: before[name], after: after[name] }],
    ),
  }
}
