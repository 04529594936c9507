import { hash } from 'node:crypto'
import { invalidInput } from '../events/errors.ts'
import { isConversationId } from '../events/ids.ts'
import { toError } from '../result/typed-error.ts'

/** Name of a transcript in the Claude Agent SDK: of a session or, with `subpath`, of a part of it, such as a subagent. */
export interface SessionKey {
  readonly projectKey: string
  readonly sessionId: string
  readonly subpath?: string
}

/** Prefix of the ids of conversations that sessions of the Claude Agent SDK become. */
const prefix = 'agent-sdk:'
/** Maximum length of a project's name in an id. A longer one is shortened, with its hash. */
const longestProject = 64
const subagent = /^subagents\/agent-([A-Za-z0-9_-]+)$/

/**
 * Returns the id of the conversation for a transcript: `agent-sdk:PROJECT:SESSION`, and `agent-sdk:PROJECT:SESSION:AGENT` for a
 * subagent. Characters that ids do not allow are escaped. Throws `InvalidInput` for a key that does not fit.
 *
 * @example
 * import { sessionConversation } from 'palimpsest/claude-agent-sdk'
 *
 * const id = sessionConversation({ projectKey: '-home-ann-app', sessionId: '0197f1c2-8f5e-7a11-9d3c-0a8f3d1c2b4e' })
 */
export const sessionConversation = (key: SessionKey): string => {
  const { projectKey, sessionId, subpath } = checkedKey(key)
  const session = sessionPrefix(projectKey) + escaped(sessionId)
  const [, agent] = subagent.exec(subpath ?? '') ?? []
  const id =
    subpath === undefined ? session : `${session}:${agent === undefined ? `:${escaped(subpath)}` : agent}`
  if (sessionId === '' || !isConversationId(id))
    throw toError(
      invalidInput('key', 'must have a session id, and be at most 200 characters long as a conversation id'),
    )
  return id
}

const checkedKey = (key: SessionKey): SessionKey => {
  const { projectKey, sessionId, subpath = '' } = Object(key) as Partial<SessionKey>
  if ([projectKey, sessionId, subpath].every((part) => typeof part === 'string')) return key
  throw toError(invalidInput('key', 'must be { projectKey, sessionId, subpath? }, all of them strings'))
}

/** Returns what the ids of all sessions of a project begin with. */
export const sessionPrefix = (projectKey: string): string => {
  const project = escaped(projectKey)
  // No escaped text has two dots in a row.
  const short = `${project.slice(0, 30)}..${hash('sha256', projectKey).slice(0, 32)}`
  return `${prefix}${project.length > longestProject ? short : project}:`
}

/** Returns the session and the subpath of a conversation, given what follows the prefix of its project. */
export const sessionIn = (rest: string): Pick<SessionKey, 'sessionId' | 'subpath'> => {
  const [session = '', agent, other] = rest.split(':')
  const subpath = other === undefined ? agent && `subagents/agent-${agent}` : plain(other)
  return { sessionId: plain(session), ...(subpath !== undefined && { subpath }) }
}

const escaped = (text: string): string =>
  text.replaceAll(/[^A-Za-z0-9_-]+/g, (other) => Buffer.from(other).toString('hex').replaceAll(/../g, '.$&'))

const plain = (text: string): string =>
  text.replaceAll(/(?:\.[0-9a-f]{2})+/g, (bytes) => Buffer.from(bytes.replaceAll('.', ''), 'hex').toString())
