import type { EventKind } from '../projections/columns.ts'
import { chunkLength, flags } from './columns.ts'
import { isMessage } from './facts.ts'
import type { ConversationCounts, KeptMark, ConversationTable } from './rows.ts'
import { isMarker } from './shown-segments.ts'
import { addKind, addMessages, addTally, noSum, type TokenSum, type SummedColumns } from './tally.ts'
import { placeIn, type ConversationBuffer, type ConversationRow } from './conversation-row.ts'
import { type MessageTokens, type TokenMeter, meterMessage, newMeter } from './meter.ts'
import type { ContextPast, CountedMessage } from './weave.ts'

/** Columns that the tokens of messages follow from. */
interface MessageColumns {
  readonly tokens: ArrayLike<number>
  readonly estimated: ArrayLike<number>
  readonly input: ArrayLike<number>
  readonly flags: ArrayLike<number>
}

/** Columns of a chunk, either read from the index or not written yet. */
interface ReadColumns extends SummedColumns, MessageColumns {
  readonly meter: () => TokenMeter
  readonly isCallAt: (index: number) => boolean
  readonly isFailedAt: (index: number) => boolean
  readonly isReplyAt: (index: number) => boolean
}

/** Number of chunks that are searched for the last reply with a usage. */
const mostExamined = 8

const messageIn = (
  { tokens, estimated, input, flags: marked }: MessageColumns,
  start: number,
  index: number,
): MessageTokens => {
  const has = (flag: number): boolean => ((marked[index] ?? 0) & flag) > 0
  const counted = input[index] ?? 0
  return {
    position: start + index,
    estimated: estimated[index] ?? 0,
    ...(counted > 0 && {
      input: counted,
      output: (tokens[index] ?? 0) - counted,
      isUnfinished: has(flags.unfinished),
    }),
    isInvalid: has(flags.invalid),
    thinks: has(flags.thinks),
    isPart: has(flags.part),
  }
}

/** Indexed past of a conversation before its next event. Only the requested parts are read. */
export interface ReadPast extends ContextPast {
  /** Returns the numbers of replies with a receipt, of messages and of errors up to and including a position. */
  readonly countsThrough: (position: number) => ConversationCounts
}

