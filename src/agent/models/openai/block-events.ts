import type { Fields } from '../../../events/json.ts'
import type { ReplyEvent } from '../model.ts'

/** Builder of the stream events for a reply's blocks, which are numbered in the order in which they begin. */
export interface BlockEvents {
  /** Begins a block: returns the block's number and first event. */
  readonly start: (block: Fields) => readonly [number, ReplyEvent]
  readonly delta: (index: number, fields: Fields) => ReplyEvent
  readonly stop: (index: number) => ReplyEvent
}

export const blockEvents = (): BlockEvents => {
  let blocks = 0
  return {
    start: (block) => {
      const index = blocks++
      return [index, { type: 'content_block_start', index, content_block: block }]
    },
    delta: (index, fields) => ({ type: 'content_block_delta', index, delta: fields }),
    stop: (index) => ({ type: 'content_block_stop', index }),
  }
}
