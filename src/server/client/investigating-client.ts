import type {
  LedgerProof,
  SealStatus,
  LedgerStatus,
  ReceiptFinding,
  VerificationReport,
} from '../../index.ts'
import type { BisectionView, VerdictInput } from '../../investigate/by-hand.ts'
import type {
  CacheReport,
  CallName,
  Cost,
  LossReport,
  MarkerStory,
  ReplayReport,
  ReplayPolicy,
  Why,
} from '../../investigate/index.ts'
import type { BodyOf } from './api.ts'
import { apiPathOf } from './api-path.ts'
import { textOf, type Transport } from './transport.ts'

/** The ledger's record of a conversation. */
export interface LedgerReport {
  readonly conversation: string
  /** Last position of the conversation. */
  readonly last: number
  /**
   * Status of the conversation in the ledger; absent if the store has no ledger. `proof` is absent if no event of the conversation is
   * sealed.
   */
  readonly ledger?: SealStatus & { readonly proof?: LedgerProof }
  /** Reason why the ledger itself cannot be trusted. */
  readonly problem?: string
}

/** Result of recomputing every hash and every request of a conversation. */
export interface IntegrityReport extends Pick<
  VerificationReport,
  'conversation' | 'events' | 'erased' | 'discrepancy'
> {
  /** Last position of the conversation. */
  readonly last: number
  /** Number of calls in each receipt state, with the findings; absent if the events cannot be read. */
  readonly receipts?: {
    readonly verified: number
    readonly differs: number
    /** Number of calls that are not checkable, because their requests showed content that was erased. */
    readonly erased?: number
    readonly missing: number
    readonly reconstructed: number
    readonly findings: readonly ReceiptFinding[]
  }
}

/** Summary of a bisection, for lists. */
export interface BisectionSummary extends Omit<
  BisectionView,
  'candidates' | 'probabilities' | 'suspects' | 'verdicts'
> {
  /** Number of verdicts recorded so far. */
  readonly verdicts: number
}

/**
 * Analyses that a server runs on a conversation. Methods reject with `TooLong` if the conversation has more than 100,000 events
 * (`cache`: 10,000, `replay` and `whyAll`: 5,000), with `ConversationNotFound`, or with `Overloaded`.
 */
export interface InvestigatingClient {
  /** Returns the ledger's record of the conversation and checks that the record still holds. Needs the scope `audit`. */
  readonly standing: () => Promise<LedgerReport>
  /** Recomputes every hash, and every request that has a receipt. Needs the scope `audit`. */
  readonly verification: () => Promise<IntegrityReport>
  /** Returns a ZIP archive of the bundle that `palimpsest audit export` writes. Needs the scope `audit`. */
  readonly evidence: (options?: BodyOf<'/conversations/{id}/evidence'>) => Promise<Blob>
  /** Finds the calls that could not read from the prompt cache everything that the previous call had cached. */
  readonly cache: () => Promise<CacheReport>
  /** Computes the cost of the conversation, including its subagents. */
  readonly cost: () => Promise<Cost>
  /**
   * Explains a call: the items that the model was shown, and those that were hidden. A reply without a receipt is named by `p` and its
   * position. Rejects with `CallOutOfRange`.
   */
  readonly why: (call: CallName) => Promise<Why>
  /** Lists what summaries and truncations hid although a later reply needed it, most needed first. */
  readonly whyAll: () => Promise<LossReport>
  /** Tells what a marker hid, and what its summary lost. Rejects with `NotFound` if there is no marker at the position. */
  readonly markerStory: (marker: number) => Promise<MarkerStory>
  /** Replays the conversation with another policy or, by default, with the recorded one. Rejects with `InvalidInput`. */
  readonly replay: (policy?: ReplayPolicy) => Promise<ReplayReport>
  readonly bisections: () => Promise<readonly BisectionSummary[]>
  readonly bisection: (id: string) => Promise<BisectionView>
  /** Begins a manual bisection, or continues the newest one with the same question. Rejects with `InvalidInput`. */
  readonly bisect: (asked: BodyOf<'/conversations/{id}/bisections'>) => Promise<BisectionView>
  /** Records a verdict on the position that the bisection asks about. Rejects with `NotAsked`. */
  readonly verdict: (bisection: string, said: VerdictInput) => Promise<BisectionView>
}

/** Returns the status of the store's ledger, or undefined if the store has no ledger. */
export const ledgerStatus = async ({ get }: Transport): Promise<LedgerStatus | undefined> => {
  const { ledger } = await get<{ readonly ledger?: LedgerStatus }, '/audit'>('/audit')
  return ledger
}

export const costOfAll = ({ get }: Transport): Promise<Cost> => get('/cost')

export const createInvestigatingClient = (
  { get, post, open }: Transport,
  id: string,
): InvestigatingClient => {
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
    whyAll: () => get('/conversations/{id}/why', of),
    markerStory: (marker) => get('/conversations/{id}/markers/{marker}', { id, marker }),
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
