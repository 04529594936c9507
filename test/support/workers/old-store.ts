import { completeEnvelope, encodeChain } from '../../../src/conversation/writing/encode.ts'
import { streamOf } from '../../../src/events/ids.ts'
import { orThrow } from '../../../src/result/fallible.ts'
import type { EventStore } from '../../../src/store/port.ts'

// A store as it is after years: many conversations with which nobody is concerned any more, and a few that await an answer.

export interface OldStore {
  readonly old?: number
  readonly open?: number
  readonly prefix?: string
}

/** How many appends wait for the store at once: it writes them in one transaction. */
const atOnce = 1_000

const asked = {
  type: 'MessageAppended' as const,
  data: { role: 'user' as const, content: [{ type: 'text' as const, text: 'Is it there?' }] },
}

const begin = async (store: EventStore, id: string, isAsking: boolean): Promise<void> => {
  const envelope = completeEnvelope({ ...(isAsking && { answer: true }) }, { kind: 'test' })
  const { events } = await orThrow(encodeChain(id, null, [asked], envelope))
  await orThrow(store.append({ stream: streamOf(id), events, expected: -1, repeat: 'none' }))
}

const beginAll = async (store: EventStore, ids: readonly string[], isAsking: boolean): Promise<void> => {
  for (let from = 0; from < ids.length; from += atOnce)
    await Promise.all(ids.slice(from, from + atOnce).map((id) => begin(store, id, isAsking)))
}

/**
 * Writes conversations `old-0`, `old-1`, … of one message that nobody is asked to answer, and `open-0`, … that ask workers for an answer:
 * these are spread among the old ones evenly.
 *
 * @param prefix what their names begin with
 */
export const fillOldStore = async (
  store: EventStore,
  { old = 1_000_000, open = 50, prefix = '' }: OldStore = {},
): Promise<void> => {
  const share = Math.ceil(old / Math.max(open, 1))
  for (let n = 0, from = 0; from < old; n++, from += share) {
    const ids = Array.from(
      { length: Math.min(share, old - from) },
      (_, index) => `${prefix}old-${from + index}`,
    )
    await beginAll(store, ids, false)
    if (n < open) await beginAll(store, [`${prefix}open-${n}`], true)
  }
}
