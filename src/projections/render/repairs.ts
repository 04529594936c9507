/** A repair that `render` made to turn a history into a request: one kind for each difference between the two. */
export type RepairKind =
  /** A tool_result was left out: no open call with its id comes before it (the call is hidden or already answered). */
  | 'result-dropped'
  /** A result was shown as text of a user message: its call already has an error result. */
  | 'result-as-text'
  /** An error result was added to a call without a result. */
  | 'call-answered'
  /** Tool results were moved before the other content of their message. */
  | 'results-moved'
  /** A tool_use id was replaced in the call and its result: it was a duplicate or had characters that the API refuses. */
  | 'id-replaced'
  /** A tool input that is not an object was wrapped in one. */
  | 'input-wrapped'
  /** A server tool use without its result in the same turn, or a result without its use, was left out. */
  | 'server-tool-dropped'
  /** Thinking was left out: what comes before it has changed since, its message is incomplete or ends with it, or it has no signature. */
  | 'thinking-dropped'
  /** A text without a visible character was left out. */
  | 'blank-dropped'
  /** A block not allowed in its place was left out. */
  | 'block-dropped'
  /** An image or document was replaced by text: the API would refuse it, or the request has no room for more. */
  | 'media-replaced'
  /** The media type of an image was set to match its bytes, or its data was reduced to plain base64. */
  | 'source-corrected'
  /** A message was left out because no block of it remained. */
  | 'message-dropped'
  /** A message was joined to an earlier one of the same role: the one before it, or one of the same round because of a late result. */
  | 'roles-merged'
  /** A system message in the middle was shown as text of a user message. */
  | 'system-folded'
  /** A message was inserted: roles must alternate, and the first must be `user`. */
  | 'message-inserted'
  /** A field not allowed in its place was left out. */
  | 'field-dropped'
  /** A lone UTF-16 surrogate was replaced by U+FFFD. */
  | 'surrogate-replaced'
  /** A cache breakpoint was left out: more than four, or a longer-lived one after a shorter-lived one. */
  | 'cache-control-dropped'
  /** Content replaced by a server-side compaction was left out, or a compaction block that replaces nothing. */
  | 'compaction-applied'
  /** Trailing white space of a prefill or a paused turn was removed. */
  | 'whitespace-trimmed'
  /** Tools that are no longer configured were defined, because calls of them are shown. */
  | 'tools-recalled'
  /** Calls were shown without any tool definition: either none is known, or thinking produced without tools forbids them. */
  | 'tools-unknown'
  /** The beginning was left out: a request holds at most 100,000 messages. */
  | 'history-cut'

/** A difference between the request and what is stored. */
export interface Repair {
  readonly kind: RepairKind
  /** Position of the event whose content differs; for a cache breakpoint, of the first event in its message. */
  readonly position: number
  /** The change in words. */
  readonly detail: string
}

/** Records a repair. */
export type Report = (kind: RepairKind, position: number, detail: string) => void
