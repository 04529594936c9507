import { hash } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import { readCheckpoint } from '../checkpoints.ts'

/** Returns a short name for an origin, used in file and stream names. */
export const originName = (origin: string): string => hash('sha256', origin).slice(0, 16)

/** Splits a text into notes separated by empty lines. Any other text between the notes is also returned as a note. */
export const notesIn = (text: string): readonly string[] =>
  text
    .split(/(?<=^— .*\n)\n/mu)
    .flatMap((note) => {
      // A note consists of two paragraphs, the checkpoint and its signatures. Earlier paragraphs are left over from a truncated note.
      const paragraphs = note.split(/\n{2,}/)
      return [paragraphs.slice(0, -2), paragraphs.slice(-2)].map((each) => each.join('\n\n'))
    })
    .filter((note) => note.trim() !== '')

/** Returns the text that appends a note to the text of a file of notes. */
export const nextNote = (text: string, note: string): string => {
  if (text === '') return note
  return text.endsWith('\n') ? `\n${note}` : `\n\n${note}`
}

/** Returns the checkpoints of this origin and the notes that are not checkpoints. */
export const ofOrigin = (notes: readonly string[], origin: string): readonly string[] =>
  notes.filter((note) => (originIn(note) ?? origin) === origin)

export const isCheckpoint = (note: string): boolean => originIn(note) !== undefined

const originIn = (source: string): string | undefined => {
  const read = readCheckpoint(source)
  return E.isRight(read) ? read.right.checkpoint.origin : undefined
}
