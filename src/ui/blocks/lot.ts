import type { ApiPath } from '../../server/client/api-path.ts'
import type { ApiSource } from '../source/source.ts'
import { type Path, readerAt } from './reader-at.ts'

// Very long texts, read in pieces.

export interface Lot {
  readonly text: string
  readonly isWhole: boolean
}
/** Reads the next piece; resolves with the text read so far. */
export type ReadOn = () => Promise<Lot>

/** Length of a piece: in bytes if it is fetched, in characters if it is in memory. */
export const pieceLength = 1_000_000

/**
 * Returns a function that reads a value of a block in pieces. A string is read as its text, any other value as JSON; the JSON is
 * indented if it fits into one piece.
 *
 * @param path API path of the block as JSON
 */
export const createPieceReader = (
  source: ApiSource,
  path: ApiPath,
  value: Path,
  length = pieceLength,
): ReadOn => {
  const reader = readerAt(value)
  const decoder = new TextDecoder()
  let text = ''
  let from = 0
  let total = Infinity
  const readPiece = async (): Promise<void> => {
    const { blob, total: all } = await source.bytes(path, { from, to: from + length - 1 })
    from += blob.size
    total = blob.size === 0 ? from : all
    text += reader.take(decoder.decode(await blob.arrayBuffer(), { stream: true }))
  }
  return async () => {
    const before = text.length
    const isFirst = from === 0
    // Skips the part of the block before the value.
    do await readPiece()
    while (text.length === before && from < total && !reader.isDone())
    const isWhole = reader.isDone() || from >= total
    if (isFirst && isWhole && reader.isString() === false)
      text = JSON.stringify(JSON.parse(text), undefined, 2)
    return { text, isWhole }
  }
}

/** Returns the first `pieces` pieces of a text in memory, without splitting a character. */
export const piecesOf = (text: string, pieces: number, length = pieceLength): Lot => {
  const most = pieces * length
  if (text.length <= most) return { text, isWhole: true }
  const isParted = /[\uD800-\uDBFF]/.test(text[most - 1] ?? '')
  return { text: text.slice(0, isParted ? most - 1 : most), isWhole: false }
}
