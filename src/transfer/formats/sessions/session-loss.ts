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

/** Reports a loss at a position. */
export type Lose = (kind: LossKind, position: number, detail: string) => void

/** Returns the losses that are reported while entries are made. */
export const lossesOf = (entries: (lose: Lose) => Iterable<unknown>): readonly SessionLoss[] => {
  const lost: SessionLoss[] = []
  for (const _ of entries((kind, position, detail) => lost.push({ kind, position, detail }))) continue
  return lost
}
