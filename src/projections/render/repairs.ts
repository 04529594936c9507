/** What render did to make a request from a history: one kind for each way in which the two differ. */
export type RepairKind =
  /** A tool_result without an open call of that id before it (its call is hidden, or already answered) left out. */
  | 'result-dropped'
  /** A result whose call has an error result already, shown as text of a user message. */
  | 'result-as-text'
  /** A call without a result given an error result. */
  | 'call-answered'
  /** Tool results moved before the other content of their message. */
  | 'results-moved'
  /** A tool_use id that is used twice or has characters that the API refuses replaced, in the call and in its result. */
  | 'id-replaced'
  /** A tool input that is not an object put into one. */
  | 'input-wrapped'
  /** A server tool use without its result in the same turn, or the other way round, left out. */
  | 'server-tool-dropped'
  /** Thinking left out: what comes before it has changed since, its message is not whole, it ends that, or it has no signature. */
  | 'thinking-dropped'
  /** A text without a visible character left out. */
  | 'blank-dropped'
  /** A block that its place does not allow left out. */
  | 'block-dropped'
  /** An image or a document replaced by a text: the API would refuse it, or has no room for more of them in a request. */
  | 'media-replaced'
  /** The media type of an image made what its bytes are, or its data made base64 alone. */
  | 'source-corrected'
  /** A message left out because no block of it remained. */
  | 'message-dropped'
  /** A message joined to an earlier one of the same role: the one before it, or one whose round a late result makes the same. */
  | 'roles-merged'
  /** A system message in the middle shown as text of a user message. */
  | 'system-folded'
  /** A message inserted, because roles must alternate and the first must be the user's. */
  | 'message-inserted'
  /** A field that its place does not allow left out. */
  | 'field-dropped'
  /** Half a character (a lone UTF-16 surrogate) replaced by U+FFFD. */
  | 'surrogate-replaced'
  /** A cache breakpoint beyond the four that are allowed, or a longer-lived one after a shorter, left out. */
  | 'cache-control-dropped'
  /** What a server-side compaction replaces left out, or a compaction block that replaces nothing. */
  | 'compaction-applied'
  /** White space at the end of a prefill, or of a paused turn, cut off. */
  | 'whitespace-trimmed'
  /** Tools defined that are no longer in force, as calls of them are shown. */
  | 'tools-recalled'
  /** Calls shown without the definition of any tool: none is known, or thinking that was produced without them forbids it. */
  | 'tools-unknown'
  /** The beginning left out, as a request holds 100,000 messages at most. */
  | 'history-cut'

/** One departure of the request from what is stored. */
export interface Repair {
  readonly kind: RepairKind
  /** Position of the event whose content differs; for a cache breakpoint, of the first event in its message. */
  readonly position: number
  /** What was done, in words. */
  readonly detail: string
}

/** Records a repair. */
export type Report = (kind: RepairKind, position: number, detail: string) => void
