import type { DiffRowEntry } from '../diff/rows.ts'

// Two histories side by side: common items are shown once, the others in separate columns.

/** Fields of an effective history's item that the comparison reads. */
export interface CompareItem extends DiffRowEntry {
  readonly time: string
  readonly messageId?: string | undefined
  readonly role?: string | undefined
  readonly content?: readonly CompareBlock[] | undefined
  readonly origin?: { readonly stopReason?: string | null | undefined } | undefined
}
export interface CompareBlock {
  readonly type: string
  readonly [field: string]: unknown
}

export type CompareRow<I extends CompareItem = CompareItem> =
  | { readonly kind: 'same'; readonly items: readonly I[] }
  | { readonly kind: 'apart'; readonly left: readonly I[]; readonly right: readonly I[] }

/**
 * Returns a key that is equal for the same item in both histories. A fork keeps the ids of its parent's messages and the times and
 * positions of its parent's markers.
 */
const keyOf = ({ kind, position, time, messageId }: CompareItem): string =>
  messageId ?? `${kind} ${position} ${time}`

/** Aligns two histories into rows: runs of common items, and the items between them that only one history has. */
export const compareRows = <I extends CompareItem>(
  left: readonly I[],
  right: readonly I[],
): readonly CompareRow<I>[] => {
  const placeOf = new Map(right.map((item, index) => [keyOf(item), index]))
  const rows: CompareRow<I>[] = []
  let next = 0
  let apart: I[] = []
  let same: I[] = []
  const close = (until: number): void => {
    if (same.length > 0) rows.push({ kind: 'same', items: same })
    if (apart.length > 0 || until > next)
      rows.push({ kind: 'apart', left: apart, right: right.slice(next, until) })
    apart = []
    same = []
  }
  for (const item of left) {
    const place = placeOf.get(keyOf(item))
    // An item that is in a different order in the other history counts as different.
    if (place === undefined || place < next) {
      if (same.length > 0) close(next)
      apart.push(item)
      continue
    }
    if (apart.length > 0 || place > next) close(place)
    next = place + 1
    same.push(item)
  }
  close(right.length)
  return rows
}

/** Returns the position of the last item in the common beginning of both histories; undefined if the first items differ. */
export const commonUntil = (rows: readonly CompareRow[]): number | undefined => {
  const [first] = rows
  return first?.kind === 'same' ? first.items.at(-1)?.position : undefined
}

/** Summary of one of two compared histories. */
export interface SideOutcome {
  readonly items: number
  /** Tools called in the items that only this history has, with the number of calls; most frequent first. */
  readonly tools: readonly (readonly [name: string, times: number])[]
  readonly replies: number
  /** First non-blank text of the last message; empty if it has no text. */
  readonly last: string
  readonly stopReason: string | undefined
}

export const outcomeOf = (rows: readonly CompareRow[], side: 'left' | 'right'): SideOutcome => {
  const own = rows.flatMap((row) => (row.kind === 'apart' ? row[side] : []))
  const all = rows.flatMap((row) => (row.kind === 'apart' ? row[side] : row.items))
  const times = new Map<string, number>()
  for (const { content = [] } of own)
    for (const { type, name } of content)
      if (type.endsWith('tool_use') && typeof name === 'string') times.set(name, (times.get(name) ?? 0) + 1)
  const last = all.findLast(({ kind }) => kind === 'message')
  const texts = last?.content?.flatMap(({ type, text }) =>
    type === 'text' && typeof text === 'string' ? [text] : [],
  )
  return {
    items: all.length,
    tools: [...times].toSorted(([, one], [, other]) => other - one),
    replies: own.filter(({ kind, role }) => kind === 'message' && role === 'assistant').length,
    last: texts?.find((text) => text.trim() !== '')?.trim() ?? '',
    stopReason: last?.origin?.stopReason ?? undefined,
  }
}

/** Reports whether an item begins a turn, that is, whether it is a user message that does not consist only of tool results. */
const beginsTurn = ({ kind, role, content = [] }: CompareItem): boolean =>
  kind === 'message' &&
  role === 'user' &&
  !(content.length > 0 && content.every(({ type }) => type === 'tool_result'))

/** Returns the position of the last item of each turn. A slider that moves by turns stops at these positions. */
export const turnEnds = (items: readonly CompareItem[]): readonly number[] =>
  items.flatMap((item, index) => {
    const next = items[index + 1]
    return next === undefined || beginsTurn(next) ? [item.position] : []
  })

/** Returns the slider stop that is `turns` turns away from position `from`. Locked histories move by the same number of turns. */
export const moveBy = (ends: readonly number[], from: number, turns: number): number => {
  const at = ends.findLastIndex((end) => end <= from)
  return ends[Math.min(ends.length - 1, Math.max(0, at + turns))] ?? from
}
