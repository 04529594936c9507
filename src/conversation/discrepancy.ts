import type { DecodeFailed } from '../events/errors.ts'
import type { BlobDamaged, BlobMissing } from '../store/errors.ts'

/** The first event of a conversation that failed verification. */
export interface LogDiscrepancy {
  readonly position: number
  /**
   * Kind of discrepancy. `newer`: a newer version of palimpsest wrote the event, so that this version can check neither it nor the
   * events after it: upgrade; `sealed`: no key that was given opens the event, so that nothing was found about it and the events after
   * it: restore the newest copy of the keys; `older`: this is an older copy of a sealed store, and content was erased later; `undecodable`: the event cannot be decoded; `chain`: the event before it is missing, or its hash differs from
   * the one recorded in this event; `view`: the event's view differs from the effective history; `marker`: the event hides or restores
   * items that were not shown; `content`: large content of the event is missing or damaged; `end`: the last events were changed or are
   * missing; `erased`: content is gone without a record of its erasure, what is left differs from that record, or erased content is there
   * again; `note`, `turn`, `inbox`, `archive`: a note or link, a record of a turn, a queued message, or a part of the original file was
   * changed, and `position` is its index in that stream.
   */
  readonly kind:
    | 'newer'
    | 'sealed'
    | 'older'
    | 'undecodable'
    | 'chain'
    | 'view'
    | 'marker'
    | 'content'
    | 'end'
    | 'erased'
    | 'note'
    | 'turn'
    | 'inbox'
    | 'archive'
  readonly message: string
  /** Conversation that the event belongs to, if a fork inherited it. */
  readonly inheritedFrom?: string
}

/** Returns the discrepancy for an event that cannot be read. */
export const unreadableAt = (
  position: number,
  error: DecodeFailed | BlobMissing | BlobDamaged,
): LogDiscrepancy => {
  const { message } = error
  if (error._tag !== 'DecodeFailed') return { position, kind: 'content', message }
  if (error.isKeyMissing) return { position, kind: 'sealed', message }
  return { position, kind: error.isNewer ? 'newer' : 'undecodable', message }
}

export const brokenChain =
  'the event before it does not match the recorded hash: one of the two was changed, or events between them are missing'
