import type { FailedCall } from '../../models/model.ts'

/** The model gave no summary that could stand for what it was asked to summarize. Nothing was written. */
export interface SummaryFailed {
  readonly _tag: 'SummaryFailed'
  readonly message: string
  /**
   * The reply's stop reason, where that says that the reply is not whole; `blank`: nothing in it is visible; `invalid`: what the
   * summarizer gave is no summary; `too_large`: what is to be summarized fits into no request; `threw`: the summarizer threw `cause`.
   */
  readonly reason: string
  /** The calls that were made in vain. */
  readonly failed?: readonly FailedCall[]
  readonly cause?: unknown
}

export const summaryFailed = (reason: string, message: string, cause?: unknown): SummaryFailed => ({
  _tag: 'SummaryFailed',
  message,
  reason,
  ...(cause !== undefined && { cause }),
})
