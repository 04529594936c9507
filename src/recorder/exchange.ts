/** A call of a model by another program, as the recorder saw it. */
export interface ModelExchange {
  /** Id of the call, unique for ever. A call with the id of a recorded one is not recorded a second time. Default: a new one. */
  readonly id?: string | undefined
  /** True while the reply has not ended: the request is recorded now, and the call again, with the same id, once its reply has ended. */
  readonly isOpen?: boolean | undefined
  /** Path of the request's URL, without its query. */
  readonly path: string
  /** Headers of the request. All but those in `recordedHeaders` are ignored. */
  readonly headers: Readonly<Record<string, string>>
  /** Body of the request as it was sent. */
  readonly body: Uint8Array
  /** Time at which the request was sent, and time at which its reply had ended. */
  readonly begun: Date
  readonly ended: Date
  readonly reply: ExchangeReply
}

/** The reply to a request. */
export interface ExchangeReply {
  /** HTTP status; 0 if there was no reply. */
  readonly status: number
  /** Headers of the reply. All but those in `recordedHeaders` are ignored. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** True if the body ended as it should; false if the connection broke, the program went away, or the body was too large to keep. */
  readonly isWhole: boolean
}

/**
 * Names of the headers that a recorder reads, in lower case. Others may hold keys, so they are neither stored nor hashed.
 */
export const recordedHeaders = new Set([
  'anthropic-beta',
  'content-encoding',
  'content-type',
  'request-id',
  'session-id',
  'thread-id',
  'user-agent',
  'x-claude-code-agent-id',
  'x-claude-code-session-id',
  'x-codex-turn-metadata',
  'x-opencode-session',
  'x-request-id',
  'x-session-affinity',
  'x-session-id',
])

/** Returns the headers that a recorder reads, with their names in lower case. */
export const withoutOtherHeaders = (
  headers: Iterable<readonly [string, string]>,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...headers].flatMap(([name, value]) => {
      const lower = name.toLowerCase()
      return recordedHeaders.has(lower) ? [[lower, value]] : []
    }),
  )

/** APIs whose requests are recorded. */
export type RecordedApi = 'messages' | 'chat-completions' | 'responses'

/** Returns the API of a path; undefined if its requests are not recorded. */
export const apiAt = (path: string): RecordedApi | undefined => {
  if (path.endsWith('/messages')) return 'messages'
  if (path.endsWith('/chat/completions')) return 'chat-completions'
  return path.endsWith('/responses') ? 'responses' : undefined
}
