import type { DatabaseSync } from 'node:sqlite'
import { fold } from '../projections/excerpts.ts'
import { indexable } from './texts.ts'

/** Texts from a range of a conversation's positions that are not written to the index yet. */
interface Pending {
  readonly thread: number
  readonly first: number
  last: number
  readonly texts: string[]
  length: number
}

/** Writer of the full-text index. */
export interface Words {
  /** Adds the texts of an event. The events of a conversation must be added in order. */
  readonly add: (thread: number, position: number, texts: readonly string[]) => void
  /** Writes all added texts to the index. */
  readonly write: () => void
  /** Drops additions of a rolled-back transaction. */
  readonly forget: () => void
}

/**
 * Minimum length of a document written to the index, in characters; documents written at the end of a transaction may be shorter.
 * Consecutive events of a conversation share a document. This takes half the space of one document per event, because a trigram is
 * recorded once per document.
 */
const documentLength = 8_192

export const wordsIn = (db: DatabaseSync): Words => {
  const sql = {
    doc: db.prepare('INSERT INTO docs (thread, first, last) VALUES (?, ?, ?)'),
    words: db.prepare('INSERT INTO words (rowid, text) VALUES (?, ?)'),
  }
  const pending = new Map<number, Pending>()

  const writeOne = ({ thread, first, last, texts }: Pending): void => {
    pending.delete(thread)
    const { lastInsertRowid: doc } = sql.doc.run(thread, first, last)
    sql.words.run(doc, indexable(fold(texts.join('\n'))))
  }

  return {
    add: (thread, position, texts) => {
      if (texts.length === 0) return
      const open = pending.get(thread) ?? { thread, first: position, last: position, texts: [], length: 0 }
      pending.set(thread, open)
      open.last = position
      for (const text of texts) {
        open.texts.push(text)
        open.length += text.length
      }
      if (open.length >= documentLength) writeOne(open)
    },
    write: () => {
      for (const one of pending.values()) writeOne(one)
    },
    forget: () => pending.clear(),
  }
}
