import { type Block, textBlock } from '../../../events/blocks.ts'
import type { Role } from '../../../events/events.ts'
import { type LateCalls, lateCalls, type OpenCalls, openCalls } from './waiting-calls.ts'
import { addTo, type Draft, joinedTo } from './drafts.ts'
import { idsOfRequest, type RequestIds } from './ids.ts'
import type { Report } from './repairs.ts'
import type { Utterance } from './utterances.ts'
import type { Call, Late, Waiting } from './waiting.ts'

/** The request written so far, with all state that determines how the next message is written. Changed in place. */
export interface Page {
  readonly report: Report
  readonly messages: Draft[]
  /** Numbers of messages and calls ever added, including those joined or removed since. */
  readonly count: { messages: number; calls: number }
  /** Number of messages at the beginning that may already have been returned to callers. */
  given: number
  /** True if the request contains anything but notes added by render. */
  isSpoken: boolean
  readonly ids: RequestIds
  readonly open: OpenCalls<Call>
  readonly late: LateCalls<Late>
  /** Server tool uses that have no result yet, in order. */
  readonly waiting: Map<string, Waiting>
  /** The last assistant message written. */
  reply: Utterance | undefined
  /** True if the thinking of the reply in `reply` is left out. */
  isMuted: boolean
  /**
   * Parts of a reply that consist only of thinking. No message may end with thinking, so they are held back and shown with the next
   * part of the reply, if it has one.
   */
  held: Held[]
  /** Positions of the current turn's thinking blocks, which may have to be left out later. */
  readonly thoughts: Map<Block, number>
}

/** A part of a reply that consists only of thinking: the original message, and its cleaned content. */
export interface Held {
  readonly said: Utterance
  readonly content: readonly Block[]
}

/**
 * Texts of the messages and error results that render inserts. They are part of the rendered bytes: changing one breaks prompt caches.
 */
export const fillers = {
  noResult: 'No result was recorded for this call.',
  noBeginning: '(The beginning of this conversation is not shown.)',
  noReply: '(No reply.)',
}

export const emptyPage = (report: Report): Page => ({
  report,
  messages: [],
  count: { messages: 0, calls: 0 },
  given: 0,
  isSpoken: false,
  ids: idsOfRequest(),
  open: openCalls(),
  late: lateCalls(),
  waiting: new Map(),
  reply: undefined,
  isMuted: false,
  held: [],
  thoughts: new Map(),
})

/** Adds content to the last message if it has this role; otherwise adds a message. */
export const add = (
  page: Page,
  { role, position, content }: Pick<Utterance, 'role' | 'position' | 'content'>,
  isNote = true,
): Draft => {
  const { messages, count, report } = page
  const last = addTo(messages, role, position, content, ++count.messages)
  if (!isNote) page.isSpoken = true
  if (last && !isNote) report('roles-merged', position, joinedTo(last))
  return messages.at(-1) as Draft
}

export const insert = (page: Page, role: Role, position: number, text: string): void => {
  page.report('message-inserted', position, `${role}: ${text}`)
  add(page, { role, position, content: [textBlock(text)] })
}

export const reportDropped = (report: Report, position: number): void =>
  report('message-dropped', position, 'no block of it remained')
