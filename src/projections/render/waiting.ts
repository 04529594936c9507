import type { Block } from '../../events/blocks.ts'
import type { WaitingCall } from '../waiting-calls.ts'
import type { Report } from './repairs.ts'

// What waits for a result in a request while it is written.

/** A call in the request that has no result yet. */
export interface Call extends WaitingCall {
  readonly id: string
}
/** A call with an error result, since the model continued without one: a real result before anybody else speaks takes its place. */
export interface Late extends Call {
  readonly answer: Block
  /** `nth` of the message that the call was in then. */
  readonly message: number
}
/** A server tool use without a result so far. */
export interface Waiting {
  readonly id: string
  readonly block: Block
  readonly position: number
  /** `nth` of the message that it was put into. */
  readonly message: number
}

export const blocksOf = (uses: readonly Waiting[]): ReadonlySet<Block> =>
  new Set(uses.map(({ block }) => block))

export const reportAnswer = ({ id, position }: Call, report: Report): void =>
  report('call-answered', position, `tool_use ${id} has no result; an error result stands for it`)

export const reportUse = ({ id, block, position }: Waiting, report: Report): void =>
  report('server-tool-dropped', position, `${block.type} ${id} stands alone`)
