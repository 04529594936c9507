import { partsOf, type ApiRequestBody } from '../request/parts.ts'
import { type ExcerptBlock, kindOf, type ExcerptEntry } from './excerpt.ts'
import type { DiffRow } from './rows.ts'
import type { DiffRun } from './words.ts'

// Differences between two requests.

/** Request setting (`model`, `max_tokens` …) before and after, as JSON; undefined where it is absent. */
export interface Setting {
  readonly name: string
  readonly before: string | undefined
  readonly after: string | undefined
}

/** Returns the settings that differ between two requests, that is, all fields except the system prompt, tools and messages. */
export const settingChanges = (before: ApiRequestBody, after: ApiRequestBody): readonly Setting[] => {
  const [old, now] = [new Map(partsOf(before).settings), new Map(partsOf(after).settings)]
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((name) => {
    const change = { name, before: JSON.stringify(old.get(name)), after: JSON.stringify(now.get(name)) }
    return change.before === change.after ? [] : [change]
  })
}

/** Returns the paths of the cache breakpoints in a request, in order: `tools[2]`, `messages[3].content[0]`. */
export const breakpointsIn = (request: ApiRequestBody): readonly string[] => {
  const { tools, system, messages } = partsOf(request)
  return [...tools, ...system, ...messages.flatMap(({ parts }) => parts)].flatMap(({ breakpoint, path }) =>
    breakpoint === undefined ? [] : [path],
  )
}

/**
 * Content block of a message, with a key for comparisons: its role and JSON, without the cache breakpoint, which may move between
 * requests.
 */
export interface SaidBlock {
  readonly key: string
  readonly entry: ExcerptEntry
}

/** Returns the blocks of a request's messages, in order. The `position` of each entry is the index of its message. */
export const blocksIn = (request: ApiRequestBody): readonly SaidBlock[] =>
  partsOf(request).messages.flatMap(({ index, role, parts }) =>
    parts.map(({ block }) => {
      const { cache_control: _, ...own } = block
      const entry: ExcerptEntry = { kind: 'message', position: index, role, content: [own as ExcerptBlock] }
      return { key: JSON.stringify([role, own]), entry }
    }),
  )

/**
 * Turns the differences between the blocks of two requests into rows.
 *
 * @param stretches runs of equal or different keys, in order
 */
export const rowsOfBlocks = (
  before: readonly SaidBlock[],
  after: readonly SaidBlock[],
  stretches: readonly DiffRun[],
): readonly DiffRow<ExcerptEntry>[] => {
  const rows: DiffRow<ExcerptEntry>[] = []
  let [old, now] = [0, 0]
  for (const { kind, length } of stretches) {
    const list = kind === 'left' ? before : after
    const from = kind === 'left' ? old : now
    const entries = list.slice(from, from + length).map(({ entry }) => entry)
    if (kind !== 'came') old += length
    if (kind !== 'left') now += length
    const last = rows.at(-1)
    const [came] = entries
    const [gone] = last?.kind === 'left' ? last.entries : []
    const isChange = kind === 'came' && last?.kind === 'left' && last.entries.length === 1 && length === 1
    if (isChange && came && gone && kindOf(came) === kindOf(gone)) {
      rows[rows.length - 1] = { kind: 'changed', before: gone, after: came }
    } else if (kind === 'left') rows.push({ kind, entries, status: 'gone', by: undefined })
    else rows.push({ kind: kind === 'same' ? 'kept' : 'came', entries })
  }
  return rows
}
