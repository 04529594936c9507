import type { ApiBlock } from './blocks.ts'
import { canonical, digest } from './canonical.ts'
import { failures } from './failures.ts'
import { modelsOf, type MessagesApiOptions } from './options.ts'
import { promptCache } from './prompt-cache.ts'
import { defaultReply, type ApiFailure, finish, type ApiMessage, type ApiReply } from './replies.ts'
import { isThinking, type ParsedRequest, textOf } from './request.ts'
import { signatures } from './signatures.ts'
import { type Valid, validate } from './validate.ts'

/** Outcome of a request: a failure, a token count, or a message. */
export type ApiAnswer =
  | { readonly failure: ApiFailure; readonly code?: string | undefined }
  | { readonly count: number }
  | { readonly message: ApiMessage; readonly reply: ApiReply; readonly isStream: boolean }

/** Returns a function that answers request bodies. It keeps the simulated prompt cache and the paused replies between requests. */
export const createAnswers = (
  options: MessagesApiOptions,
): ((body: unknown, isCount: boolean) => Promise<ApiAnswer>) => {
  const { seed = 0, now = Date.now, foreignSignatures = false, foreignPauses = false } = options
  const models = modelsOf(options)
  const signer = signatures(`seed ${seed}`, foreignSignatures)
  const cache = promptCache(now)
  /** Replies that stopped with `pause_turn`. A request may end with one of them if it contains the complete reply. */
  const paused = new Set<string>()
  let replies = 0

  const pausedIn = ({ turns }: ParsedRequest): number => {
    const last = turns.at(-1)
    if (last?.role !== 'assistant') return 0
    const blocks = last.parts.map(({ block }) => block)
    const from = blocks.findIndex((_, index) => paused.has(marksOf(blocks.slice(index))))
    if (from >= 0) return blocks.length - from
    return foreignPauses && isWaiting(blocks) ? blocks.length : 0
  }

  const reply = async ({ request, model, input }: Valid): Promise<ApiAnswer> => {
    const { body } = request
    const n = replies++
    const spoken = request.parts.map(({ role, text }) => role + text()).join('\n')
    const asked = digest([seed, body.model, request.frame(), spoken].join('\n'))
    const said = options.reply ? await options.reply(body, n) : defaultReply(request, asked)
    if ('status' in said) return { failure: said }
    const isStream = body.stream === true
    if (said.fault?.kind === 'error' && (said.fault.after === undefined || !isStream))
      return { failure: failures.overloaded }
    const billed = cache.bill(body.model, input, model)
    // The id depends on `n`, because a repeated request may get a different answer.
    const id = digest(`${asked}${n}`).slice(0, 22)
    const message = finish(said, { request, model, billed, id }, signer)
    const marks = marksOf(message.content)
    if (message.stop_reason === 'pause_turn' && marks !== '') paused.add(marks)
    return { message, reply: said, isStream }
  }

  return async (body, isCount) => {
    const valid = validate(body, isCount, { models, signer, pausedIn })
    if ('message' in valid) {
      const { status = 400, message, code } = valid
      const type = status === 404 ? 'not_found_error' : 'invalid_request_error'
      return { failure: { status, type, message }, code }
    }
    return isCount ? { count: valid.input.tokens } : reply(valid)
  }
}

const isWaiting = (blocks: readonly ApiBlock[]): boolean =>
  blocks.some(
    ({ type, id }) =>
      (type === 'server_tool_use' || type === 'mcp_tool_use') &&
      !blocks.some((block) => block['tool_use_id'] === id),
  )

/**
 * Returns a text that identifies a reply's blocks when a request contains them again. Omits thinking, which is checked by a separate
 * rule, and content that requests must not repeat: blank texts and compactions. Ignores trailing white space in texts.
 */
const marksOf = (blocks: readonly ApiBlock[]): string =>
  blocks
    .filter((block) => !isThinking(block) && block.type !== 'compaction' && !isBlank(block))
    .map(markOf)
    .join('\n')

const isBlank = (block: ApiBlock): boolean => block.type === 'text' && textOf(block, 'text').trim() === ''

const markOf = (block: ApiBlock): string =>
  canonical(block.type === 'text' ? { ...block, text: textOf(block, 'text').trimEnd() } : block)
