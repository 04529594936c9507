import type { VerifierKey } from '../ledger/keys.ts'
import { BrokenBundleError, bytesIn, inFile, isSystemError, UncheckedBundleError } from './bundle-errors.ts'
import { checkChain, checkTurns, type EventSpan, type TurnsChain } from './check-chain.ts'
import { checkLedger, type ChainHashes, type LedgerCheckResult, type SealedIn } from './check-ledger.ts'
import { checkRequests } from './check-requests.ts'
import { look } from './look.ts'
import { files } from './manifest.ts'
import { manifestFrom } from './read-manifest.ts'

/**
 * Result of verifying a bundle. `proven`: the signed ledger proves everything; `partly`: it proves everything except what was left out;
 * `unproven`: the bundle is consistent but nothing proves it; `unchecked`: the folder is not a bundle or has been
 * repackaged, or the key belongs to another ledger; `broken`: the content was changed after it was written.
 */
export type BundleVerdict = 'proven' | 'partly' | 'unproven' | 'unchecked' | 'broken'

export interface EvidenceVerification {
  readonly verdict: BundleVerdict
  /** Findings as text, in the order of the checks. */
  readonly found: readonly string[]
  /** Recording times of the first and last events that include a time (ISO 8601, UTC). */
  readonly span?: EventSpan
  /** The ledger in which the bundle is sealed; absent if the ledger's key was not given. */
  readonly ledger?: SealedIn
  /** Reason why the bundle is broken, unproven or unchecked; absent for other verdicts. */
  readonly problem?: string
}

/** Hashes of the events in a bundle, and the numbers of events that the ledger proves. */
export interface ProvenEvents extends Pick<LedgerCheckResult, 'proven'> {
  readonly hashes: ChainHashes
}

/**
 * Verifies a bundle with the same checks and findings as the program in the bundle.
 *
 * @param key the verifier key of the ledger, which must come from somewhere other than the bundle
 * @param onProven called with what the ledger proves, if nothing contradicts the bundle
 */
export const verifyEvidence = async (
  folder: string,
  key?: VerifierKey,
  onProven?: (proven: ProvenEvents) => void,
): Promise<EvidenceVerification> => {
  const found: string[] = []
  try {
    return { ...(await verdictOn(folder, key, found, onProven)), found }
  } catch (error) {
    return { ...verdictOfError(error), found }
  }
}

const verdictOn = async (
  folder: string,
  key: VerifierKey | undefined,
  found: string[],
  onProven: ((proven: ProvenEvents) => void) | undefined,
): Promise<Omit<EvidenceVerification, 'found'>> => {
  await look(folder)
  const manifest = await inFile(files.manifest, async () =>
    manifestFrom(await bytesIn(folder, files.manifest)),
  )
  const { conversation, requests, isSecond } = manifest
  const {
    hashes: events,
    withheld,
    receipts,
    span,
  } = await inFile(files.events, () => checkChain(folder, manifest))
  found.push(`${events.length} events of ${conversation}, each with the hash of the one before it`)
  if (span) found.push(`recorded from ${span.from} to ${span.to}`)
  const turns = isSecond ? await inFile(files.turns, () => checkTurns(folder, manifest)) : noTurns
  if (turns.hashes.length > 0)
    found.push(
      `${turns.hashes.length} events of its turns, each with the hash of the one before it; decisions on calls: ${turns.decisions}`,
    )
  const missing = await inFile(files.requests, () => checkRequests(folder, manifest, receipts))
  found.push(`${requests} requests, each matching its receipt`)
  if (withheld.length > 0) found.push(`left out: the events ${listOf(withheld)}`)
  if (turns.withheld.length > 0) found.push(`left out: the events of its turns ${listOf(turns.withheld)}`)
  if (missing.length > 0)
    found.push(`left out: the requests for the receipts in the events ${listOf(missing)}`)
  const hashes = { events, turns: turns.hashes }
  const { ledger, proven, problem } = await checkLedger(folder, manifest, hashes, key)
  if (ledger) found.push(...ledgerLines(ledger))
  const known = { ...(span && { span }), ...(ledger && { ledger }) }
  onProven?.({ hashes, proven })
  if (problem !== undefined) return { verdict: 'unproven', ...known, problem }
  const isPart = withheld.length > 0 || turns.withheld.length > 0 || missing.length > 0
  return { verdict: isPart ? 'partly' : 'proven', ...known }
}

const noTurns: TurnsChain = { hashes: [], withheld: [], decisions: 0 }

const ledgerLines = ({ origin, key, size, entries, sealed }: SealedIn): readonly string[] => [
  `sealed in the ledger ${origin}, in a checkpoint of ${size} entries that is signed with ${key}`,
  ...(sealed === undefined
    ? []
    : [`entries for this bundle: ${entries}; checkpoint time according to the store: ${sealed}`]),
]

const listOf = (positions: readonly number[]): string => `[${positions.join(', ')}]`

/** Converts an error into a verdict. */
export const verdictOfError = (error: unknown): Pick<EvidenceVerification, 'verdict' | 'problem'> => {
  if (error instanceof BrokenBundleError) return { verdict: 'broken', problem: error.message }
  if (error instanceof UncheckedBundleError) return { verdict: 'unchecked', problem: error.message }
  if (isSystemError(error)) return { verdict: 'unchecked', problem: 'the folder cannot be read' }
  throw error
}

const words: Readonly<Record<BundleVerdict, string>> = {
  proven: 'PROVEN',
  partly: 'PROVEN, APART FROM WHAT IS LEFT OUT',
  unproven: 'NOT PROVEN',
  unchecked: 'NOT CHECKED',
  broken: 'BROKEN',
}

/** Returns the findings and the verdict on a bundle as lines. */
export const verdictLines = ({ verdict, found, problem }: EvidenceVerification): readonly string[] => [
  ...found,
  `${words[verdict]}${problem === undefined ? '' : `: ${problem}`}`,
]
