import type { EventTooLarge, InvalidInput } from '../../events/errors.ts'
import type { StoreError } from '../../store/errors.ts'

/** Errors that sealing can return. */
export type SealError = LedgerError | KeyMismatch | AnchorAhead | AnchorFailed
/** Errors that reading or writing a ledger can return. */
export type LedgerError = StoreError | InvalidInput | EventTooLarge | LedgerNotFound | LedgerDamaged
export type ProofError = LedgerError | NotSealed | SealContradicted
/** Errors that beginning a ledger can return. */
export type BeginError = LedgerError | LedgerExists

/** Error: the store has no ledger. */
export interface LedgerNotFound {
  readonly _tag: 'LedgerNotFound'
  readonly message: string
  /** URL of the store, without credentials. */
  readonly store: string
}
/** Error: the store already has a ledger. */
export interface LedgerExists {
  readonly _tag: 'LedgerExists'
  readonly message: string
  readonly origin: string
}
/** Error: the stored ledger differs from the ledger that was signed. */
export interface LedgerDamaged {
  readonly _tag: 'LedgerDamaged'
  readonly message: string
  readonly origin: string
}
/** Error: the conversation is not in the ledger. */
export interface NotSealed {
  readonly _tag: 'NotSealed'
  readonly message: string
  readonly conversation: string
}
/** Error: the conversation, or one that it was forked from, no longer matches its ledger entry. */
export interface SealContradicted {
  readonly _tag: 'SealContradicted'
  readonly message: string
  readonly conversation: string
  /** Revision of the event in its stream. */
  readonly revision: number
}
/** Error: the key is not the current signing key of the ledger. */
export interface KeyMismatch {
  readonly _tag: 'KeyMismatch'
  readonly message: string
  /** Expected and actual verifier keys. */
  readonly expected: string
  readonly actual: string
}
/** Error: an anchor holds a checkpoint of a larger ledger than the store's. */
export interface AnchorAhead {
  readonly _tag: 'AnchorAhead'
  readonly message: string
  readonly anchor: string
  /** Numbers of ledger entries seen by the anchor (`anchored`) and present in the store (`actual`). */
  readonly anchored: number
  readonly actual: number
}
/** Error: an anchor could not store or return a checkpoint. */
export interface AnchorFailed {
  readonly _tag: 'AnchorFailed'
  readonly message: string
  readonly anchor: string
  readonly cause?: unknown
}

/** Name of a new key's file, for a shell. It has the time, because a key is never overwritten: a fixed name works only once. */
export const newKeyName = 'audit-$(date +%FT%H%M%S).key'

export const ledgerNotFound = (store: string): LedgerNotFound => ({
  _tag: 'LedgerNotFound',
  message: `${store} has no ledger: begin one with palimpsest audit init`,
  store,
})

/**
 * Creates the error for an attempt to begin a second ledger.
 *
 * @param key current verifier key of the existing ledger, if known
 */
export const ledgerExists = (origin: string, key?: string): LedgerExists => ({
  _tag: 'LedgerExists',
  message: `the store already has the ledger ${origin}${key === undefined ? '' : `, with the verifier key ${key}`}: seal with its key, replace the key with palimpsest audit rotate-key ${newKeyName}, or, if the key or part of the ledger is permanently lost, begin a new ledger with palimpsest audit init --key ${newKeyName} --again REASON --force`,
  origin,
})

/** Creates the error for an attempt to replace a ledger that is intact. */
export const ledgerIntact = (origin: string): LedgerExists => ({
  _tag: 'LedgerExists',
  message: `ledger ${origin} is intact, and a new ledger would end it: seal with its key, or replace the key with palimpsest audit rotate-key ${newKeyName}. If the key or later entries are permanently lost, run palimpsest audit init --key ${newKeyName} --again REASON --force (in a program, force: true)`,
  origin,
})

/**
 * Creates a `LedgerDamaged` error.
 *
 * @param problem sentence, without a full stop, that describes the damage
 */
export const ledgerDamaged = (origin: string, problem: string): LedgerDamaged => ({
  _tag: 'LedgerDamaged',
  message: `ledger ${origin}: ${problem}. Run palimpsest audit verify to see the differences, keep a copy of the damaged store, and restore a backup`,
  origin,
})

export const notSealed = (conversation: string): NotSealed => ({
  _tag: 'NotSealed',
  message: `conversation ${conversation} is not in the ledger yet: seal it with palimpsest audit seal`,
  conversation,
})

/**
 * Creates a `SealContradicted` error.
 *
 * @param difference sentence, without a full stop, that says how the event differs
 */
export const sealContradicted = (
  conversation: string,
  revision: number,
  difference: string,
): SealContradicted => ({
  _tag: 'SealContradicted',
  message: `conversation ${conversation} contradicts the ledger at revision ${revision}: ${difference}. The store was changed: keep a copy of it, run palimpsest audit verify, and restore a backup; to export the current content anyway, use --force`,
  conversation,
  revision,
})

/**
 * Creates a `SealContradicted` error for a conversation whose events contradict one another.
 *
 * @param position position of the first event that does not contain the hash of the event before it
 */
export const chainBroken = (conversation: string, position: number): SealContradicted => ({
  _tag: 'SealContradicted',
  message: `conversation ${conversation} was changed: event ${position} does not contain the hash of the event before it. Keep a copy of the store, run palimpsest verify, and restore a backup; to export the current content anyway, use --force`,
  conversation,
  revision: position,
})

/**
 * Creates a `KeyMismatch` error.
 *
 * @param wasReplaced true if `actual` signed the ledger until another key replaced it
 */
export const keyMismatch = (expected: string, actual: string, wasReplaced: boolean): KeyMismatch => ({
  _tag: 'KeyMismatch',
  message: wasReplaced
    ? `this key, ${actual}, was replaced: since then ${expected} signs the ledger. Specify the file of that key`
    : `this key has never signed the ledger: another does, for example if a ledger was begun since (audit init --again). Specify the file of that key. The verifier key of the ledger is ${expected}, and this key's is ${actual}`,
  expected,
  actual,
})

/**
 * Creates an `AnchorAhead` error.
 *
 * @param isOtherKey true if no key that the store knows has signed what the anchor has seen
 */
export const anchorAhead = (
  anchor: string,
  anchored: number,
  actual: number,
  isOtherKey = false,
): AnchorAhead => ({
  _tag: 'AnchorAhead',
  message: `${anchor} has seen ${anchored} entries of this ledger${isOtherKey ? ', signed by a key that the store does not know' : ''}, and the store has ${actual}: it is an older copy, such as a restored backup${isOtherKey ? ' from before the key was replaced' : ''}, or entries were removed. Nothing is signed, because the key would then sign two different histories. Restore the newest copy; if later entries are permanently lost, begin a new ledger with palimpsest audit init --key ${newKeyName} --again REASON --force`,
  anchor,
  anchored,
  actual,
})

export const anchorFailed = (anchor: string, problem: string, cause?: unknown): AnchorFailed => ({
  _tag: 'AnchorFailed',
  message: `${anchor} ${problem}`,
  anchor,
  ...(cause !== undefined && { cause }),
})
