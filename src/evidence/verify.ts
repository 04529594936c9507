import { isConversationId } from '../events/ids.ts'
import type { VerifierKey } from '../ledger/keys.ts'
import {
  Broken,
  bytesIn,
  field,
  listIn,
  Malformed,
  need,
  numberIn,
  optional,
  parse,
  textIn,
} from './broken.ts'
import { checkChain } from './check-chain.ts'
import { checkLedger } from './check-ledger.ts'
import { checkRequests } from './check-requests.ts'
import { bundleFormat, files, type Manifest } from './manifest.ts'

/**
 * `proven`: the signed ledger holds everything; `partly`: everything but what was left out; `unproven`: nothing contradicts the bundle, and
 * nothing proves it; `broken`: it is not what was written.
 */
export type Verdict = 'proven' | 'partly' | 'unproven' | 'broken'

export interface EvidenceVerified {
  readonly verdict: Verdict
  /** What was found out, in order, in words. */
  readonly found: readonly string[]
  /** Why it is broken or unproven. */
  readonly problem?: string
}

/**
 * Checks a bundle as the program in it does, line by line the same.
 *
 * @param key the verifier key of the ledger, which must come from somewhere other than the bundle
 */
export const verifyEvidence = async (folder: string, key?: VerifierKey): Promise<EvidenceVerified> => {
  const found: string[] = []
  try {
    return { ...(await verdictOn(folder, key, found)), found }
  } catch (error) {
    return { verdict: 'broken', found, problem: problemOf(error) }
  }
}

const verdictOn = async (
  folder: string,
  key: VerifierKey | undefined,
  found: string[],
): Promise<Omit<EvidenceVerified, 'found'>> => {
  const manifest = manifestIn(parse(await bytesIn(folder, files.manifest)))
  const { sealed, receipts } = await checkChain(folder, manifest)
  const { conversation, last, requests, withheld } = manifest
  found.push(`${last + 1} events of ${conversation}, each written after the one before it`)
  const missing = await checkRequests(folder, manifest, receipts)
  found.push(`${requests} requests, each what its receipt says was sent`)
  if (withheld.length > 0) found.push(`left out: the events ${listOf(withheld)}`)
  if (missing.length > 0)
    found.push(`left out: the requests that the receipts in the events ${listOf(missing)} are of`)
  const problem = await checkLedger(folder, manifest, { sealed, key })
  if (problem !== undefined) return { verdict: 'unproven', problem }
  return { verdict: withheld.length > 0 || missing.length > 0 ? 'partly' : 'proven' }
}

/** A manifest in which every value is of the kind that it should be. */
const manifestIn = (value: unknown): Manifest => {
  need(field(value, 'format') === bundleFormat, 'bundle.json names a format that is not known here')
  const conversation = textIn(field(value, 'conversation'))
  need(isConversationId(conversation), 'bundle.json names what cannot be a conversation')
  const [first, last, requests] = (['first', 'last', 'requests'] as const).map((name) =>
    numberIn(field(value, name)),
  ) as [number, number, number]
  const place = optional(value, 'ledger')
  const ledger = place !== undefined && {
    revision: numberIn(field(place, 'revision')),
    index: numberIn(field(place, 'index')),
    proof: optional(place, 'proof') as readonly string[],
  }
  const withheld = listIn(field(value, 'withheld')).map(numberIn)
  // What the events and the checkpoint say of these two is compared with them, whatever they are.
  const head = field(value, 'head') as string
  return {
    format: bundleFormat,
    conversation,
    first,
    last,
    head,
    withheld,
    requests,
    ...(ledger && { ledger }),
  }
}

const listOf = (positions: readonly number[]): string => `[${positions.join(', ')}]`

/** Files that cannot be read, texts that are not JSON: a bundle has neither. */
const problemOf = (error: unknown): string => {
  if (error instanceof Broken) return error.message
  const isOfBundle = error instanceof Malformed || error instanceof SyntaxError || isOfFile(error)
  if (isOfBundle) return 'what comes next is missing, or not in the form of a bundle'
  throw error
}

/** Of the file system, or of a decoder. */
const isOfFile = (error: unknown): boolean => error instanceof Error && 'code' in error

const words: Readonly<Record<Verdict, string>> = {
  proven: 'PROVEN',
  partly: 'PROVEN, APART FROM WHAT IS LEFT OUT',
  unproven: 'NOT PROVEN',
  broken: 'BROKEN',
}

/** What was found of a bundle, as lines. */
export const verdictLines = ({ verdict, found, problem }: EvidenceVerified): readonly string[] => [
  ...found,
  `${words[verdict]}${problem === undefined ? '' : `: ${problem}`}`,
]
