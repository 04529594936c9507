import { messageAt } from '../messages.ts'
import { type Contender, timed } from '../rounds.ts'
import type { Appender } from './appender.ts'

/** An appender with the conversation that it writes, message after message. */
export interface Growing extends Pick<Appender, 'name' | 'close'> {
  /** Appends until the conversation has so many messages. */
  readonly growTo: (messages: number) => Promise<void>
  /** A contender that appends `size` messages a round. */
  readonly inRoundsOf: (size: number) => Contender
}

export const growing = ({ name, append, close }: Appender): Growing => {
  let written = 0
  const grow = (size: number): Promise<void> =>
    append(Array.from({ length: Math.max(0, size) }, () => messageAt(written++)))
  return {
    name,
    close,
    growTo: (messages) => grow(messages - written),
    inRoundsOf: (size) => ({ name, round: async () => (await timed(() => grow(size))) / size }),
  }
}
