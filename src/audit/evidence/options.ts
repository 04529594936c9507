import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import { unwrap, type Fallible } from '../../result/fallible.ts'
import { checkOptions, kinds } from '../../store/options.ts'
import type { OnReady } from './folder.ts'
import type { BundleProof } from './manifest.ts'
import type { Choice } from './show-call.ts'

export interface EvidenceOptions {
  /** Destination folder. It must be empty or not yet exist. */
  readonly folder: string
  /** Range of call numbers whose requests are included; `first` and `last` are inclusive. Default: all calls. */
  readonly calls?: { readonly first: number; readonly last: number } | undefined
  /** Positions of events to withhold; the bundle contains the hash and the end of the text of each, not its content. Default: none. */
  readonly withhold?: readonly number[] | undefined
  /**
   * The ledger's proof of the conversation, with all entries (`store.audit.proof(id, { compare: true })`). Without it, the bundle
   * proves nothing against people who can write to the store.
   */
  readonly ledger?: BundleProof | undefined
  /**
   * True to write a bundle although its content has what looks like secrets, or although an event was changed: the bundle will then be
   * BROKEN. Default false.
   */
  readonly force?: boolean | undefined
  /**
   * Called after all checks have passed and before any of the conversation is written, for example to record the export. If it throws,
   * the export stops.
   */
  readonly onReady?: OnReady | undefined
}

const fields = {
  folder: kinds.text,
  calls: kinds.anything,
  withhold: kinds.anything,
  ledger: kinds.anything,
  force: kinds.flag,
  onReady: kinds.call,
}

/** A ledger proof that contains every entry. */
export type WholeProof = BundleProof & Required<Pick<BundleProof, 'entries'>>

const isWhole = (proof: BundleProof): proof is WholeProof => Array.isArray(proof.entries)

/** Export options after the checks that do not need the conversation's events. */
export interface ResolvedEvidenceOptions extends Choice {
  readonly folder: string
  readonly ledger: WholeProof | undefined
  /** Number of the last call that the export must include; 0 if the options name no calls. */
  readonly lastCall: number
  readonly onReady: OnReady | undefined
  readonly force: boolean
}

export async function* resolveOptions(
  options: EvidenceOptions,
  last: number,
): Fallible<InvalidInput, ResolvedEvidenceOptions> {
  const {
    folder = '',
    calls,
    withhold = [],
    ledger,
    force = false,
    onReady,
  } = yield* unwrap(checkOptions(options, fields))
  if (folder === '' || folder.includes('\0'))
    return yield invalidInput('folder', 'must be the path of a folder, such as evidence/task-42')
  if (calls !== undefined && !(isNumber(calls.first, 1) && isNumber(calls.last, calls.first)))
    return yield invalidInput(
      'calls',
      'must be the numbers of the first and the last call, such as { first: 3, last: 7 }',
    )
  if (ledger && !isWhole(ledger))
    return yield invalidInput(
      'ledger',
      'must have all entries of the conversation: pass the result of store.audit.proof(id, { compare: true })',
    )
  return {
    folder,
    ledger,
    onReady,
    force,
    lastCall: calls?.last ?? 0,
    withheld: yield* positionsIn(withhold, last),
    isChosen: (call) => calls === undefined || (call >= calls.first && call <= calls.last),
  }
}

/** Returns the positions to withhold. Fails with `InvalidInput` if one of them does not exist. */
export async function* positionsIn(
  withhold: readonly number[],
  last: number,
): Fallible<InvalidInput, ReadonlySet<number>> {
  return Array.isArray(withhold) && withhold.every((position) => isNumber(position, 0) && position <= last)
    ? new Set(withhold)
    : yield invalidInput('withhold', `must be a list of positions from 0 to ${last}`)
}

const isNumber = (value: unknown, least: number): boolean =>
  Number.isSafeInteger(value) && Number(value) >= least
