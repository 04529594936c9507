// What the API answers about audits (src/server/shapes/audit.ts says it as schemas).

export interface AnchorRow {
  readonly anchor: string
  readonly size: number
  /** When the checkpoint was made. */
  readonly time: string
}

interface Ledger {
  readonly origin: string
  /** The verifier key that signs now. */
  readonly key: string
  /** Entries. */
  readonly size: number
  readonly sealed?: string | undefined
  readonly anchors: readonly AnchorRow[]
}

/** Of `GET /audit`. */
export interface StoreAuditResponse {
  readonly ledger?: StoreLedger | undefined
}
export interface StoreLedger extends Ledger {
  /** When and why it was begun in place of another one. */
  readonly again?: { readonly time: string; readonly reason: string } | undefined
  readonly checkpoint?: string | undefined
  readonly unsealed: number
  readonly exposedSince?: string | undefined
}

/** Something of a conversation that was sealed. */
export interface AuditHead {
  readonly position: number
  /** Of the entry. */
  readonly index: number
  readonly head: string
  readonly sealed: string
  readonly state: 'same' | 'changed' | 'gone'
}

/** Of `GET /conversations/{id}/audit`. */
export interface ConversationAuditResponse {
  readonly last: number
  readonly ledger?: (Ledger & { readonly first: number; readonly heads: readonly AuditHead[] }) | undefined
  readonly problem?: string | undefined
}

export interface VerificationFinding {
  readonly call?: number | undefined
  readonly position: number
  readonly kind: string
  readonly message: string
}

/** Of `GET /conversations/{id}/verification`. */
export interface VerificationResponse {
  readonly last: number
  readonly events: number
  readonly discrepancy?:
    | { readonly position: number; readonly kind: string; readonly message: string }
    | undefined
  readonly receipts?:
    | {
        readonly verified: number
        readonly differs: number
        readonly missing: number
        readonly reconstructed: number
        readonly findings: readonly VerificationFinding[]
      }
    | undefined
}
