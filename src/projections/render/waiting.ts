import type { Block } from '../../events/blocks.ts'
import { START } from '../../events/events.ts'
import type { Draft } from './drafts.ts'
import type { Report } from './repairs.ts'

// What waits for a result in a request while it is written.

/** A call in the request that has no result yet. */
export interface Call {
  readonly storedId: string
  readonly id: string
  readonly position: number
  readonly draft: Draft
}
/** A call with an error result, since the model went on: a real one that comes before anybody else speaks takes its place. */
export interface Late extends Call {
  readonly answer: Block
}
/** A server tool use whose result has not come. */
export interface Waiting {
  readonly id: string
  readonly block: Block
  readonly position: number
  readonly draft: Draft
}

export const firstOf = (messages: readonly Draft[], [first]: readonly Waiting[]): number =>
  first ? messages.lastIndexOf(first.draft) : messages.length

export const blocksOf = (uses: readonly Waiting[]): ReadonlySet<Block> =>
  new Set(uses.map(({ block }) => block))

interface Reply {
  readonly answers: number | undefined
}

/** Whether a reply was the answer to a request that held error results for some of these calls. */
export const wereSent = (calls: readonly Call[], { answers = START }: Reply): boolean =>
  calls.some(({ position }) => position <= answers)

export const reportAnswer = ({ id, position }: Call, report: Report): void =>
  report('call-answered', position, `tool_use ${id} has no result; an error result stands for it`)

export const reportUse = ({ id, block, position }: Waiting, report: Report): void =>
  report('server-tool-dropped', position, `${block.type} ${id} stands alone`)
