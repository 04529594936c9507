import type { FailedCall } from '../../models/model.ts'

/** The model returned no usable summary. Nothing was written. */
export interface SummaryFailed {
  readonly _tag: 'SummaryFailed'
  readonly message: string
  /**
   * The reply's stop reason, if the reply is incomplete; `blank`: it has no visible content; `invalid`: the summarizer's result is not
   * a summary; `too_large`: the content to summarize does not fit into a request; `threw`: the summarizer threw `cause`.
   */
  readonly reason: string
  /** The calls that failed. */
  readonly failed?: readonly FailedCall[]
  readonly cause?: unknown
}

export const summaryFailed = (reason: string, message: string, cause?: unknown): SummaryFailed => ({
  _tag: 'SummaryFailed',
  message,
  reason,
  ...(cause !== undefined && { cause }),
})
