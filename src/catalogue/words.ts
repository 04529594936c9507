import type { DatabaseSync } from 'node:sqlite'
import { fold } from '../projections/found.ts'
import { indexable } from './texts.ts'

/** Words of a stretch of a conversation, until they are written. */
interface Pending {
  readonly thread: number
  readonly first: number
  last: number
  readonly texts: string[]
  length: number
}

/** Writes the words of events. */
export interface Words {
  /** The texts of a conversation's events, in their order. */
  readonly add: (thread: number, position: number, texts: readonly string[]) => void
  /** Writes what was added. */
  readonly write: () => void
  /** Forgets what was added: its transaction was undone. */
  readonly forget: () => void
}

/**
 * Characters of a document of the index: events of a conversation that come together are one document, which takes half as much room as
 * one for each, since a trigram is noted once for each document.
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
