import type { SessionView, ViewMessage } from './session-view.ts'

/** Kind of what a session file cannot hold. */
export type LossKind =
  /** The system prompt and tools in force: the client uses its own. */
  | 'configuration'
  /** A system message that the client shows as a reminder in a message of the user. */
  | 'system-message'
  /** Thinking that is left out: it is invalid there, or the client cannot hold it. */
  | 'thinking'
  /** An image or document for which a text stands. */
  | 'media'
  /** A block that is left out, or a field of one. */
  | 'left-out'
  /** A tool result that the client cuts when it reads the file. */
  | 'output-cut'
  /** A tool that the client renames when it reads the file. */
  | 'tool-renamed'
  /** Content that was erased: the mark in its place is what the client gets. */
  | 'erased'
  /** Content that is withheld from the export: the mark in its place is what the client gets. */
  | 'withheld'

/** Something that a session file cannot hold, with the position of its event. */
export interface SessionLoss {
  readonly kind: LossKind
  readonly position: number
  readonly detail: string
}

/** The session to write. */
export interface SessionTarget {
  /** Id of the new session, a UUID. A session that may be open is never written to. */
  readonly id: string
  /** Absolute path of the folder in which the client will run. */
  readonly cwd: string
  /** Time at which the session begins, ISO 8601 in UTC. */
  readonly time: string
}

/** A session as a file of another program. */
export interface WrittenSession {
  /** Way in which the session was made. A later version may also copy the program's own lines (`verbatim`). */
  readonly way: 'rendered'
  /** Id of the session for its program. */
  readonly id: string
  /** Path of the file below the client's home folder, with `/` as separator. */
  readonly path: string
  /** Pieces of the file, made as they are read. */
  readonly lines: Iterable<string>
  readonly lost: readonly SessionLoss[]
}

/** Writes a view as a session of another program. */
export type WriteSession = (view: SessionView, target: SessionTarget) => WrittenSession

/** Reports a loss at a position. */
export type Lose = (kind: LossKind, position: number, detail: string) => void

/**
 * Makes a writer from a function that yields the entries of a session. The entries are made twice, first for their losses, so that
 * these are known before anything is written.
 */
export const linesWriter =
  (
    pathOf: (target: SessionTarget) => string,
    entriesOf: (messages: readonly ViewMessage[], target: SessionTarget, lose: Lose) => Iterable<object>,
  ): WriteSession =>
  (view, target) => ({
    way: 'rendered',
    id: target.id,
    path: pathOf(target),
    lines: jsonLines(entriesOf(view.messages, target, () => undefined)),
    lost: [...view.lost, ...lossesOf((lose) => entriesOf(view.messages, target, lose))],
  })

function* jsonLines(entries: Iterable<object>): Generator<string> {
  for (const entry of entries) yield `${JSON.stringify(entry)}\n`
}

/** Returns the losses that are reported while entries are made. */
export const lossesOf = (entries: (lose: Lose) => Iterable<unknown>): readonly SessionLoss[] => {
  const lost: SessionLoss[] = []
  for (const _ of entries((kind, position, detail) => lost.push({ kind, position, detail }))) continue
  return lost
}
