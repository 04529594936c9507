import { isMarker } from '../../events/event-traits.ts'
import type { ConversationEvent } from '../../events/events.ts'
import { itemOf } from '../../projections/effective.ts'
import { decideFates, type Entry, type EntryState, rewindsAt } from '../../projections/full.ts'
import { newestFates } from '../../projections/newest.ts'
import { draftOf, evolve, type Slot } from '../../projections/layout.ts'
import { type Log, parent, resolve } from '../../projections/path.ts'
import { unwrap, type Fallible } from '../../result/fallible.ts'
import { inBreaths } from '../../store/breath.ts'
import { maxPage } from '../../store/port.ts'
import type { StoreError } from '../../store/errors.ts'
import { slotsUnder } from './gather.ts'
import { loadEffective } from './load.ts'
import { eventThere, firstPage, type Reader, walkBack } from './reader.ts'

/** A request for the newest `last` entries of the full history at `at`. */
export interface Newest {
  readonly at: number
  readonly last: number
  /** Only entries at or after this position. Default: from the beginning. */
  readonly from?: number
  /** Only entries before this position. */
  readonly before: number
  readonly abandoned: boolean
}

/** Newest events, and the subset that is on the path. */
interface Read {
  /** Events by position, from `first` on; without `abandoned`, only those on the path. */
  readonly log: Log
  readonly first: number
  readonly path: readonly ConversationEvent[]
}

/**
 * Loads the newest entries of the full history at a position, in order; they equal the last entries of `full`. Reads these entries and
 * all events after them. Of earlier events, reads only those covered by a marker without a view.
 */
export async function* loadNewest(reading: Reader, asked: Newest): Fallible<StoreError, readonly Entry[]> {
  // A marker that hid nothing is not an entry, so a read may yield too few entries; the next one then reads more events.
  for (let wanted = asked.last; ; wanted *= 2) {
    const read = asked.abandoned ? readAll : readPath
    const { log, first, path } = yield* read(reading, asked, wanted)
    const fates = (await inBreaths(newestFates(path, first))) ?? (yield* fatesFrom(reading, first, path))
    const left = asked.abandoned ? await inBreaths(rewindsAt(log, asked.at, first)) : []
    const entries: Entry[] = []
    for (let position = Math.min(asked.before - 1, asked.at); position >= first; position--) {
      const event = log[position]
      const item = event && itemOf(event)
      const by = left[position - first]
      const fate = fates.get(position) ?? (by === undefined ? undefined : abandonedBy(by))
      if (item && fate) entries.push({ ...item, ...fate })
      if (entries.length === asked.last) break
    }
    if (entries.length === asked.last || first <= (asked.from ?? 0)) return entries.toReversed()
  }
}

const abandonedBy = (by: number): EntryState => ({ status: 'abandoned', by })

const isEntry = (event: ConversationEvent): boolean => event.type === 'MessageAppended' || isMarker(event)

/** Removes the content of a message that comes after the requested entries, where content is not needed. */
const kept = (event: ConversationEvent, before: number): ConversationEvent =>
  event.position < before || event.type !== 'MessageAppended'
    ? event
    : { ...event, data: { role: event.data.role, content: [] } }

async function* readPath(
  reading: Reader,
  { at, before }: Newest,
  wanted: number,
): Fallible<StoreError, Read> {
  const log: ConversationEvent[] = []
  const path: ConversationEvent[] = []
  let entries = 0
  const visit = (event: ConversationEvent): boolean => {
    path.push((log[event.position] = kept(event, before)))
    if (isEntry(event) && event.position < before) entries++
    return entries >= wanted
  }
  yield* unwrap(walkBack(reading, at, 0, visit, Math.min(Math.max(wanted, firstPage), maxPage)))
  const first = entries >= wanted ? (path.at(-1)?.position ?? 0) : 0
  return { log, first, path: path.toReversed() }
}

async function* readAll(
  reading: Reader,
  { at, before, from = 0 }: Newest,
  wanted: number,
): Fallible<StoreError, Read> {
  const log: ConversationEvent[] = []
  let entries = 0
  let first = at + 1
  while (first > from && entries < wanted) {
    const size = Math.min(Math.max(wanted, firstPage), maxPage)
    const page = yield* unwrap(reading.page(Math.max(from, first - size), first - 1, 'backwards'))
    if (page.length === 0) {
      yield* unwrap(eventThere(reading, first - 1))
      return { log, first, path: [] }
    }
    for (const event of page) {
      if (entries >= wanted) break
      first = event.position
      log[first] = kept(event, before)
      if (isEntry(event) && first < before) entries++
    }
  }
  const path: ConversationEvent[] = []
  for (let p = resolve(log, at); p >= first; p = parent(log, p)) path.push(log[p] as ConversationEvent)
  return { log, first, path: path.toReversed() }
}

/** Computes the states of a path's entries from a position on, starting from the effective history before that position. */
async function* fatesFrom(
  reading: Reader,
  first: number,
  path: readonly ConversationEvent[],
): Fallible<StoreError, ReadonlyMap<number, EntryState>> {
  const before = yield* loadEffective(reading, (path[0]?.position ?? first) - 1, false)
  const replaced = new Map<number, readonly Slot[]>()
  for (const event of path) {
    if (event.type !== 'Restored' || event.data.marker >= first) continue
    const marker = yield* unwrap(eventThere(reading, event.data.marker))
    if (isMarker(marker)) {
      const { position, data } = marker
      replaced.set(position, yield* slotsUnder(reading, { position, covers: data.covers }))
    }
  }
  const fates = new Map<number, EntryState>()
  const draft = draftOf(before.effective.layout)
  for (const event of path) {
    const slots = evolve(draft, event, (marker) => replaced.get(marker))
    if (slots && event.type !== 'Restored') replaced.set(event.position, slots)
    decideFates(fates, event, slots)
  }
  return fates
}
