import type * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { type InvalidInput, invalidInput } from '../events/errors.ts'
import { START } from '../events/events.ts'
import { loadEffective } from '../history/load.ts'
import { loadLog, openAt, openShown, outsideOf } from '../history/log.ts'
import { loadNewest } from '../history/newest.ts'
import { readNoteEntries } from '../history/note-reader.ts'
import { type Verified, verify } from '../jobs/verify.ts'
import { type Diff, diffing } from '../projections/diff.ts'
import type { Effective, Item } from '../projections/effective.ts'
import { type Entry, fulling, type FullOptions } from '../projections/full.ts'
import { type NoteEntry, woven } from '../projections/notes.ts'
import type { Log } from '../projections/path.ts'
import { type Rendered, rendering, type RenderOptions } from '../projections/render/renderer.ts'
import { type TimelineEntry, timing } from '../projections/timeline.ts'
import { ok, type Steps, task } from '../result/steps.ts'
import { inBreaths } from '../store/breath.ts'
import type { ReadError } from '../store/errors.ts'
import { checkedOptions, type Fields, kinds, oneOf } from '../store/options.ts'
import type { EventStore } from '../store/port.ts'

type Read<A> = TaskEither<ReadError, A>
type Reads<A> = Steps<ReadError, A>

/** A moment to look from: a position, -1 for before the first event; the last position by default. */
export interface At {
  readonly at?: number
}

/** What reads a conversation as of now. */
export interface Reading {
  /**
   * The last position. Errors: `ConversationNotFound`.
   *
   * @example
   * const after = await chat.position()
   */
  readonly position: () => Read<number>
  /**
   * The effective history: the messages, summaries and truncations that the model sees, in the order in which it sees them. Reads what
   * it shows, however long the log is. Errors: `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * for (const item of await chat.effective({ at: 3 })) console.log(item.position, item.kind)
   */
  readonly effective: (options?: At) => Read<readonly Item[]>
  /**
   * The context: the effective history with all else that a request is made of. What `render`, `countTokens` and `manageContext` of
   * `palimpsest/core` and `palimpsest/fp` take. Errors: `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * const { at, items, outline } = await chat.context()
   * console.log(at, items.length, outline.configuration?.model)
   */
  readonly context: (options?: At) => Read<Effective>
  /**
   * Every message and marker of the path, by position, each with what became of it; with `abandoned` (default false) also those of
   * abandoned branches, and with `notes` (default false) what was noted. With `last` it reads
   * those newest entries and what comes after them, else the whole log. Errors: `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * const entries = await chat.full({ abandoned: true })
   * console.log(entries.filter(({ status }) => status !== 'active').length, 'are not shown')
   */
  readonly full: FullReader
  /**
   * What the model sees, as a request that the Messages API accepts, with each departure from what is stored in `repairs`. Errors:
   * `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * const { system, messages, awaits, repairs } = await chat.render({ cache: '1h' })
   */
  readonly render: (options?: At & RenderOptions) => Read<Rendered>
  /**
   * How what the model sees at `to` (default: the last position) differs from what it saw at `from`; either may be the later one.
   * Reads the whole log. Errors: `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * const { changes } = await chat.diff({ from: 3 })
   */
  readonly diff: (options: DiffOptions) => Read<Diff>
  /**
   * Every event through `at`, by position, each with its place in the tree of branches. Reads the whole log. Errors: `OutOfRange`,
   * `ConversationNotFound`.
   *
   * @example
   * for (const { event, branch, onPath } of await chat.timeline()) console.log(event.position, branch, onPath)
   */
  readonly timeline: (options?: At) => Read<readonly TimelineEntry[]>
  /**
   * Recomputes the hash chain and every view, and looks at the database's file as a whole. A difference in the conversation is an
   * answer; a damaged file is the error `StoreCorrupt`, as nobody knows then what a read leaves out. Errors: `ConversationNotFound`.
   *
   * @example
   * const { events, discrepancy } = await chat.verify()
   * console.log(discrepancy ?? `${events} events are as they were written`)
   */
  readonly verify: (options?: VerifyOptions) => Read<Verified>
}

/** Whether the full history is to have the notes and links too. */
export type FullWithNotes = FullOptions & { readonly notes?: boolean }
export type Entries = readonly (Entry | NoteEntry)[]
/** Reads the full history; `notes`: with the notes and links, each after what has the position at which it was noted, or a lower one. */
interface FullReader {
  (options: FullWithNotes & { readonly notes: boolean }): Read<Entries>
  (options?: FullOptions): Read<readonly Entry[]>
}

