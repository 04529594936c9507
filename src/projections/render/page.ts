import { type Block, textBlock } from '../../events/blocks.ts'
import type { Role } from '../../events/events.ts'
import type { Fields } from '../../events/json.ts'
import {
  type LateCalls,
  lateCalls,
  type OpenCalls,
  openCalls,
  type SettledCalls,
  createSettledCalls,
} from '../waiting-calls.ts'
import { addTo, type MessageDraft, joinDetail } from './drafts.ts'
import { idsOfRequest, type RequestIds } from './ids.ts'
import type { Report } from './repairs.ts'
import type { Utterance } from './utterances.ts'
import type { PendingToolCall, Late, PendingServerUse } from './pending-calls.ts'

/** The request written so far, with all state that determines how the next message is written. Changed in place. */
export interface RequestDraft {
  readonly report: Report
  readonly messages: MessageDraft[]
  /** Numbers of messages and calls ever added, including those joined or removed since. */
  readonly count: { messages: number; calls: number }
  /** Number of messages at the beginning that may already have been returned to callers. */
  given: number
  /** True if the request contains anything but notes added by render. */
  isSpoken: boolean
  readonly ids: RequestIds
  readonly open: OpenCalls<PendingToolCall>
  readonly late: LateCalls<Late>
  readonly settled: SettledCalls<PendingToolCall>
  /** Late results of settled calls. They are shown with the next user content that arrives while no call is open. */
  readonly told: Pick<Utterance, 'position' | 'content'>[]
  /** System messages without content. They come before the next message that continues neither a tool round nor a reply. */
  readonly later: WaitingFields[]
  /** Server tool uses that have no result yet, in order. */
  readonly waiting: Map<string, PendingServerUse>
  /** The last assistant message written. */
  reply: Utterance | undefined
  /** True if the thinking of the reply in `reply` is left out. */
  isMuted: boolean
  /**
   * Parts of a reply that consist only of thinking. No message may end with thinking, so they are held back and shown with the next
   * part of the reply, if it has one.
   */
  held: ThinkingPart[]
  /** Positions of the current turn's thinking blocks, which may have to be left out later. */
  readonly thoughts: Map<Block, number>
}

/** A system message without content that waits for its place: no message may come between a call and its result. */
export interface WaitingFields {
  readonly position: number
  readonly fields: Fields
  /** True once it is reported that content recorded later comes first. */
  isMoved: boolean
}

/** A part of a reply that consists only of thinking: the original message, and its cleaned content. */
export interface ThinkingPart {
  readonly said: Utterance
  readonly content: readonly Block[]
}

/** Texts of the messages that render inserts. They are part of the rendered bytes: changing one breaks prompt caches. */
export const fillers = {
  noResult: 'No result was recorded for this call.',
  noBeginning: '(The beginning of this conversation is not shown.)',
  noReply: '(No reply.)',
}

/**
 * Returns the introduction to a late result that is shown as text. The introduction is part of the rendered bytes: changing it breaks
 * prompt caches.
 */
export const lateResult = (id: string, isError: boolean, isEmpty: boolean): string =>
  `[${isError ? 'Error' : 'Result'} of tool call ${id}, which came late${isEmpty ? ', without content.' : ':'}]`

export const emptyPage = (report: Report): RequestDraft => ({
  report,
  messages: [],
  count: { messages: 0, calls: 0 },
  given: 0,
  isSpoken: false,
  ids: idsOfRequest(),
  open: openCalls(),
  late: lateCalls(),
  settled: createSettledCalls(),
  told: [],
  later: [],
  waiting: new Map(),
  reply: undefined,
  isMuted: false,
  held: [],
  thoughts: new Map(),
})

/** Adds content to the last message if it has this role; otherwise adds a message. */
export const add = (
  page: RequestDraft,
  { role, position, content }: Pick<Utterance, 'role' | 'position' | 'content'>,
  isNote = true,
): MessageDraft => {
  const { messages, count, report } = page
  if (!isNote) reportMoved(page, position)
  const last = addTo(messages, role, position, content, ++count.messages)
  if (!isNote) page.isSpoken = true
  if (last && !isNote) report('roles-merged', position, joinDetail(last))
  return messages.at(-1) as MessageDraft
}

/** Reports the waiting system messages that come after content which was recorded later. */
export const reportMoved = ({ later, report }: RequestDraft, position: number): void => {
  for (const each of later) {
    if (each.isMoved) continue
    each.isMoved = true
    report('system-moved', each.position, `a system message without content is sent after ${position}`)
  }
}

export const insert = (page: RequestDraft, role: Role, position: number, text: string): void => {
  page.report('message-inserted', position, `${role}: ${text}`)
  add(page, { role, position, content: [textBlock(text)] })
}

export const reportDropped = (report: Report, position: number): void =>
  report('message-dropped', position, 'no block of it remained')
