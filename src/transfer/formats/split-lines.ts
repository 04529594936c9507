import { constants, isUtf8 } from 'node:buffer'
import type { FileLine, LineReader, ImportNotes } from './source.ts'

/** A receiver of the bytes of a file in pieces, which may be split anywhere. */
export interface Splitter {
  readonly push: (piece: Uint8Array) => void
  readonly finish: () => void
  /** Reports whether the last line has no newline yet. */
  readonly isWithin: () => boolean
}

const newline = 0x0a

/**
 * Splits a UTF-8 file into lines. Invalid bytes become U+FFFD; a note names the first affected line.
 *
 * @param longest maximum length of a line in bytes; default: the maximum length of a string. A longer line is reported as bad
 */
export const splitLines = (
  { read }: Pick<LineReader<unknown>, 'read'>,
  notes: ImportNotes,
  longest: number = constants.MAX_STRING_LENGTH,
): Splitter => {
  let line = 1
  let pieces: Uint8Array[] = []
  let length = 0
  let isNoted = false

  const add = (piece: Uint8Array): void => {
    length += piece.length
    if (length > longest) pieces = []
    else if (piece.length > 0) pieces.push(piece)
  }
  const textOf = (): string => {
    const [only] = pieces
    const bytes = only && pieces.length === 1 ? only : Buffer.concat(pieces)
    if (!isNoted && !isUtf8(bytes)) {
      isNoted = true
      notes.note(`bytes that are not UTF-8 (first on line ${line}) are read as U+FFFD`)
    }
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')
  }
  const end = (isOpen = false): void => {
    const next: FileLine = { line, text: length > longest ? '' : textOf(), ...(isOpen && { isOpen }) }
    if (length > longest) notes.bad(line, `longer than ${longest} bytes`)
    read(next)
    pieces = []
    length = 0
    line++
  }
  const push = (piece: Uint8Array): void => {
    let start = 0
    for (let at = piece.indexOf(newline); at >= 0; at = piece.indexOf(newline, start)) {
      add(piece.subarray(start, at))
      end()
      start = at + 1
    }
    add(piece.subarray(start))
  }
  const finish = (): void => {
    if (length > 0) end(true)
  }
  return { push, finish, isWithin: () => length > 0 }
}
