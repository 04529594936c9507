import { isConversationId } from '../events/ids.ts'
import type { VerifierKey } from '../ledger/keys.ts'
import {
  Broken,
  bytesIn,
  field,
  listIn,
  Malformed,
  need,
  NotChecked,
  numberIn,
  optional,
  parse,
  textIn,
} from './broken.ts'
import { checkChain, type Span } from './check-chain.ts'
import { checkLedger, type SealedIn } from './check-ledger.ts'
import { checkRequests } from './check-requests.ts'
import { look } from './look.ts'
import { bundleFormat, files, type Manifest } from './manifest.ts'

/**
 * `proven`: the signed ledger holds everything; `partly`: everything but what was left out; `unproven`: nothing contradicts the bundle, and
 * nothing proves it; `unchecked`: it is no bundle as it was written, or has nothing to do with the key; `broken`: it is not what was
 * written.
 */
export type Verdict = 'proven' | 'partly' | 'unproven' | 'unchecked' | 'broken'

export interface EvidenceVerified {
  readonly verdict: Verdict
  /** What was found out, in order, in words. */
  readonly found: readonly string[]
  /** When the first and the last event were recorded, as far as they show it (ISO 8601, UTC). */
  readonly span?: Span
  /** The ledger that has it, if the key was given. */
  readonly ledger?: SealedIn
  /** Why it is broken, unproven or unchecked. */
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
    return { ...refused(error), found }
  }
}

const verdictOn = async (
  folder: string,
  key: VerifierKey | undefined,
  found: string[],
): Promise<Omit<EvidenceVerified, 'found'>> => {
  await look(folder)
  const manifest = manifestIn(parse(await bytesIn(folder, files.manifest)))
  const { sealed, receipts, span } = await checkChain(folder, manifest)
  const { conversation, last, requests, withheld } = manifest
  found.push(`${last + 1} events of ${conversation}, each written after the one before it`)
  if (span) found.push(`recorded from ${span.from} to ${span.to}`)
  const missing = await checkRequests(folder, manifest, receipts)
  found.push(`${requests} requests, each what its receipt says was sent`)
  if (withheld.length > 0) found.push(`left out: the events ${listOf(withheld)}`)
  if (missing.length > 0)
    found.push(`left out: the requests that the receipts in the events ${listOf(missing)} are of`)
  const { ledger, problem } = await checkLedger(folder, manifest, { sealed, key })
  if (ledger)
    found.push(
      `sealed in the ledger ${ledger.origin}, in a checkpoint of ${ledger.size} entries that is signed with ${ledger.key}`,
    )
  const known = { ...(span && { span }), ...(ledger && { ledger }) }
  if (problem !== undefined) return { verdict: 'unproven', ...known, problem }
  return { verdict: withheld.length > 0 || missing.length > 0 ? 'partly' : 'proven', ...known }
}

/** A manifest in which every value is of the kind that it should be. */
const manifestIn = (value: unknown): Manifest => {
  const format = field(value, 'format')
  const [named, version] =
    (typeof format === 'string' && /^palimpsest evidence ([1-9][0-9]{0,8})$/.exec(format)) || []
  need(named !== undefined, 'bundle.json names a format that is not known here')
  need(Number(version) === 1, `this is ${named}: take a newer verify.py`, NotChecked)
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

/** Texts that are not JSON, or not UTF-8: a bundle has neither. */
const refused = (error: unknown): Pick<EvidenceVerified, 'verdict' | 'problem'> => {
  if (error instanceof Broken) return { verdict: 'broken', problem: error.message }
  if (error instanceof NotChecked) return { verdict: 'unchecked', problem: error.message }
  if (isOf('syscall', error)) return { verdict: 'unchecked', problem: 'a file cannot be read' }
  const isMalformed = error instanceof Malformed || error instanceof SyntaxError || isOf('code', error)
  if (isMalformed)
    return { verdict: 'broken', problem: 'what comes next is missing, or not in the form of a bundle' }
  throw error
}

/** Errors of the file system name a system call; those of a decoder have a code. */
const isOf = (mark: 'syscall' | 'code', error: unknown): boolean => error instanceof Error && mark in error

const words: Readonly<Record<Verdict, string>> = {
  proven: 'PROVEN',
  partly: 'PROVEN, APART FROM WHAT IS LEFT OUT',
  unproven: 'NOT PROVEN',
  unchecked: 'NOT CHECKED',
  broken: 'BROKEN',
}

/** What was found of a bundle, as lines. */
export const verdictLines = ({ verdict, found, problem }: EvidenceVerified): readonly string[] => [
  ...found,
  `${words[verdict]}${problem === undefined ? '' : `: ${problem}`}`,
]
