import type { VerificationReport } from '../verify.ts'
import type { Diff } from '../../projections/diff.ts'
import type { Effective, Item } from '../../projections/effective.ts'
import type { Entry, FullOptions } from '../../projections/full.ts'
import type { NoteEntry } from '../../projections/notes.ts'
import type { RenderResult, RenderOptions } from '../../projections/render/renderer.ts'
import type { TimelineEntry } from '../../projections/timeline.ts'
import type { MethodResult, ResultStyle } from '../../result/answer.ts'
import type { ReadError } from '../../store/errors.ts'

type Read<W extends ResultStyle, A> = MethodResult<W, ReadError, A>

/** A moment to look from: a position, -1 for before the first event; the last position by default. */
export interface PositionOption {
  readonly at?: number | undefined
}

/**
 * What reads a conversation as of now. One that has not begun has nothing that waits and no turn to end (`waiting`, `queued`, `cancel`);
 * it has no history either, so what would show one fails with `ConversationNotFound`, whose message names the nearest id.
 */
export interface ConversationReader<W extends ResultStyle = 'task'> {
  /**
   * Tells if the conversation has begun: the first append, import or fork does that. Errors: `ConversationNotFound` only
   * of what a fork was made of.
   *
   * @example
   * if (await chat.exists()) console.log(await chat.position())
   */
  readonly exists: () => Read<W, boolean>
  /**
   * The last position. Errors: `ConversationNotFound`.
   *
   * @example
   * const after = await chat.position()
   */
  readonly position: () => Read<W, number>
  /**
   * The last position and the hash of the event there, which chains all before it: whoever has noted it can tell later that nothing before it
   * was changed. Reads one event. Errors: `ConversationNotFound`.
   *
   * @example
   * const { position, hash } = await chat.end()
   */
  readonly end: () => Read<W, EndPosition>
  /**
   * The effective history: the messages, summaries and truncations that the model sees, in the order in which it sees them. Reads what
   * it shows, however long the log is. Errors: `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * for (const item of await chat.effective({ at: 3 })) console.log(item.position, item.kind)
   */
  readonly effective: (options?: PositionOption) => Read<W, readonly Item[]>
  /**
   * The context: the effective history with all else that a request is made of. What `render`, `countTokens` and `manageContext` of
   * `palimpsest/core` and `palimpsest/fp` take. Errors: `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * const { at, items, outline } = await chat.context()
   * console.log(at, items.length, outline.configuration?.model)
   */
  readonly context: (options?: PositionOption) => Read<W, Effective>
  /**
   * Every message and marker of the path, by position, each with what became of it; with `abandoned` (default false) also those of
   * abandoned branches, and with `notes` (default false) the notes and links, each after what has the position at which it was noted, or a
   * lower one. With `last` it reads those newest entries and what comes after them, else the whole log. Errors: `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * const entries = await chat.full({ abandoned: true })
   * console.log(entries.filter(({ status }) => status !== 'active').length, 'are not shown')
   */
  readonly full: FullReader<W>
  /**
   * What the model sees, as a request that the Messages API accepts, with each departure from what is stored in `repairs`. Errors:
   * `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * const { system, messages, awaits, repairs } = await chat.render({ cache: '1h' })
   */
  readonly render: (options?: PositionOption & RenderOptions) => Read<W, RenderResult>
  /**
   * How what the model sees at `to` (default: the last position) differs from what it saw at `from`; either may be the later one.
   * Reads the whole log. Errors: `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * const { changes } = await chat.diff({ from: 3 })
   */
  readonly diff: (options: DiffOptions) => Read<W, Diff>
  /**
   * Every event through `at`, by position, each with its place in the tree of branches. Reads the whole log. Errors: `OutOfRange`,
   * `ConversationNotFound`.
   *
   * @example
   * for (const { event, branch, onPath } of await chat.timeline()) console.log(event.position, branch, onPath)
   */
  readonly timeline: (options?: PositionOption) => Read<W, readonly TimelineEntry[]>
  /**
   * Recomputes the hash chain and every view, and looks at the database's file as a whole. A difference in the conversation is an
   * answer; a damaged file is the error `StoreCorrupt`, as nobody knows then what a read leaves out. Errors: `ConversationNotFound`.
   *
   * @example
   * const { events, discrepancy } = await chat.verify()
   * console.log(discrepancy ?? `${events} events are as they were written`)
   */
  readonly verify: (options?: VerifyOptions) => Read<W, VerificationReport>
}

/** Where a conversation ends. */
export interface EndPosition {
  /** The last position. */
  readonly position: number
  /** SHA-256 of the event there as it is stored, in hex: `prev` of the next one. */
  readonly hash: string
}

/** Which entries of a full history to give, and whether with the notes and links. */
export interface FullWithNotes extends FullOptions {
  readonly notes?: boolean | undefined
}
/** Which entries of a full history to give, without the notes and links. */
export interface FullWithoutNotes extends FullOptions {
  readonly notes?: false | undefined
}
export type { Entry }
export type FullEntries = readonly (Entry | NoteEntry)[]
/** Reads the full history; `notes`: with the notes and links, each after what has the position at which it was noted, or a lower one. */
export interface FullReader<W extends ResultStyle = 'task'> {
  (options?: FullWithoutNotes): Read<W, readonly Entry[]>
  (options: FullWithNotes): Read<W, FullEntries>
}

/** Two positions to compare. */
export interface DiffOptions {
  readonly from: number
  readonly to?: number | undefined
}

export interface VerifyOptions {
  /** Also look at the file, all of it, as `check` of the store does. Default true; false spares that where many are verified. */
  readonly file?: boolean | undefined
}
