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

/** The position to read at; -1 is before the first event. Default: the last position. */
export interface PositionOption {
  readonly at?: number | undefined
}

/**
 * Reads a conversation as of now. One that has not begun has no messages waiting and no turn to end (`waiting`, `queued`, `cancel`). It
 * has no history either: reading it fails with `ConversationNotFound`, whose message suggests the nearest id.
 */
export interface ConversationReader<W extends ResultStyle = 'task'> {
  /**
   * Reports whether the conversation has begun, that is, after its first append, import or fork. Errors: `ConversationNotFound`, only
   * for a missing parent of a fork.
   *
   * @example
   * if (await chat.exists()) console.log(await chat.position())
   */
  readonly exists: () => Read<W, boolean>
  /**
   * Returns the last position. Errors: `ConversationNotFound`.
   *
   * @example
   * const after = await chat.position()
   */
  readonly position: () => Read<W, number>
  /**
   * Returns the last position and the hash of its event, which chains all events before it: a caller that notes it can later prove that
   * none of them was changed. Reads one event. Errors: `ConversationNotFound`.
   *
   * @example
   * const { position, hash } = await chat.end()
   */
  readonly end: () => Read<W, EndPosition>
  /**
   * Returns the effective history: the messages, summaries and truncations that the model sees, in that order. Reads only what is
   * shown, however long the log is. Errors: `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * for (const item of await chat.effective({ at: 3 })) console.log(item.position, item.kind)
   */
  readonly effective: (options?: PositionOption) => Read<W, readonly Item[]>
  /**
   * Returns the context: the effective history with everything else that goes into a request. It is the input of `render`,
   * `countTokens` and `manageContext` in `palimpsest/core` and `palimpsest/fp`. Errors: `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * const { at, items, outline } = await chat.context()
   * console.log(at, items.length, outline.configuration?.model)
   */
  readonly context: (options?: PositionOption) => Read<W, Effective>
  /**
   * Returns every message and marker on the path, by position, each with its status. With `abandoned` (default false) it includes
   * abandoned branches; with `notes` (default false), notes and links, each after the entries at or before the position at which it was
   * noted. With `last` it reads those newest entries and what comes after them, otherwise the whole log. Errors: `OutOfRange`,
   * `ConversationNotFound`.
   *
   * @example
   * const entries = await chat.full({ abandoned: true })
   * console.log(entries.filter(({ status }) => status !== 'active').length, 'are not shown')
   */
  readonly full: FullReader<W>
  /**
   * Returns what the model sees, as a request that the Messages API accepts. `repairs` lists each departure from what is stored.
   * Errors: `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * const { system, messages, awaits, repairs } = await chat.render({ cache: '1h' })
   */
  readonly render: (options?: PositionOption & RenderOptions) => Read<W, RenderResult>
  /**
   * Compares what the model sees at `to` (default: the last position) with what it saw at `from`; either may be the later one. Reads
   * the whole log. Errors: `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * const { changes } = await chat.diff({ from: 3 })
   */
  readonly diff: (options: DiffOptions) => Read<W, Diff>
  /**
   * Returns every event through `at`, by position, each with its place in the tree of branches. Reads the whole log. Errors:
   * `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * for (const { event, branch, onPath } of await chat.timeline()) console.log(event.position, branch, onPath)
   */
  readonly timeline: (options?: PositionOption) => Read<W, readonly TimelineEntry[]>
  /**
   * Recomputes the hash chain and every view, and checks the whole database file. A difference in the conversation is reported in the
   * result; a damaged file is the error `StoreCorrupt`, as reads may then be incomplete. Errors: `ConversationNotFound`.
   *
   * @example
   * const { events, discrepancy } = await chat.verify()
   * console.log(discrepancy ?? `${events} events are as they were written`)
   */
  readonly verify: (options?: VerifyOptions) => Read<W, VerificationReport>
}

/** The end of a conversation. */
export interface EndPosition {
  /** The last position. */
  readonly position: number
  /** SHA-256 of the event there as stored, in hex: `prev` of the next event. */
  readonly hash: string
}

/** Options for reading a full history, optionally with notes and links. */
export interface FullWithNotes extends FullOptions {
  readonly notes?: boolean | undefined
}
/** Options for reading a full history without notes and links. */
export interface FullWithoutNotes extends FullOptions {
  readonly notes?: false | undefined
}
export type { Entry }
export type FullEntries = readonly (Entry | NoteEntry)[]
/**
 * Reads the full history. With `notes`, it includes notes and links, each after the entries at or before the position at which it was
 * noted.
 */
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
  /** Also check the whole file, like the store's `check`. Default true; set it to false when verifying many conversations. */
  readonly file?: boolean | undefined
}
