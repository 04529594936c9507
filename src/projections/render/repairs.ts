/** Kind of a repair, that is, of a difference between a history and the request that `render` makes from it. */
export type RepairKind =
  /** A tool_result was left out: no open call with its id comes before it (the call is hidden or already answered). */
  | 'result-dropped'
  /** A result was shown as text of a user message, because its call already has an error result. */
  | 'result-as-text'
  /** An error result was added to a call without a result. */
  | 'call-answered'
  /** Tool results were moved before the other content of their message. */
  | 'results-moved'
  /** A tool_use id was replaced in the call and its result, because it was a duplicate or had characters that the API refuses. */
  | 'id-replaced'
  /** A tool input that is not an object was wrapped in one. */
  | 'input-wrapped'
  /** A server tool use without its result in the same turn, or a result without its use, was left out. */
  | 'server-tool-dropped'
  /**
   * Thinking was left out: the content before it has changed since, its message is incomplete or ends with it, or it has no signature.
   */
  | 'thinking-dropped'
  /** A text without a visible character was left out. */
  | 'blank-dropped'
  /** A block was left out because its type is not allowed in that place. */
  | 'block-dropped'
  /** An image or document was replaced by text, because the API would refuse it or the request already has the maximum number. */
  | 'media-replaced'
  /** The media type of an image was set to match its bytes, or its data was reduced to plain base64. */
  | 'source-corrected'
  /** A message was left out because no block of it remained. */
  | 'message-dropped'
  /**
   * A message was joined to an earlier message of the same role: to the preceding message or, because of a late result, to a message of
   * the same round.
   */
  | 'roles-merged'
  /** A system message between other messages was shown as text of a user message. */
  | 'system-folded'
  /** A system message without content was sent later, because no message may come between a call and its result or in a paused reply. */
  | 'system-moved'
  /** A message was inserted: roles must alternate, and the first must be `user`. */
  | 'message-inserted'
  /** A field was left out because it is not allowed in that place. */
  | 'field-dropped'
  /** A lone UTF-16 surrogate was replaced by U+FFFD. */
  | 'surrogate-replaced'
  /** A cache breakpoint was left out because the request had more than four, or because a shorter-lived breakpoint came before it. */
  | 'cache-control-dropped'
  /** Content replaced by a server-side compaction was left out, or a compaction block without effect was left out. */
  | 'compaction-applied'
  /** Trailing white space of a prefill or a paused turn was removed. */
  | 'whitespace-trimmed'
  /** Definitions of tools that are no longer configured were sent, because calls of these tools are shown. */
  | 'tools-recalled'
  /** Calls were shown without any tool definition: either no definition is known, or thinking produced without tools forbids them. */
  | 'tools-unknown'
  /** The beginning of the history was left out: a request holds at most 100,000 messages. */
  | 'history-cut'

/** A difference between a request and the stored history. */
export interface Repair {
  readonly kind: RepairKind
  /** Position of the event whose content differs; for a cache breakpoint, position of the first event in the message. */
  readonly position: number
  /** Description of the change. */
  readonly detail: string
}

export type Report = (kind: RepairKind, position: number, detail: string) => void
