import { type Block, isBlock } from '../events/blocks.ts'
import { contentOf, type Event, type Origin } from '../events/events.ts'

// Retries: replies that call a tool again that failed before in the same turn, with the same input, and replies of a model that failed to
// answer before.

/** Failures of the current turn that retries follow from. Calls are named by a hash of tool and input. */
export interface TurnCalls {
  /** Calls without a result yet, each with its id. */
  readonly open: readonly (readonly [id: string, call: string])[]
  /** Calls that failed last time. */
  readonly failed: readonly string[]
  /** Set if an attempt at the step has failed: the next reply is a retry. */
  readonly isAgain?: true
}

export const noCalls: TurnCalls = { open: [], failed: [] }
/** Maximum number of calls that are remembered of each: the newest ones. */
const mostCalls = 100

/** Returns the calls of a turn after an event, and whether the event retries one that failed. A user's message begins a turn. */
export const callsAfter = (
  before: TurnCalls,
  event: Event,
): { readonly calls: TurnCalls; readonly isRetry: boolean } => {
  if (event.type === 'Forked') return { calls: noCalls, isRetry: false }
  if (event.type !== 'MessageAppended') return { calls: before, isRetry: false }
  const blocks = contentOf(event).flatMap(({ content }) => content)
  if (event.data.role === 'assistant') {
    const { calls, isRetry } = afterReply(before, blocks)
    return { calls, isRetry: isRetry || before.isAgain === true || hasFailedCalls(event.data.origin) }
  }
  const results = blocks.flatMap((block) => (isBlock(block, 'tool_result') ? [block] : []))
  if (results.length === 0) return { calls: event.data.role === 'user' ? noCalls : before, isRetry: false }
  let { open, failed } = before
  for (const { tool_use_id: id, is_error: isError } of results) {
    const call = open.find(([one]) => one === id)?.[1]
    if (call === undefined) continue
    open = open.filter(([one]) => one !== id)
    failed = failed.filter((one) => one !== call)
    if (isError === true) failed = [...failed, call].slice(-mostCalls)
  }
  return { calls: { ...before, open, failed }, isRetry: false }
}

/** Reports whether calls of the model failed before a reply. */
export const hasFailedCalls = ({ failed }: Origin = {}): boolean => Array.isArray(failed) && failed.length > 0

const afterReply = ({ open, failed }: TurnCalls, blocks: readonly Block[]) => {
  const made = blocks.flatMap((block): TurnCalls['open'] =>
    isBlock(block, 'tool_use') ? [[block.id, hashOf(`${block.name} ${JSON.stringify(block.input)}`)]] : [],
  )
  if (made.length === 0) return { calls: { open, failed }, isRetry: false }
  const left = open.filter(([id]) => !made.some(([one]) => one === id))
  return {
    calls: { open: [...left, ...made].slice(-mostCalls), failed },
    isRetry: made.some(([, call]) => failed.includes(call)),
  }
}

/** Returns the positions of the replies that are retries, as far as the events of the conversation tell. */
export const retriesIn = (log: readonly (Event & { readonly position: number })[]): readonly number[] => {
  let calls = noCalls
  return log.flatMap((event) => {
    const after = callsAfter(calls, event)
    calls = after.calls
    return after.isRetry ? [event.position] : []
  })
}

/** Returns a hash of 53 bits, which needs no other module and is therefore the same in a browser. */
const hashOf = (text: string): string => {
  let [one, other] = [0xdeadbeef, 0x41c6ce57]
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    one = Math.imul(one ^ code, 2_654_435_761)
    other = Math.imul(other ^ code, 1_597_334_677)
  }
  one = Math.imul(one ^ (one >>> 16), 2_246_822_507) ^ Math.imul(other ^ (other >>> 13), 3_266_489_909)
  other = Math.imul(other ^ (other >>> 16), 2_246_822_507) ^ Math.imul(one ^ (one >>> 13), 3_266_489_909)
  return ((other & 0x1f_ffff) * 2 ** 32 + (one >>> 0)).toString(36)
}
