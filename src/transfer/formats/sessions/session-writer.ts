import * as E from 'fp-ts/lib/Either.js'
import type { OriginalFile } from '../../../conversation/reading/original.ts'
import { type Fields, isFields } from '../../../events/json.ts'
import type { Effective } from '../../../projections/effective.ts'
import { parseJson } from '../source.ts'
import { type Lose, lossesOf, type SessionLoss } from './session-loss.ts'
import type { SessionView, ViewMessage } from './session-view.ts'

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
  /** Way in which the session was made: rendered, or copied from the file of the program itself. */
  readonly way: 'rendered' | 'verbatim'
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

/** Turns lines of a session into a session of the same program with a new id. */
export interface CopySession {
  /** Returns a line of the copy. Everything but the id stays, because the program's own ids join the lines. */
  readonly lineOf: (line: string, index: number, target: SessionTarget) => string
  /**
   * Returns the ids of the entries that the program shows the model when it reads these lines again. Absent if it shows the model all
   * that it once did.
   */
  readonly idsRead?: (lines: readonly string[]) => ReadonlySet<string>
  /** True to copy also the lines up to the next message: they say which parts of its environment the program has told the model. */
  readonly copiesRest?: true
}

/** Finds the lines of a session's file after which its program showed the model a history. */
export type FindLines = (
  file: OriginalFile,
  shown: Effective,
  copy: CopySession,
) => Promise<readonly string[] | undefined>

/** Writes sessions of one program. */
export interface SessionWriter {
  readonly write: WriteSession
  /** Absent if the program's sessions have no lines. */
  readonly copy?: CopySession
  /** Type of the blocks that only this program's API knows. They are written as they are. */
  readonly ownBlock?: string
}

/**
 * Makes a writer from a function that yields the entries of a session. The entries are made twice, first for their losses, so that
 * these are known before anything is written.
 */
export const linesWriter = (
  pathOf: (target: SessionTarget) => string,
  entriesOf: (messages: readonly ViewMessage[], target: SessionTarget, lose: Lose) => Iterable<object>,
  copy: CopySession,
): SessionWriter => ({
  write: (view, target) => ({
    way: 'rendered',
    id: target.id,
    path: pathOf(target),
    lines: jsonLines(entriesOf(view.messages, target, () => undefined)),
    lost: [...view.lost, ...lossesOf((lose) => entriesOf(view.messages, target, lose))],
  }),
  copy,
})

/** Returns a line with other fields. */
export const withFields = (line: string, change: (entry: Fields) => Fields): string =>
  JSON.stringify(change(fieldsIn(line)))

/** Returns the fields of a line; none if it is not an object. */
export const fieldsIn = (line: string): Fields => {
  const parsed = parseJson(line)
  return E.isRight(parsed) && isFields(parsed.right) ? parsed.right : {}
}

function* jsonLines(entries: Iterable<object>): Generator<string> {
  for (const entry of entries) yield `${JSON.stringify(entry)}\n`
}
