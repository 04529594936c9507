import { isDeepStrictEqual } from 'node:util'
import { isFields } from '../../events/json.ts'
import type { Configuration } from '../../events/events.ts'
import type { SentRequest } from '../../agent/receipts/canonical.ts'
import { partsOf } from '../../agent/receipts/fingerprints.ts'
import { canonicalText } from '../canonical.ts'

/**
 * Kind of difference. `request`: the request; `summary`: the request for a summary; `context`: the items hidden before a request;
 * `tool`: the handling of a call; `result`: the shown length of a result; `end`: the decision to end or continue the turn.
 */
export type DivergenceKind = 'request' | 'summary' | 'context' | 'tool' | 'result' | 'end'

/** A difference between an agent's action and the action recorded in the log. */
export interface Divergence {
  readonly kind: DivergenceKind
  /** Positions of the recorded event that differs (`event`) and of the history from which the agent acted (`at`). */
  readonly event: number
  readonly at: number
  /** Number of the model call; absent if the event is not a model call. */
  readonly call?: number
  /**
   * Path of the first block or field that differs: `model`, `tools[1]`, `system`, `messages[3].content[0]`, `parameters.thinking`; for
   * a tool call, its id.
   */
  readonly path?: string
  /** Excerpts of the agent's version and of the log's version, of about 100 characters each. */
  readonly agent: string
  readonly log: string
}

/** First difference between two requests. */
export type RequestMismatch = Pick<Divergence, 'agent' | 'log'> & { readonly path: string }

const excerpt = 80
/** Number of equal characters shown before the first difference. */
const before = 20

const nothing = '(nothing)'

/** Returns excerpts of two texts, starting shortly before the first difference. */
export const excerpts = (agent: string, log: string): Pick<Divergence, 'agent' | 'log'> => {
  const shorter = Math.min(agent.length, log.length)
  let same = 0
  while (same < shorter && agent[same] === log[same]) same++
  const from = Math.max(0, same - before)
  const cut = (text: string): string => {
    const end = text.length > from + excerpt ? '…' : ''
    return `${from > 0 ? '…' : ''}${text.slice(from, from + excerpt).toWellFormed()}${end}`
  }
  return { agent: cut(agent) || nothing, log: cut(log) || nothing }
}

const textIn = (part: unknown): string =>
  part === undefined ? nothing : typeof part === 'string' ? part : canonicalText(part)

/** Returns excerpts of two different values. For blocks that differ only in their text, the excerpts show the text. */
const whereTextsDiffer = (agent: unknown, log: unknown): Pick<Divergence, 'agent' | 'log'> => {
  const isText =
    isFields(agent) && isFields(log) && typeof agent['text'] === 'string' && typeof log['text'] === 'string'
  return isText && isSame({ ...agent, text: '' }, { ...log, text: '' })
    ? excerpts(String(agent['text']), String(log['text']))
    : excerpts(textIn(agent), textIn(log))
}

/** Finds the first block that differs between two requests, in the order in which a model reads them. */
export const firstBlock = (agent: SentRequest, log: SentRequest): RequestMismatch | undefined => {
  const [own, recorded] = [partsOf(agent), partsOf(log)]
  const most = Math.max(own.length, recorded.length)
  for (let index = 0; index < most; index++) {
    const [one, other] = [own[index], recorded[index]]
    const [here, there] = [textIn(one?.part), textIn(other?.part)]
    if (one?.path === other?.path && here === there) continue
    // If one request has fewer tools, its next part is of another kind.
    const path = other ?? one
    if (one?.path !== other?.path) {
      const isMissing = other !== undefined && !own.some((part) => part.path === other.path)
      return isMissing
        ? { path: other.path, ...excerpts('', there) }
        : { path: (one ?? path)?.path ?? '', ...excerpts(here, '') }
    }
    return { path: path?.path ?? '', ...whereTextsDiffer(one?.part, other?.part) }
  }
  return undefined
}

/** Finds the first of the given fields that differs: the model or a parameter. */
export const firstField = (
  agent: Configuration,
  log: Configuration,
  fields: readonly ('model' | 'parameters')[],
): RequestMismatch | undefined => {
  for (const field of fields) {
    const [own, recorded] = [agent[field], log[field]]
    if (isSame(own, recorded)) continue
    if (field === 'model') return { path: field, ...excerpts(textIn(own), textIn(recorded)) }
    const [one, other] = [agent.parameters ?? {}, log.parameters ?? {}]
    const name = [...new Set([...Object.keys(other), ...Object.keys(one)])].find(
      (key) => !isSame(one[key], other[key]),
    )
    if (name !== undefined)
      return { path: `parameters.${name}`, ...excerpts(textIn(one[name]), textIn(other[name])) }
  }
  return undefined
}

const isSame = (one: unknown, other: unknown): boolean =>
  isDeepStrictEqual(one, other) || canonicalText(one) === canonicalText(other)
