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

/** The position to read at; -1 means before the first event. Default: the last position. */
export interface PositionOption {
  readonly at?: number | undefined
}

/**
 * Methods that read a conversation as of now. A conversation that does not exist yet has no waiting messages and no turn to end
 * (`waiting`, `queued`, `cancel`). Reading its history fails with `ConversationNotFound`, whose message suggests the nearest id.
 */
export interface ConversationReader<W extends ResultStyle = 'task'> {
  /**
   * Reports whether the conversation exists, that is, whether an append, an import or a fork has created it. Errors:
   * `ConversationNotFound`, only if the parent of a fork is missing.
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
   * Returns the last position and the hash of its event, which chains all events before it. A caller that stores the hash can later
   * prove that none of these events was changed. Reads one event. Errors: `ConversationNotFound`.
   *
   * @example
   * const { position, hash } = await chat.end()
   */
  readonly end: () => Read<W, EndPosition>
  /**
   * Returns the effective history: the messages, summaries and truncations that the model sees, in order. Reads only these items,
   * however long the log is. Errors: `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * for (const item of await chat.effective({ at: 3 })) console.log(item.position, item.kind)
   */
  readonly effective: (options?: PositionOption) => Read<W, readonly Item[]>
  /**
   * Returns the context: the effective history and everything else that goes into a request. It is the input of `render`, `countTokens`
   * and `manageContext` in `palimpsest/core` and `palimpsest/fp`. Errors: `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * const { at, items, layout } = await chat.context()
   * console.log(at, items.length, layout.configuration?.model)
   */
  readonly context: (options?: PositionOption) => Read<W, Effective>
  /**
   * Returns every message and marker on the path, by position, each with its status. With `abandoned` (default false), includes
   * abandoned branches. With `notes` (default false), includes notes and links, each after the entries at or before the position at
   * which it was recorded. With `last`, returns that many of the newest entries and reads only these and the events after them;
   * otherwise reads the whole log. Errors: `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * const entries = await chat.full({ abandoned: true })
   * console.log(entries.filter(({ status }) => status !== 'active').length, 'are not shown')
   */
  readonly full: FullReader<W>
  /**
   * Returns the context as a request that the Messages API accepts. `repairs` lists each difference from the stored content. Errors:
   * `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * const { system, messages, awaits, repairs } = await chat.render({ cache: '1h' })
   */
  readonly render: (options?: PositionOption & RenderOptions) => Read<W, RenderResult>
  /**
   * Compares the context at `to` (default: the last position) with the context at `from`; either position may be the later one. Reads
   * both effective histories and the events from the first item that is no longer shown. Errors: `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * const { changes } = await chat.diff({ from: 3 })
   */
  readonly diff: (options: DiffOptions) => Read<W, Diff>
  /**
   * Returns every event up to and including `at`, by position, each with its place in the tree of branches. Reads the whole log.
   * Errors: `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * for (const { event, branch, onPath } of await chat.timeline()) console.log(event.position, branch, onPath)
   */
  readonly timeline: (options?: PositionOption) => Read<W, readonly TimelineEntry[]>
  /**
   * Recomputes the hash chain, for a fork also the chain of its inherited events, and every view, and checks the whole database file. A discrepancy in the conversation is part of the
   * result. A damaged file is the error `StoreCorrupt`, because reads may then be incomplete. Errors: `ConversationNotFound`.
   *
   * @example
   * const { events, discrepancy } = await chat.verify()
   * console.log(discrepancy ?? `${events} events are as they were written`)
   */
  readonly verify: (options?: VerifyOptions) => Read<W, VerificationReport>
}

/** The last position of a conversation and the hash of its event. */
export interface EndPosition {
  /** Last position of the conversation. */
  readonly position: number
  /** SHA-256 of the stored event at that position, in hex. The next event contains it as `prev`. */
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
 * Reads the full history. With `notes`, includes notes and links, each after the entries at or before the position at which it was
 * recorded.
 */
export interface FullReader<W extends ResultStyle = 'task'> {
  (options?: FullWithoutNotes): Read<W, readonly Entry[]>
  (options: FullWithNotes): Read<W, FullEntries>
}

/** The two positions to compare. */
export interface DiffOptions {
  readonly from: number
  readonly to?: number | undefined
}

export interface VerifyOptions {
  /**
   * True to check the whole file as well, like the store's `check`. Default true; set it to false when verifying many conversations.
   */
  readonly file?: boolean | undefined
  /**
   * True to verify the events that a fork inherited as well. Default true; set it to false when verifying all conversations, because the
   * events are then verified with the parent.
   */
  readonly inherited?: boolean | undefined
}
