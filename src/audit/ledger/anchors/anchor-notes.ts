import { hash } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import { readCheckpoint } from '../checkpoints.ts'

/** A short name of an origin, for files and streams. */
export const originName = (origin: string): string => hash('sha256', origin).slice(0, 16)

/** Splits a file of notes separated by empty lines into notes; a text between them is returned as if it were one. */
export const notesIn = (text: string): readonly string[] =>
  text
    .split(/(?<=^— .*\n)\n/mu)
    .flatMap((note) => {
      // A checkpoint is a paragraph, and its signatures another: what is before them was cut off.
      const paragraphs = note.split(/\n{2,}/)
      return [paragraphs.slice(0, -2), paragraphs.slice(-2)].map((each) => each.join('\n\n'))
    })
    .filter((note) => note.trim() !== '')

/** Returns the text to append to such a file so that the note follows the others. */
export const nextNote = (text: string, note: string): string => {
  if (text === '') return note
  return text.endsWith('\n') ? `\n${note}` : `\n\n${note}`
}

/** Returns the notes that are checkpoints of this origin, and those that are not checkpoints at all. */
export const ofOrigin = (notes: readonly string[], origin: string): readonly string[] =>
  notes.filter((note) => (originIn(note) ?? origin) === origin)

export const isCheckpoint = (note: string): boolean => originIn(note) !== undefined

const originIn = (source: string): string | undefined => {
  const read = readCheckpoint(source)
  return E.isRight(read) ? read.right.checkpoint.origin : undefined
}
