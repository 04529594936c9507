import { once } from 'node:events'
import type { Writable } from 'node:stream'
import pc from 'picocolors'
import { jsonPieces } from '../transfer/formats/json-pieces.ts'
import { visibleJson } from '../transfer/formats/visible.ts'
import { paintLine, type TextSpan } from './text.ts'

export interface Output {
  /** True if the output is a terminal. A terminal gets colours, tables, headings, and content cut to its width. */
  readonly isTerminal: boolean
  /** Width of the terminal in columns; Infinity for a pipe or a file, or if the width is unknown. */
  readonly columns: number
  /** Writes a line at full length, as users may copy from it. Without parts, writes an empty line. */
  readonly line: (...parts: readonly TextSpan[]) => Promise<void>
  /**
   * Writes a line of content, cut to the width of the terminal, or in any case to `most` columns. The parts are one array because a line
   * may have very many of them.
   */
  readonly parts: (parts: readonly TextSpan[], most?: number) => Promise<void>
  /** Writes a line, such as a heading or a hint, on terminals only. */
  readonly aside: (...parts: readonly TextSpan[]) => Promise<void>
  /** Writes a value as JSON. If `isPretty` is true, which is the default on a terminal, the JSON is spread over several lines. */
  readonly json: (value: unknown, isPretty?: boolean) => Promise<void>
  /** Writes a text or bytes unchanged. Resolves once a slow reader can take more. */
  readonly text: (text: string | Uint8Array) => Promise<void>
  /** Aborts when the reader closes the pipe, as `head -1` does. */
  readonly unread: AbortSignal
}

const narrowest = 40

/** A stream that may be a terminal, such as `process.stdout`. */
export type Screen = Writable & {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
}

/**
 * Makes an `Output` that writes to a stream. Once the reader has closed the stream, writes are dropped.
 *
 * @param isAll true if the command does nothing but write: once the reader has closed the stream, the next write throws the reason of
 * `unread`
 * @param env environment, whose `COLUMNS` overrides the width reported by the terminal
 */
export const outputOn = (
  stream: Screen,
  isAll = false,
  env: Readonly<Record<string, string | undefined>> = {},
): Output => {
  const { isTTY: isTerminal = false } = stream
  const colors = pc.createColors(isTerminal && pc.isColorSupported)
  // A terminal of unknown size reports 0.
  const known = [env['COLUMNS'], stream.columns]
    .map(Number)
    .find((each) => Number.isInteger(each) && each > 0)
  const columns = isTerminal && known !== undefined ? Math.max(narrowest, known) : Infinity

  const closed = new AbortController()
  const unread = closed.signal
  stream.on('error', (error) => isClosedPipe(error) && closed.abort())

  const text = async (written: string | Uint8Array): Promise<void> => {
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
    parts: (parts, most = Infinity) => line(parts, Math.min(columns, most)),
    aside: async (...parts) => {
      if (isTerminal) await line(parts)
    },
    json: async (value, isPretty = isTerminal) => {
      // A short value is written at once, together with its line end, because other code may write lines meanwhile.
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
 * Ends the process with exit code 1 if writing to the stream fails. If it fails because the reader has closed the pipe, the process
 * continues its work and the exit code stays unchanged.
 */
export const endIfUnwritable = (stream: Writable): void => {
  stream.on('error', (error) => {
    if (isClosedPipe(error)) return
    process.stderr.write(`error: the output cannot be written (${error.message})\n`, () => process.exit(1))
  })
}
