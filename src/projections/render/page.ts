import { type Block, textBlock } from '../../events/blocks.ts'
import type { Role } from '../../events/events.ts'
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

/** The request so far, and all the state that decides how the next message is written. Changed in place. */
export interface RequestDraft {
  readonly report: Report
  readonly messages: MessageDraft[]
  /** Running totals of messages and calls, including those joined or removed since. */
  readonly count: { messages: number; calls: number }
  /** Number of messages, from the first, that may already have been handed to callers. */
  given: number
  /** True if it contains anything but notes. */
  isSpoken: boolean
  readonly ids: RequestIds
  readonly open: OpenCalls<PendingToolCall>
  readonly late: LateCalls<Late>
  readonly settled: SettledCalls<PendingToolCall>
  /** Late results of settled calls. They are shown with the next user content that comes while no call is open. */
  readonly told: Pick<Utterance, 'position' | 'content'>[]
  /** Server tool uses without a result so far, in the order of the uses. */
  readonly waiting: Map<string, PendingServerUse>
  /** The last assistant message. */
  reply: Utterance | undefined
  /** True if the thinking of that reply is left out. */
  isMuted: boolean
  /** Parts of a reply that are only thinking. They are shown with the next part, if there is one: no message ends with thinking. */
  held: ThinkingPart[]
  /** Positions of the turn's thinking, which may have to be left out later. */
  readonly thoughts: Map<Block, number>
}

/** A part of a reply that is only thinking: the original, and its cleaned content. */
export interface ThinkingPart {
  readonly said: Utterance
  readonly content: readonly Block[]
}

/** Texts of inserted messages. Part of the rendered bytes: changing one breaks prompt caches. */
export const fillers = {
  noResult: 'No result was recorded for this call.',
  noBeginning: '(The beginning of this conversation is not shown.)',
  noReply: '(No reply.)',
}

/** Returns the introduction to a result that is shown as text. Also part of the rendered bytes. */
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
  waiting: new Map(),
  reply: undefined,
  isMuted: false,
  held: [],
  thoughts: new Map(),
})

/** Adds to the last message if it has this role; otherwise adds a message. */
export const add = (
  page: RequestDraft,
  { role, position, content }: Pick<Utterance, 'role' | 'position' | 'content'>,
  isNote = true,
): MessageDraft => {
  const { messages, count, report } = page
  const last = addTo(messages, role, position, content, ++count.messages)
  if (!isNote) page.isSpoken = true
  if (last && !isNote) report('roles-merged', position, joinDetail(last))
  return messages.at(-1) as MessageDraft
}

export const insert = (page: RequestDraft, role: Role, position: number, text: string): void => {
  page.report('message-inserted', position, `${role}: ${text}`)
  add(page, { role, position, content: [textBlock(text)] })
}

export const reportDropped = (report: Report, position: number): void =>
  report('message-dropped', position, 'no block of it remained')