export const pastOf = (rows: ConversationTable, thread: ConversationBuffer): ReadPast => {
  const read = new Map<string, ReadColumns | undefined>()

  /**
   * Yields the rows of the lineage, from the row whose own events include the position back to the root, each with its last position in
   * this conversation.
   */
  function* threadsFrom(
    position: number,
  ): Generator<{ readonly row: ConversationRow; readonly last: number }, void> {
    let last = position
    for (let row: ConversationRow | undefined = thread.row; row;) {
      if (row.from <= last) yield { row, last }
      last = Math.min(last, row.from - 1)
      row = row.parent === null ? undefined : rows.byNumber(row.parent)
    }
  }
  const ownerOf = (position: number): ConversationRow | undefined => threadsFrom(position).next().value?.row

  const columnsIn = (row: ConversationRow, number: number): ReadColumns | undefined => {
    const pending = row.n === thread.row.n ? thread.chunks.get(number) : undefined
    if (pending) {
      const { kinds, flags: marked, own, tokens, estimated, input, tools, meter } = pending
      const kindAt = (index: number): EventKind => kinds[index] ?? '-'
      const hasAt = (flag: number) => (index: number) => ((marked[index] ?? 0) & flag) > 0
      const marks = {
        isCallAt: hasAt(flags.call),
        isFailedAt: hasAt(flags.failed),
        isReplyAt: hasAt(flags.reply),
      }
      const read_ = { own, tokens, estimated, input, flags: marked }
      return { ...read_, ...marks, tools: () => tools, meter: () => meter, kindAt }
    }
    const name = `${row.n} ${number}`
    if (!read.has(name)) {
      const [chunk] = rows.chunks(row, number, number)
      read.set(name, chunk && { ...chunk.columns, tools: chunk.tools, meter: chunk.meter })
    }
    return read.get(name)
  }
  const at = <A>(position: number, reading: (columns: ReadColumns, index: number) => A): A | undefined => {
    const row = ownerOf(position)
    if (!row) return undefined
    const { number, index } = placeIn(row, position)
    const columns = columnsIn(row, number)
    return columns && reading(columns, index)
  }

  const tokensAt = (position: number): number => at(position, ({ tokens }, index) => tokens[index]) ?? 0

  const markIn = (
    position: number,
  ): { readonly row: ConversationRow; readonly mark: KeptMark } | undefined => {
    for (const { row, last } of threadsFrom(position)) {
      const mark = rows.markThrough(row.n, last)
      if (mark) return { row, mark }
    }
    return undefined
  }
  const mark = (position: number): KeptMark | undefined => {
    const row = ownerOf(position)
    const found = row && rows.markThrough(row.n, position)
    return found?.position === position ? found : undefined
  }

  const addRun = (sum: TokenSum, first: number, last: number): void => {
    for (const { row, last: end } of threadsFrom(last)) {
      if (end < first) return
      const [begin, stop] = [placeIn(row, Math.max(first, row.from)), placeIn(row, end)]
      for (const one of [begin, stop].slice(begin.number === stop.number ? 1 : 0)) {
        const columns = columnsIn(row, one.number)
        const from = one.number === begin.number ? begin.index : 0
        const to = one.number === stop.number ? stop.index : chunkLength - 1
        if (columns) addMessages(sum, columns, from, to)
      }
      for (const whole of rows.sums(row.n, begin.number + 1, stop.number - 1)) {
        addTally(sum, whole)
        sum.tokens += whole.tokens
      }
    }
  }

  const meterAt = (position: number): TokenMeter => {
    const row = ownerOf(position)
    if (!row) return newMeter
    const { number, index } = placeIn(row, position)
    const columns = columnsIn(row, number)
    if (!columns) return newMeter
    const start = position - index
    const last = rows.markThrough(row.n, position)
    const isInChunk = last !== undefined && last.position >= start
    let meter = isInChunk ? last.meter() : columns.meter()
    for (let one = isInChunk ? last.position - start + 1 : 0; one <= index; one++)
      if (isMessage(columns.kindAt(one)))
        meter = meterMessage(
          meter,
          columns.tokens[one - 1] ?? tokensAt(start + one - 1),
          messageIn(columns, start, one),
        ).meter
    return meter
  }

  const lastReplyIn = (first: number, last: number): CountedMessage | undefined => {
    let examined = 0
    for (const { row, last: end } of threadsFrom(last)) {
      for (
        let { number, index } = placeIn(row, end);
        number >= 0 && examined < mostExamined;
        number--, examined++
      ) {
        const columns = columnsIn(row, number)
        const start = row.from + number * chunkLength
        for (; columns && index >= 0 && start + index >= first; index--)
          if ((columns.input[index] ?? 0) > 0) {
            let from = index
            while (from > 0 && ((columns.flags[from] ?? 0) & flags.part) > 0) from--
            return { position: start + index, from: start + from, input: columns.input[index] ?? 0 }
          }
        if (start <= first) return undefined
        index = chunkLength - 1
      }
    }
    return undefined
  }

  return {
    mark,
    markThrough: (position) => markIn(position)?.mark,
    shownAfter: ({ position }) => {
      const row = ownerOf(position)
      return row ? rows.shown(row.n, position) : []
    },
    isMessage: (position) => isMessage(at(position, (columns, index) => columns.kindAt(index)) ?? '-'),
    meterAt,
    lastReplyIn,
    tokensAt,
    sumOf: (segments) => {
      // Chunks that are not written yet have no stored sums.
      rows.writeChunks(thread)
      const sum = noSum()
      for (const segment of segments) {
        if (!isMarker(segment)) {
          addRun(sum, segment.first, segment.last)
          continue
        }
        const marker = mark(segment.marker)
        if (!marker) continue
        sum.tokens += marker.own
        addKind(sum, marker.kind)
        if (marker.hides) addTally(sum, marker.hides)
      }
      return sum
    },
    countsThrough: (position) => {
      let [calls, replies, messages, errors] = [0, 0, 0, 0]
      for (const { row, last } of threadsFrom(position)) {
        const { number, index } = placeIn(row, last)
        const before = rows.counts(row.n, number)
        const sum = noSum()
        const columns = columnsIn(row, number)
        if (columns) addMessages(sum, columns, 0, index)
        for (let one = 0; one <= index; one++) {
          if (columns?.isCallAt(one)) calls++
          if (columns?.isReplyAt(one)) replies++
          if (columns?.isFailedAt(one)) errors++
        }
        calls += before.calls
        replies += before.replies
        messages += before.messages + sum.messages
        errors += before.errors
      }
      return { calls, replies, messages, errors }
    },
  }
}
