import { messageAt } from './messages.ts'
import type { Peer } from './peers/peer.ts'
import { type Contender, timed } from './rounds.ts'

/** A peer in this process, with the conversation that it writes, message after message. */
export interface Growing {
  readonly name: string
  /** Appends until the conversation has so many messages. */
  readonly growTo: (messages: number) => Promise<void>
  /** A contender that appends `size` messages a round. */
  readonly inRoundsOf: (size: number) => Contender
  readonly close: () => Promise<void>
}

export const growing = async ({ name, open }: Peer, folder: string): Promise<Growing> => {
  const { append, close } = await open(folder)
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
