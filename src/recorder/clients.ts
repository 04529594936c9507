import { isFields } from '../events/json.ts'

/** A program whose requests have properties that the recorder knows. Everything is a hint: the history itself decides. */
export interface ClientProfile {
  readonly name: string
  /** Beginning of its `User-Agent`, in lower case. */
  readonly agent: string
  /** Texts of a request for a summary of the conversation: in the last message, or at the beginning of the system prompt. */
  readonly asksSummary?: RegExp
  /** Texts at the beginning of a message in which a summary stands for what came before. */
  readonly summary?: RegExp
}

export const clientProfiles: readonly ClientProfile[] = [
  {
    name: 'claude-code',
    agent: 'claude-cli/',
    asksSummary:
      /^CRITICAL: Respond with TEXT ONLY|^Your task is to create a detailed summary of the conversation/m,
    summary: /^This session is being continued from a previous conversation/m,
  },
  {
    name: 'codex',
    agent: 'codex',
    asksSummary: /CONTEXT CHECKPOINT COMPACTION/,
    summary: /^Another language model started to solve this problem/m,
  },
  {
    name: 'pi',
    agent: 'pi/',
    asksSummary: /context summarization (?:assistant|agent)/,
    summary: /^The conversation history before this point was compacted into/m,
  },
  {
    name: 'opencode',
    agent: 'opencode/',
    asksSummary: /^(?:Provide a detailed prompt for continuing|Create a detailed summary of) /m,
  },
]

/** Returns the profile of the program that sent these headers; undefined if it is unknown. */
export const clientOf = (headers: Readonly<Record<string, string>>): ClientProfile | undefined => {
  const agent = headers['user-agent']?.toLowerCase() ?? ''
  return clientProfiles.find((client) => agent.startsWith(client.agent))
}

/** Headers that name a session, the most exact first. */
const sessionHeaders = [
  'x-claude-code-session-id',
  'thread-id',
  'session-id',
  'x-session-id',
  'x-session-affinity',
  'x-opencode-session',
] as const

/** A session as its program names it, and the subagent in it. Both are made of characters that an id may have. */
export interface SessionName {
  readonly session: string
  readonly agent?: string
}

/** Returns the session that a request names; undefined if it names none. */
export const sessionOf = (
  headers: Readonly<Record<string, string>>,
  body: Readonly<Record<string, unknown>>,
): SessionName | undefined => {
  const named = sessionHeaders.map((name) => headers[name]).find(Boolean) ?? sessionInMetadata(body)
  if (!named) return undefined
  const agent = headers['x-claude-code-agent-id']
  return { session: idPart(named), ...(agent && { agent: idPart(agent) }) }
}

/** Returns the session in `metadata.user_id`, which also has the ids of the account and the device. */
export const sessionInMetadata = ({ metadata }: Readonly<Record<string, unknown>>): string | undefined => {
  const user = isFields(metadata) ? metadata['user_id'] : undefined
  if (typeof user !== 'string') return undefined
  try {
    const parsed: unknown = JSON.parse(user)
    return isFields(parsed) && typeof parsed['session_id'] === 'string' ? parsed['session_id'] : undefined
  } catch {
    return /_session_([0-9a-f-]{36})/.exec(user)?.[1]
  }
}

/** Longest part of an id that a program names. Programs choose these names, so they are never used as paths. */
const longest = 80
const idPart = (text: string): string => text.replaceAll(/[^A-Za-z0-9._-]/g, '-').slice(0, longest)
