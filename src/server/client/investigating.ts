import type {
  LedgerProof,
  SealStatus,
  LedgerStatus,
  ReceiptFinding,
  VerificationReport,
} from '../../index.ts'
import type { BisectionView, VerdictInput } from '../../investigate/by-hand.ts'
import type { CacheReport, CallName, Cost, ReplayReport, ReplayPolicy, Why } from '../../investigate/index.ts'
import type { BodyOf } from './api.ts'
import { apiPathOf } from './api-path.ts'
import { textOf, type Transport } from './transport.ts'

/** What the ledger has of a conversation. */
export interface LedgerReport {
  readonly conversation: string
  /** The last position of the conversation. */
  readonly last: number
  /** Absent if the store has no ledger; `proof` if nothing of the conversation is sealed. */
  readonly ledger?: SealStatus & { readonly proof?: LedgerProof }
  /** Why the ledger itself cannot be believed. */
  readonly problem?: string
}

/** What computing every hash and every request again has shown. */
export interface IntegrityReport extends Pick<VerificationReport, 'conversation' | 'events' | 'discrepancy'> {
  /** The last position of the conversation. */
  readonly last: number
  /** Calls by what their receipts prove; absent if the events cannot be read. */
  readonly receipts?: {
    readonly verified: number
    readonly differs: number
    readonly missing: number
    readonly reconstructed: number
    readonly findings: readonly ReceiptFinding[]
  }
}

/** A bisection in a list. */
export interface BisectionSummary extends Omit<
  BisectionView,
  'candidates' | 'probabilities' | 'suspects' | 'verdicts'
> {
  /** How many there are. */
  readonly verdicts: number
}

/** What a server finds out about a conversation: of 100,000 events at most, `cache` of 10,000, `replay` of 5,000 (`TooLong`). Rejects with `ConversationNotFound`, `Overloaded`. */
export interface InvestigatingClient {
  /** What the ledger has of it, and whether that is still so. Needs the scope `audit`. */
  readonly standing: () => Promise<LedgerReport>
  /** Computes every hash, and every request that has a receipt, again. Needs the scope `audit`. */
  readonly verification: () => Promise<IntegrityReport>
  /** A ZIP archive of what `palimpsest audit export` writes. Needs the scope `audit`. */
  readonly evidence: (options?: BodyOf<'/conversations/{id}/evidence'>) => Promise<Blob>
  /** Which calls could not read what was in the prompt cache. */
  readonly cache: () => Promise<CacheReport>
  /** With its subagents. */
  readonly cost: () => Promise<Cost>
  /** What the model was shown in a call and what not; a reply without a receipt is `p` and its position. Rejects with `CallOutOfRange`. */
  readonly why: (call: CallName) => Promise<Why>
  /** What another policy would have sent; without one, the recorded one. Rejects with `InvalidInput`. */
  readonly replay: (policy?: ReplayPolicy) => Promise<ReplayReport>
  readonly bisections: () => Promise<readonly BisectionSummary[]>
  readonly bisection: (id: string) => Promise<BisectionView>
  /** Begins a bisection by hand, or continues the newest one that asks the same. Rejects with `InvalidInput`. */
  readonly bisect: (asked: BodyOf<'/conversations/{id}/bisections'>) => Promise<BisectionView>
  /** Answers the position that it asks for. Rejects with `NotAsked`. */
  readonly verdict: (bisection: string, said: VerdictInput) => Promise<BisectionView>
}

/** Of the store. */
export const audited = async ({ get }: Transport): Promise<LedgerStatus | undefined> => {
  const { ledger } = await get<{ readonly ledger?: LedgerStatus }, '/audit'>('/audit')
  return ledger
}

/** Of all conversations. */
export const costOfAll = ({ get }: Transport): Promise<Cost> => get('/cost')

export const investigating = ({ get, post, open }: Transport, id: string): InvestigatingClient => {
  const of = { id }
  return {
    standing: () => get('/conversations/{id}/audit', of),
    verification: () => get('/conversations/{id}/verification', of),
    evidence: async (options = {}) => {
      const path = apiPathOf('/conversations/{id}/evidence', of)
      const body = textOf(options)
      const answer = await open({ method: 'POST', path, body, lastId: undefined, signal: undefined })
      return answer.blob()
    },
    cache: () => get('/conversations/{id}/cache', of),
    cost: () => get('/conversations/{id}/cost', of),
    why: (call) => get('/conversations/{id}/calls/{call}/why', { id, call }),
    replay: (policy) => post('/conversations/{id}/replay', of, policy === undefined ? {} : { policy }),
    bisections: async () => {
      type Page = { readonly items: readonly BisectionSummary[] }
      return (await get<Page, '/conversations/{id}/bisections'>('/conversations/{id}/bisections', of)).items
    },
    bisection: (name) => get('/conversations/{id}/bisections/{bisection}', { id, bisection: name }),
    bisect: (asked) => post('/conversations/{id}/bisections', of, asked),
    verdict: (name, said) =>
      post('/conversations/{id}/bisections/{bisection}/verdicts', { id, bisection: name }, said),
  }
}