/** Two positions to compare. */
export interface DiffOptions {
  readonly from: number
  readonly to?: number
}

export interface VerifyOptions {
  /** Also look at the file, all of it, as `check` of the store does. Default true; false spares that where many are verified. */
  readonly file?: boolean
}

const atFields = { at: kinds.position }
const fullFields = {
  ...atFields,
  abandoned: kinds.flag,
  last: kinds.several,
  before: kinds.position,
  notes: kinds.flag,
}
/** The notes among the entries that were asked for; those before the first one are not, if there are earlier entries. */
const notesAmong = (
  notes: readonly NoteEntry[],
  entries: readonly Entry[],
  { last = Infinity, before = Infinity }: FullOptions,
): readonly NoteEntry[] => {
  const first = entries.length < last ? START : (entries[0]?.position ?? START)
  return notes.filter(({ position }) => position >= first && position < before)
}
const renderFields = {
  ...atFields,
  systemMessages: kinds.flag,
  prefill: kinds.flag,
  truncationNotes: kinds.flag,
  cache: oneOf(['5m', '1h']),
}
const diffFields = { from: kinds.position, to: kinds.position }

/** The methods that read one conversation. */
export const reading = (
  store: EventStore,
  id: string,
  checkedId: E.Either<InvalidInput, string>,
): Reading => {
  /** What was asked for is checked at once, whatever the caller does with the options from here on. */
  const look = <O extends object, A>(
    options: O | undefined,
    fields: Fields<O>,
    read: (options: Partial<O>) => Reads<A>,
  ): Read<A> => {
    const given = checkedOptions(options, fields)
    return task(async function* (): Reads<A> {
      const checked = yield* ok(given)
      yield* ok(checkedId)
      return yield* read(checked)
    })
  }

  async function* loaded(at: number | undefined, withConfiguration: boolean): Reads<Effective> {
    const opened = yield* ok(openShown(store, id, at))
    const { effective } = yield* loadEffective(opened.reading, opened.at, withConfiguration)
    return effective
  }

  async function* newestEntries(
    last: number,
    { at, before = Infinity, abandoned = false }: FullOptions,
  ): Reads<readonly Entry[]> {
    const opened = yield* ok(openShown(store, id, at))
    return yield* loadNewest(opened.reading, { at: opened.at, last, before, abandoned })
  }

  /** A projection of the log through the last of the positions given. */
  async function* projected<A>(
    positions: readonly (number | undefined)[],
    project: (log: Log, last: number) => Iterator<void, A>,
  ): Reads<A> {
    const { reading: from, last } = yield* ok(openAt(store, id))
    for (const position of positions) {
      const outside = outsideOf(id, position, last)
      if (outside) return yield outside
    }
    const until = Math.max(...positions.map((position) => position ?? last))
    return await inBreaths(project(yield* ok(loadLog(from, until)), last))
  }

  return {
    position: () =>
      look({}, {}, async function* (): Reads<number> {
        const { last } = yield* ok(openAt(store, id))
        return last
      }),
    effective: (options) =>
      look(options, atFields, async function* ({ at }): Reads<readonly Item[]> {
        const { items } = yield* loaded(at, false)
        return items
      }),
    context: (options) => look(options, atFields, ({ at }) => loaded(at, true)),
    full: ((options) =>
      look<FullWithNotes, Entries>(
        options,
        fullFields,
        async function* ({ notes: withNotes = false, ...given }): Reads<Entries> {
          const entries =
            given.last === undefined
              ? yield* projected([given.at], (log) => fulling(log, given))
              : yield* newestEntries(given.last, given)
          if (!withNotes) return entries
          return woven(entries, notesAmong(yield* readNoteEntries(store, id, given.at), entries, given))
        },
      )) as FullReader,
    render: (options) =>
      look(options, renderFields, async function* ({ at, ...given }): Reads<Rendered> {
        return await inBreaths(rendering(yield* loaded(at, true), given))
      }),
    diff: (options) =>
      look<DiffOptions, Diff>(options, diffFields, async function* ({ from, to }): Reads<Diff> {
        if (from === undefined) return yield invalidInput('from', 'name the position to compare from')
        return yield* projected([from, to], (log, last) => diffing(log, from, to ?? last))
      }),
    timeline: (options) => look(options, atFields, ({ at }) => projected([at], (log) => timing(log))),
    verify: (options) =>
      look(options, { file: kinds.flag }, async function* ({ file = true }): Reads<Verified> {
        const verified = yield* verify(store, id)
        if (!verified.discrepancy && file && store.integrity) yield* ok(store.integrity())
        return verified
      }),
  }
}
