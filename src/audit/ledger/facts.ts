import { z } from 'zod'
import { type Codec, codecOf } from '../../events/facts.ts'
import { conversationIdSchema } from '../../events/ids.ts'

// Events of ledgers and audits, which are stored in separate streams (ADR 35).

const count = z.int().min(0)
const text = z.string().min(1)

const schemas = {
  /**
   * Event in `ledgerStream`: a ledger was begun. The event's revision is the ledger's number. `reason`: reason why the previous ledger
   * was not continued.
   */
  LedgerBegun: z.object({ origin: text, key: text, reason: z.string().optional() }),
  /**
   * Event in `logStream`: the entries from index `from` on, and the checkpoint after them as a signed note. `after`: place in the store
   * up to which everything is sealed; with `turns`, this includes the streams of turns. `rotations`: revisions of this stream at which
   * the key changed, including this one.
   */
  HeadsSealed: z.object({
    from: count,
    entries: z.array(text),
    checkpoint: text,
    after: text.optional(),
    turns: z.literal(true).optional(),
    rotations: z.array(count),
  }),
  /**
   * Event in `tilesStream`: a `CompletedTile`, with the hashes of each row concatenated in base64. The event's revision is the index of
   * the level-0 tile.
   */
  TilesCompleted: z.object({ rows: z.array(text) }),
  /**
   * Event in `anchorsStream`: an anchor has the checkpoint, which includes any cosignatures that it added. `sealed`: time of the
   * checkpoint.
   */
  LedgerAnchored: z.object({ anchor: text, size: count, checkpoint: text, sealed: text.optional() }),
  /** Event in `exportsStream`: conversations were exported, without the events at the positions `withheld`. */
  ConversationsExported: z.object({
    conversations: z.array(conversationIdSchema).min(1),
    format: text,
    by: text,
    reason: text.optional(),
    withheld: z.array(count).optional(),
    calls: z.object({ first: count, last: count }).optional(),
  }),
  /** Event in `patrolStream`: a problem that a patrol found, recorded once. */
  PatrolAlarm: z.object({
    kind: z.enum(['ledger', 'entry', 'anchor', 'conversation', 'newer', 'receipt', 'store']),
    message: text,
    conversation: text.optional(),
    revision: count.optional(),
  }),
  /**
   * Event in `placeStream`: the progress of a patrol's round, recorded at intervals and when the round is interrupted. `round`:
   * revision in `patrolStream` of the previous round, or -1. `began`: time at which the round began. `entries`: number of ledger
   * entries compared. `conversation`: last conversation checked, in the order of names. `place`: place in the store that includes
   * everything written before the round began.
   */
  PatrolReached: z.object({
    round: z.int().min(-1),
    began: text.optional(),
    entries: count,
    conversation: text.optional(),
    place: text.optional(),
    conversations: count,
    events: count,
    receipts: count,
    withoutReceipt: count,
    problems: count,
  }),
  /** Event in `patrolStream`: a round that began at `began` has checked everything. */
  PatrolRound: z.object({
    began: text.optional(),
    conversations: count,
    events: count,
    receipts: count,
    withoutReceipt: count,
    entries: count,
    problems: count,
    checkpoint: text,
  }),
}

export const ledgerCodec: Codec<typeof schemas> = codecOf(schemas)

export const exportsStream = 'exports'
export const patrolStream = 'patrol'
export const placeStream = 'patrol-place'
export const ledgerStream = 'ledger'
export const logStream = (number: number): string => `ledger-${number}`
export const tilesStream = (number: number): string => `ledger-${number}-tiles`
export const anchorsStream = (number: number): string => `ledger-${number}-anchors`
