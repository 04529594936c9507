import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { fileIn, inFile, requireThat } from './bundle-errors.ts'

/** Maximum number of bytes read at once. */
export const atOnce = 1024 * 1024

/**
 * Yields the lines of a file without their newlines. The file is read in chunks, because files larger than 2 GiB cannot be read whole.
 *
 * @param problem the error message if the last line has no newline
 */
export async function* linesIn(path: string, problem: string): AsyncGenerator<Buffer, void> {
  let pieces: Buffer[] = []
  // Each read allocates as much as it may return, and most files are small.
  const highWaterMark = Math.min((await stat(path)).size + 1, atOnce)
  for await (const chunk of createReadStream(path, { highWaterMark }) as AsyncIterable<Buffer>) {
    let from = 0
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      const line = chunk.subarray(from, end)
      yield pieces.length > 0 ? Buffer.concat([...pieces, line]) : line
      pieces = []
      from = end + 1
    }
    if (from < chunk.length) pieces.push(chunk.subarray(from))
  }
  requireThat(pieces.length === 0, problem)
}

/** Returns all lines of a bundle's file. */
export const linesOf = (folder: string, name: string): Promise<readonly Buffer[]> =>
  inFile(name, async () => {
    const path = await fileIn(folder, name)
    const lines: Buffer[] = []
    for await (const line of linesIn(path, `${name} ends in the middle of a line`)) lines.push(line)
    return lines
  })
