import { z } from 'zod'
import { type Codec, codecOf } from '../../events/facts.ts'
import { conversationIdSchema } from '../../events/ids.ts'

// What is stored of ledgers and audits, in streams of their own (ADR 35).

const count = z.int().min(0)
const text = z.string().min(1)

const schemas = {
  /** In `ledgerStream`, where the ledger's number is the revision. `reason`: why the one before was not continued. */
  LedgerBegun: z.object({ origin: text, key: text, reason: z.string().optional() }),
  /**
   * In `logStream`: entries from index `from` on, and the checkpoint after them, a signed note. `after`: what the store had up to there is
   * sealed; with `turns`, of the streams of turns as well. `rotations`: revisions of this stream in which the key changed, this one included.
   */
  HeadsSealed: z.object({
    from: count,
    entries: z.array(text),
    checkpoint: text,
    after: text.optional(),
    turns: z.literal(true).optional(),
    rotations: z.array(count),
  }),
  /** In `tilesStream`, where the index of the tile of level 0 is the revision: `Completed`, the hashes of each row in base64 as one. */
  TilesCompleted: z.object({ rows: z.array(text) }),
  /** In `anchorsStream`: the checkpoint, with cosignatures if it was given any, is kept by the anchor. `sealed`: when it was made. */
  LedgerAnchored: z.object({ anchor: text, size: count, checkpoint: text, sealed: text.optional() }),
  /** In `exportsStream`: somebody exported these, without the events at the positions `withheld`. */
  ConversationsExported: z.object({
    conversations: z.array(conversationIdSchema).min(1),
    format: text,
    by: text,
    reason: text.optional(),
    withheld: z.array(count).optional(),
    calls: z.object({ first: count, last: count }).optional(),
  }),
  /** In `patrolStream`: a problem that an audit has found, once. */
  PatrolAlarm: z.object({
    kind: z.enum(['ledger', 'entry', 'anchor', 'conversation', 'receipt', 'store']),
    message: text,
    conversation: text.optional(),
    revision: count.optional(),
  }),
  /**
   * In `placeStream`: how far a round is, kept when it is interrupted and now and then. `round`: the revision in `patrolStream` of the round
   * before, -1 if there is none. `entries`: so many of the ledger were compared; `conversation`: the last one that was checked, in the
   * order of names; `place`: what the store had up to there was written before the round began, which was at `began`.
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
  /** In `patrolStream`: everything was checked, from `began` on. */
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
