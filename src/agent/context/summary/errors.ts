import type { FailedCall } from '../../models/model.ts'

/** Error: the summarizer produced no usable summary. Nothing was written. */
export interface SummaryFailed {
  readonly _tag: 'SummaryFailed'
  readonly message: string
  /**
   * Stop reason of an incomplete reply, or one of: `blank`, the summary has no visible content; `invalid`, the summarizer's result is
   * not a summary; `too_large`, the content to summarize does not fit into a request; `threw`, the summarizer threw `cause`.
   */
  readonly reason: string
  /** Failed calls to the model, if any. */
  readonly failed?: readonly FailedCall[]
  readonly cause?: unknown
}

export const summaryFailed = (reason: string, message: string, cause?: unknown): SummaryFailed => ({
  _tag: 'SummaryFailed',
  message,
  reason,
  ...(cause !== undefined && { cause }),
})
