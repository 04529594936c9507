import { once } from 'node:events'
import type { Writable } from 'node:stream'
import pc from 'picocolors'
import { visibleJson } from '../formats/visible.ts'
import { paintLine, type Part } from './text.ts'

/** Where a command prints. */
export interface Output {
  /** A terminal gets colours, tables, headings, and lines cut to its width. */
  readonly isTerminal: boolean
  /** Columns of the terminal; Infinity for a pipe or a file. */
  readonly columns: number
  /** Writes a line; an empty one without parts. */
  readonly line: (...parts: readonly Part[]) => Promise<void>
  /** As `line`, for parts that may be too many to be arguments of a call: a message has any number of blocks. */
  readonly parts: (parts: readonly Part[]) => Promise<void>
  /** Writes a line that only a terminal gets: headings, hints. */
  readonly aside: (...parts: readonly Part[]) => Promise<void>
  /** Writes a value as JSON, on several lines if `isPretty` (by default, on a terminal). */
  readonly json: (value: unknown, isPretty?: boolean) => Promise<void>
  /** Writes a text as it is. Waits for a slow reader. */
  readonly text: (text: string) => Promise<void>
  /** Aborts when the reader has closed the pipe (`| head -1`). */
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
 * The output on a stream. What nobody reads any more goes nowhere.
 *
 * @param isAll there is nothing to do but to write: once nobody reads it, the next write throws the reason of `unread`
 */
export const outputOn = (stream: Screen, isAll = false): Output => {
  const { isTTY: isTerminal = false } = stream
  const colors = pc.createColors(isTerminal && pc.isColorSupported)
  const columns = isTerminal ? Math.max(narrowest, stream.columns ?? 80) : Infinity

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
  const line = (parts: readonly Part[]): Promise<void> => text(`${paintLine(parts, columns, colors)}\n`)
  return {
    isTerminal,
    columns,
    line: (...parts) => line(parts),
    parts: line,
    aside: async (...parts) => {
      if (isTerminal) await line(parts)
    },
    json: (value, isPretty = isTerminal) =>
      text(`${visibleJson(JSON.stringify(value, undefined, isPretty ? 2 : undefined))}\n`),
    text,
    unread,
  }
}

const isClosedPipe = (error: NodeJS.ErrnoException): boolean => error.code === 'EPIPE'

/** Exits with code 1 when writing fails. Whether anybody reads does not matter: work is finished, and a verdict stays what it is. */
export const endIfUnwritable = (stream: Writable): void => {
  stream.on('error', (error) => {
    if (isClosedPipe(error)) return
    process.stderr.write(`error: the output cannot be written (${error.message})\n`, () => process.exit(1))
  })
}
