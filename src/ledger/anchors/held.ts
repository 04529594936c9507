import { hash } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import { readCheckpoint } from '../checkpoints.ts'

/** A short name of an origin, for files and streams. */
export const originName = (origin: string): string => hash('sha256', origin).slice(0, 16)

/** The notes in a file that holds one after the other, an empty line between each two. */
export const notesIn = (text: string): readonly string[] =>
  text.split(/(?<=^— .*\n)\n/mu).filter((note) => note !== '')

/** A note as it follows others in such a file. */
export const nextNote = (text: string, note: string): string => (text === '' ? note : `\n${note}`)

/** The notes that are checkpoints of this origin. */
export const ofOrigin = (notes: readonly string[], origin: string): readonly string[] =>
  notes.filter((note) => originIn(note) === origin)

const originIn = (source: string): string | undefined => {
  const read = readCheckpoint(source)
  return E.isRight(read) ? read.right.checkpoint.origin : undefined
}
