import { isToolCall, isToolResult, itemBlocks } from './kinds.ts'
import type { HistoryRow } from './rows.ts'

// Calls and their results, which are different events: where the result of each call is, and the other way round.

/** Call of a tool, with its result if that is loaded. */
export interface CallOutcome {
  /** Position of the reply that calls the tool; undefined if it is not loaded. */
  readonly call?: number
  /** Position of the result, and true if it is an error. */
  readonly result?: number
  readonly isError?: boolean
}

/** Returns the calls and results in the rows, by call id. */
export const outcomesIn = (rows: readonly HistoryRow[]): ReadonlyMap<string, CallOutcome> => {
  const outcomes = new Map<string, CallOutcome>()
  const update = (call: unknown, change: CallOutcome): void => {
    outcomes.set(String(call), { ...outcomes.get(String(call)), ...change })
  }
  for (const row of rows) {
    const item = 'item' in row ? row.item : 'entry' in row ? row.entry : undefined
    for (const block of item ? itemBlocks(item) : [])
      if (isToolCall(block)) update(block['id'], { call: row.position })
      else if (isToolResult(block))
        update(block['tool_use_id'], { result: row.position, isError: block['is_error'] === true })
  }
  return outcomes
}

/** Reports whether a row has only results, all of them of calls in the row before. */
export const isOutcomeOf = (before: HistoryRow | undefined, row: HistoryRow): boolean => {
  if (before?.kind !== row.kind || (row.kind !== 'same' && row.kind !== 'hidden' && row.kind !== 'abandoned'))
    return false
  const blocks = itemBlocks('item' in row ? row.item : row.entry)
  const calls = itemBlocks('item' in before ? before.item : 'entry' in before ? before.entry : undefined)
  return (
    blocks.length > 0 &&
    blocks.every(
      (block) =>
        isToolResult(block) &&
        calls.some((call) => isToolCall(call) && String(call['id']) === String(block['tool_use_id'])),
    )
  )
}
