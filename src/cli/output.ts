import { once } from 'node:events'
import type { Writable } from 'node:stream'
import pc from 'picocolors'
import { jsonPieces } from '../transfer/formats/json-pieces.ts'
import { visibleJson } from '../transfer/formats/visible.ts'
import { paintLine, type TextSpan } from './text.ts'

/** The output of a command. */
export interface Output {
  /** True for a terminal, which gets colours, tables, headings, and content cut to its width. */
  readonly isTerminal: boolean
  /** Columns of the terminal; Infinity for a pipe or a file, or if unknown. */
  readonly columns: number
  /** Writes a line without cutting it, as users may copy from it. Without parts, writes an empty line. */
  readonly line: (...parts: readonly TextSpan[]) => Promise<void>
  /** Writes a line of content, cut to the width of a terminal, from an array of any length. */
  readonly parts: (parts: readonly TextSpan[]) => Promise<void>
  /** Writes a line on terminals only: headings, hints. */
  readonly aside: (...parts: readonly TextSpan[]) => Promise<void>
  /** Writes a value as JSON, on several lines if `isPretty` (by default, on a terminal). */
  readonly json: (value: unknown, isPretty?: boolean) => Promise<void>
  /** Writes a text unchanged. Waits for a slow reader. */
  readonly text: (text: string) => Promise<void>
  /** Aborts when the reader closes the pipe (`| head -1`). */
  readonly unread: AbortSignal
}

const narrowest = 40

/** A stream that may be a terminal: `process.stdout`. */
export type Screen = Writable & {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
}

/**
 * Returns the output on a stream. Once the reader has closed it, writes are dropped.
 *
 * @param isAll true if the command does nothing but write: once the reader has closed the stream, the next write throws the reason of `unread`
 * @param env its `COLUMNS` overrides the width reported by the terminal
 */
export const outputOn = (
  stream: Screen,
  isAll = false,
  env: Readonly<Record<string, string | undefined>> = {},
): Output => {
  const { isTTY: isTerminal = false } = stream
  const colors = pc.createColors(isTerminal && pc.isColorSupported)
  // A terminal without a size says 0.
  const known = [env['COLUMNS'], stream.columns]
    .map(Number)
    .find((each) => Number.isInteger(each) && each > 0)
  const columns = isTerminal && known !== undefined ? Math.max(narrowest, known) : Infinity

  const closed = new AbortController()
  const unread = closed.signal
  stream.on('error', (error) => isClosedPipe(error) && closed.abort())

  const text = async (written: string): Promise<void> => {
    if (isAll) unread.throwIfAborted()
    if (unread.aborted || stream.write(written)) return
    await once(stream, 'drain').catch((error: unknown) => {
      if (!unread.aborted) throw error
    })
  }
  const line = (parts: readonly TextSpan[], width = Infinity): Promise<void> =>
    text(`${paintLine(parts, width, colors)}\n`)
  return {
    isTerminal,
    columns,
    line: (...parts) => line(parts),
    parts: (parts) => line(parts, columns),
    aside: async (...parts) => {
      if (isTerminal) await line(parts)
    },
    json: async (value, isPretty = isTerminal) => {
      // What is short is written at once, with its line end: others may write lines meanwhile.
      let before = ''
      for (const piece of jsonPieces(value, isPretty)) {
        if (before !== '') await text(before)
        before = visibleJson(piece)
      }
      await text(`${before}\n`)
    },
    text,
    unread,
  }
}

const isClosedPipe = (error: NodeJS.ErrnoException): boolean => error.code === 'EPIPE'

/**
 * Exits with code 1 when writing fails, unless the reader has closed the pipe: then the work is finished, and the exit code stays as it
 * is.
 */
export const endIfUnwritable = (stream: Writable): void => {
  stream.on('error', (error) => {
    if (isClosedPipe(error)) return
    process.stderr.write(`error: the output cannot be written (${error.message})\n`, () => process.exit(1))
  })
}
