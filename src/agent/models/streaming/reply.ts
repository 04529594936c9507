import { type Block, unknownBlock } from '../../../events/blocks.ts'
import { parseBoundedJson } from '../../../events/json.ts'
import type { Reply, ReplyEvent } from '../model.ts'

type Fields = { readonly [field: string]: unknown }

/** Reply that is assembled event by event. */
export interface ReplyDraft {
  /** Adds an event. Throws if the event's delta has an unknown type, because no part of a reply may be lost. */
  readonly add: (event: ReplyEvent) => void
  /** Returns the complete reply; undefined before the stream's last event. */
  readonly whole: () => Reply | undefined
  /** Returns the completed blocks and the text received so far of an unfinished block; undefined if nothing has arrived. */
  readonly partial: () => Reply | undefined
  /** Returns the token counts that the API has reported so far; undefined before the stream has begun. */
  readonly usage: () => Fields | undefined
}

/**
 * Creates an empty reply, to be assembled from events.
 *
 * @param requestId id that identifies the reply; default: the id of its message
 */
export const replyDraft = (requestId?: string | null): ReplyDraft => {
  let message: Fields = {}
  let usage: Fields | undefined
  let isWhole = false
  const blocks: Block[] = []
  const inputs = new Map<number, string>()
  const completed = new Set<number>()

  const change = (index: number, fields: Fields): void => {
    const block = blocks[index]
    if (!block) throw new Error(`the stream continues block ${index}, which it has not begun`)
    blocks[index] = unknownBlock({ ...block, ...fields, type: block.type })
  }

  const addDelta = (index: number, { type, ...delta }: Fields): void => {
    const text = (field: string): string =>
      [blocks[index]?.[field], delta[field]].filter((part) => typeof part === 'string').join('')
    switch (type) {
      case 'text_delta':
        return change(index, { text: text('text') })
      case 'thinking_delta':
        return change(index, { thinking: text('thinking') })
      case 'citations_delta': {
        const citations = blocks[index]?.['citations']
        return change(index, {
          citations: [
            ...(Array.isArray(citations) ? (citations as unknown[]) : []),
            structuredClone(delta['citation']),
          ],
        })
      }
      case 'input_json_delta':
        inputs.set(index, (inputs.get(index) ?? '') + String(delta['partial_json']))
        return undefined
      // These hold the final values of fields.
      case 'signature_delta':
      case 'compaction_delta':
      case 'opaque_delta':
        return change(index, structuredClone(delta))
      default:
        throw new Error(
          `the stream has a delta of type ${String(type)}, which this version of palimpsest does not know: upgrade palimpsest`,
        )
    }
  }

  const complete = (index: number): void => {
    completed.add(index)
    const json = inputs.get(index)
    if (json) change(index, { input: inputOf(json) })
  }

  const replyOf = (content: readonly Block[], stopReason: unknown): Reply => {
    const {
      model,
      id,
      type: _,
      role: _role,
      content: _content,
      stop_reason: _reason,
      usage: _usage,
      ...others
    } = message
    const known = Object.entries({ id, ...others }).filter(
      ([, value]) => value !== null && value !== undefined,
    )
    return {
      content,
      origin: {
        ...(typeof model === 'string' && { model }),
        stopReason: typeof stopReason === 'string' ? stopReason : null,
        usage: usage ?? {},
        requestId: requestId ?? String(id),
        ...(known.length > 0 && { message: Object.fromEntries(known) }),
      },
    }
  }

  return {
    add: (event) => {
      const index = Number(event['index'])
      switch (event.type) {
        case 'message_start':
          message = structuredClone(event['message']) as Fields
          usage = message['usage'] as Fields
          return
        case 'content_block_start':
          blocks[index] = structuredClone(event['content_block']) as Block
          return
        case 'content_block_delta':
          return addDelta(index, event['delta'] as Fields)
        case 'content_block_stop':
          return complete(index)
        case 'message_delta': {
          const { type: _, delta, usage: counted, ...others } = structuredClone(event)
          message = { ...message, ...others, ...(delta as Fields) }
          const known = Object.entries((counted ?? {}) as Fields).filter(([, value]) => value !== null)
          usage = { ...usage, ...Object.fromEntries(known) }
          return
        }
        case 'message_stop':
          isWhole = true
      }
    },
    whole: () => (isWhole ? replyOf(blocks, message['stop_reason']) : undefined),
    partial: () => {
      const content = blocks.filter(
        (block, index) => completed.has(index) || (block.type === 'text' && block['text'] !== ''),
      )
      return content.length > 0 ? replyOf(content, null) : undefined
    },
    usage: () => usage,
  }
}

/**
 * Maximum nesting depth of a tool call's input. It leaves room for the levels of the surrounding message, so that the message can still
 * be stored.
 */
const mostInput = 900

/**
 * Parses the input of a tool call. Returns the text itself if it is not valid JSON, because the reply was cut off within it, or if it
 * is nested too deeply.
 */
const inputOf = (json: string): unknown => {
  try {
    return parseBoundedJson(json, mostInput)
  } catch {
    return json
  }
}
