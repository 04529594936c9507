import type { Block } from '../../../events/blocks.ts'
import type { WaitingCall } from './waiting-calls.ts'
import type { Report } from './repairs.ts'

// Calls and server tool uses that have no result yet while a request is being written.

/** A tool call in the request that has no result yet. */
export interface Call extends WaitingCall {
  readonly id: string
}
/**
 * A tool call that got an error result because the model continued without the actual result. If the actual result arrives before
 * anyone else speaks, it replaces the error result.
 */
export interface Late extends Call {
  readonly answer: Block
  /** Number (`nth`) of the message that contained the call when the error result was added. */
  readonly message: number
}
/** A server tool use that has no result yet. */
export interface Waiting {
  readonly id: string
  readonly block: Block
  readonly position: number
  /** Number (`nth`) of the message that contains the use. */
  readonly message: number
}

export const blocksOf = (uses: readonly Waiting[]): ReadonlySet<Block> =>
  new Set(uses.map(({ block }) => block))

export const reportAnswer = ({ id, position }: Call, report: Report): void =>
  report('call-answered', position, `tool_use ${id} has no result; an error result stands for it`)

export const reportUse = ({ id, block, position }: Waiting, report: Report): void =>
  report('server-tool-dropped', position, `${block.type} ${id} stands alone`)
