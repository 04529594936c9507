import { type Block, textBlock } from '../../../events/blocks.ts'
import type { Role } from '../../../events/events.ts'
import { type LateCalls, lateCalls, type OpenCalls, openCalls } from './waiting-calls.ts'
import { addTo, type Draft, joinedTo } from './drafts.ts'
import { idsOfRequest, type RequestIds } from './ids.ts'
import type { Report } from './repairs.ts'
import type { Utterance } from './utterances.ts'
import type { Call, Late, Waiting } from './waiting.ts'

/** The request so far, and all that decides how the next message is written. Changed in place. */
export interface Page {
  readonly report: Report
  readonly messages: Draft[]
  /** How many messages and calls there were ever. */
  readonly count: { messages: number; calls: number }
  /** This many of the messages may have been given to callers as they are. */
  given: number
  /** True if the page has content other than notes. */
  isSpoken: boolean
  readonly ids: RequestIds
  readonly open: OpenCalls<Call>
  readonly late: LateCalls<Late>
  /** Server tool uses without a result so far, in the order of the uses. */
  readonly waiting: Map<string, Waiting>
  /** The last thing that the assistant said. */
  reply: Utterance | undefined
  /** Whether the thinking of that reply is left out. */
  isMuted: boolean
  /** No message ends with thinking: these parts of a reply are shown together with the part that follows, if one does. */
  held: Held[]
  /** The positions of the turn's thinking, which may have to be left out later. */
  readonly thoughts: Map<Block, number>
}

/** A part of a reply that is only thinking, as it was said and cleaned. */
export interface Held {
  readonly said: Utterance
  readonly content: readonly Block[]
}

/** Messages that nobody said. Part of the rendered bytes: changing one breaks prompt caches. */
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

/** Adds to the last message if it has that role, else a message. */
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
