import * as E from 'fp-ts/lib/Either.js'
import type { ConversationHandle } from '../../conversation/conversation.ts'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import type { Actor } from '../../events/events.ts'
import type { MethodResult, ResultStyle } from '../../result/answer.ts'
import { unwrap, orThrow, type Fallible, task } from '../../result/fallible.ts'
import { checkOptions, type OptionKinds, isListOf, kinds } from '../../store/options.ts'
import type { EventStore } from '../../store/port.ts'
import type { Anchor } from './anchors.ts'
import { type AuditSummary, runAudit } from './run-audit.ts'
import { type BeginOptions, beginLedger, type LedgerKey, rotateKey } from './begin.ts'
import type { BeginError, LedgerError, ProofError, SealError } from './errors.ts'
import type { Signer } from './keys.ts'
import { type ExportRecord, exportsIn, recordExport, type RecordedExport } from './exports.ts'
import { nodesOf } from './nodes.ts'
import { type LedgerProof, proofOf, type ProofOptions } from './prove.ts'
import { day, type PatrolOptions, patrolOn } from './patrol.ts'
import { type SealedNow, type SealContext, sealNow } from './seal.ts'
import { defaultPace, type SealerEvent, type SealerPace, sealOn } from './sealer.ts'
import { type SealStatus, sealStatusOf } from './seal-status.ts'
import { type LedgerStatus, statusOf } from './status.ts'
import type { AuditProblem } from './verify.ts'

/** Options of `seal`: the signer, and the anchors that store checkpoints. */
export interface SealOptions {
  readonly signer: Signer
  /** Anchors that receive each checkpoint. Default: none. */
  readonly anchors?: readonly Anchor[] | undefined
  /**
   * True to give checkpoints also to an anchor that has lost those that it was given; otherwise it fails with `AnchorFailed`. Default
   * false.
   */
  readonly renewAnchors?: boolean | undefined
}

/**
 * Options of `follow`: the options of `seal`, and limits for sealing a changed conversation. It is sealed when the first limit is
 * reached.
 */
export interface SealerOptions extends SealOptions {
  /** Milliseconds without an event after which a conversation is sealed. Default 60,000. */
  readonly quiet?: number | undefined
  /** Number of events after which a conversation is sealed. Default 100. */
  readonly events?: number | undefined
  /** Milliseconds from a conversation's first unsealed event until the conversation is sealed. Default 600,000. */
  readonly longest?: number | undefined
  /** Interval between checks of the store, in milliseconds. Default 5,000. */
  readonly every?: number | undefined
  /** Interval between checkpoints given to anchors, in milliseconds. Default 600,000. */
  readonly anchorEvery?: number | undefined
  readonly signal?: AbortSignal | undefined
  /** Called with the sealer's actions and with failures that it will retry. */
  readonly onEvent?: ((event: SealerEvent) => void) | undefined
}

export interface RotateOptions {
  readonly signer: Signer
  /** Signer that replaces the current one. */
  readonly to: Signer
}

export interface StatusOptions {
  /** True to also count model replies without a receipt, which reads every event. Default false. */
  readonly calls?: boolean | undefined
  /** Anchors with which the ledger is compared, as before a seal; the result says if nothing would be signed (`blocked`). */
  readonly anchors?: readonly Anchor[] | undefined
}

export interface AuditOptions {
  readonly anchors?: readonly Anchor[] | undefined
  /**
   * Verifier key from a source outside the store. It selects the ledger to audit, which may be an earlier ledger of the store. Default:
   * the key named by the store.
   */
  readonly key?: string | undefined
  /**
   * The `checkpoint` of an earlier audit. Conversations unchanged since then and entries sealed before it are not read again. Default:
   * everything is read.
   */
  readonly since?: string | undefined
}

/** A finding of an audit; the last finding summarizes the number of items checked. */
export type AuditFinding = AuditProblem | AuditSummary

/** Operations on a signed ledger of the heads of all conversations. docs/audit.md. */
export interface Audit<W extends ResultStyle> {
  /**
   * Begins the ledger. Errors: `LedgerExists`.
   *
   * @example
   * const signer = await newKeyFile('palimpsest-audit.key')
   * const { key } = await store.audit.init({ signer, origin: 'example.com/support' })
   */
  readonly init: (options: BeginOptions) => MethodResult<W, BeginError, LedgerKey>
  /**
   * Seals every conversation that was written to since it was last sealed, and gives the checkpoint to the anchors. The result names
   * each anchor that fails. Errors: `KeyMismatch`; `AnchorAhead` if an anchor has seen more entries than the ledger contains;
   * `AnchorFailed` if that cannot be determined, or if an anchor has lost checkpoints.
   *
   * @example
   * const signer = await newKeyFile('palimpsest-audit.key')
   * await store.audit.init({ signer })
   * const { sealed } = await store.audit.seal({ signer, anchors: [fileAnchor('checkpoints/')] })
   */
  readonly seal: (options: SealOptions) => MethodResult<W, SealError, SealedNow>
  /**
   * Seals conversations as they become quiet, until the signal aborts. Errors: any error of `seal` that a retry cannot fix.
   *
   * @example
   * const signer = await newKeyFile('palimpsest-audit.key')
   * await store.audit.init({ signer })
   * await store.audit.follow({ signer, signal: AbortSignal.timeout(100) })
   */
  readonly follow: (options: SealerOptions) => MethodResult<W, SealError, void>
  /**
   * Replaces the signing key with an entry that both keys sign.
   *
   * @example
   * const signer = await newKeyFile('palimpsest-audit.key')
   * await store.audit.init({ signer })
   * const { key } = await store.audit.rotateKey({ signer, to: await newKeyFile('2027.key') })
   */
  readonly rotateKey: (options: RotateOptions) => MethodResult<W, SealError, LedgerKey>
  /**
   * Returns the extent of the ledger and the events that it does not cover yet.
   *
   * @example
   * await store.audit.init({ signer: await newKeyFile('palimpsest-audit.key') })
   * const { unsealed, exposedSince } = await store.audit.status()
   */
  readonly status: (options?: StatusOptions) => MethodResult<W, LedgerError, LedgerStatus>
  /**
   * Returns the proof that a conversation is in the ledger, up to its last sealed event. Errors: `NotSealed`; with `compare`, which
   * evidence exports use, also `SealContradicted`.
   *
   * @example
   * const signer = await newKeyFile('palimpsest-audit.key')
   * await store.audit.init({ signer })
   * await store.audit.seal({ signer })
   * const { checkpoint, proof } = await store.audit.proof('task-42')
   */
  readonly proof: (conversation: string, options?: ProofOptions) => MethodResult<W, ProofError, LedgerProof>
  /**
   * Returns the ledger's entries for a conversation and reports whether its events still match them.
   *
   * @example
   * await store.audit.init({ signer: await newKeyFile('palimpsest-audit.key') })
   * const { heads, anchors } = await store.audit.standing('task-42')
   */
  readonly standing: (conversation: string) => MethodResult<W, LedgerError, SealStatus>
  /**
   * Runs the checks of `verify` slowly and repeatedly until the signal aborts. Records each problem once, as an event in the stream
   * `patrol`, and records the end of each round there too. Errors: failures to read the progress of an earlier patrol. Later failures
   * are reported to `onEvent` and retried.
   *
   * @example
   * await store.audit.patrol({ signal: AbortSignal.timeout(100), onEvent: (event) => console.log(event.type) })
   */
  readonly patrol: (options?: PatrolOptions) => MethodResult<W, LedgerError, void>
  /**
   * Records an export of conversations. Call it before any of them is written, in `onReady` of `evidence` or `document`.
   *
   * @example
   * const record = { conversations: ['task-42'], format: 'bundle', by: 'ann', reason: 'complaint 7' }
   * const onReady = () => store.audit.recordExport(record)
   * await store.conversation('task-42').evidence({ folder: 'evidence', onReady })
   */
  readonly recordExport: (record: ExportRecord) => MethodResult<W, LedgerError, void>
  /**
   * Lists the recorded exports, newest first. Throws a `LedgerError` during iteration.
   *
   * @example
   * for await (const { time, by, conversations } of store.audit.exports()) console.log(time, by, conversations)
   */
  readonly exports: () => AsyncIterable<RecordedExport>
  /**
   * Audits everything once: the ledger, the anchors' checkpoints, every event named by the ledger, every conversation with its forks
   * and views, and the requests of all receipts. A difference is a finding, not an error. Throws a `LedgerError` during iteration.
   *
   * @example
   * for await (const finding of store.audit.verify()) if (finding.type === 'problem') console.log(finding.message)
   */
  readonly verify: (options?: AuditOptions) => AsyncIterable<AuditFinding>
}

const isAnchor = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'held' in value && 'put' in value
const anchorList = {
  is: (value: unknown) => isListOf(value, isAnchor),
  needed: 'must be a list of anchors, such as [fileAnchor(path)]',
}
const signerKind = {
  is: (value: unknown): value is Signer =>
    typeof value === 'object' && value !== null && 'publicKey' in value && 'sign' in value,
  needed: 'must be a signer, such as signerFrom(pem)',
}

const sealFields: OptionKinds<SealOptions> = {
  signer: signerKind,
  anchors: anchorList,
  renewAnchors: kinds.flag,
}
const sealerFields: OptionKinds<SealerOptions> = {
  ...sealFields,
  quiet: kinds.count,
  events: kinds.several,
  longest: kinds.count,
  every: kinds.count,
  anchorEvery: kinds.count,
  signal: kinds.signal,
  onEvent: kinds.call,
}
const beginFields: OptionKinds<BeginOptions> = {
  signer: signerKind,
  origin: kinds.text,
  again: kinds.text,
  force: kinds.flag,
}
const rotateFields: OptionKinds<RotateOptions> = { signer: signerKind, to: signerKind }
const auditFields: OptionKinds<AuditOptions> = { anchors: anchorList, key: kinds.text, since: kinds.text }

const patrolFields: OptionKinds<PatrolOptions> = {
  anchors: anchorList,
  key: kinds.text,
  every: kinds.count,
  share: {
    is: (value) => typeof value === 'number' && value > 0 && value <= 1,
    needed: 'must be a number above 0, up to 1',
  },
  signal: kinds.signal,
  onEvent: kinds.call,
}

const withSigner = <O extends { readonly signer: Signer }>(
  options: O,
  fields: OptionKinds<O>,
): E.Either<InvalidInput, Partial<O> & { readonly signer: Signer }> =>
  E.flatMap((checked: Partial<O>) =>
    checked.signer
      ? E.right({ ...checked, signer: checked.signer })
      : E.left(invalidInput('signer', signerKind.needed)),
  )(checkOptions(options, fields))

/** The store, the actor and the conversation lookup used by an audit. */
export interface AuditContext {
  readonly store: EventStore
  readonly actor: Actor
  readonly conversation: (id: string) => ConversationHandle
}

export const auditOf = (audited: AuditContext): Audit<'task'> => {
  const { store, actor } = audited
  const nodes = nodesOf(store)
  const sealing = ({ signer, anchors = [], renewAnchors = false }: SealOptions): SealContext => ({
    store,
    actor,
    nodes,
    signer,
    anchors,
    renewAnchors,
  })

  async function* init(options: BeginOptions): Fallible<BeginError, LedgerKey> {
    return yield* beginLedger(store, actor, yield* unwrap(withSigner(options, beginFields)))
  }
  async function* seal(options: SealOptions): Fallible<SealError, SealedNow> {
    return yield* sealNow(sealing(yield* unwrap(withSigner(options, sealFields))))
  }
  async function* follow(options: SealerOptions): Fallible<SealError, void> {
    const {
      signer,
      anchors,
      renewAnchors,
      signal = never,
      onEvent = noEvent,
      ...given
    } = yield* unwrap(withSigner(options, sealerFields))
    const pace: SealerPace = { ...defaultPace, ...(given as Partial<SealerPace>) }
    yield* sealOn(sealing({ signer, anchors, renewAnchors }), pace, signal, onEvent)
  }
  async function* rotate(options: RotateOptions): Fallible<SealError, LedgerKey> {
    const { signer, to } = yield* unwrap(withSigner(options, rotateFields))
    if (!to) return yield invalidInput('to', signerKind.needed)
    return yield* rotateKey(sealing({ signer }), to)
  }
  async function* status(options: StatusOptions = {}): Fallible<LedgerError, LedgerStatus> {
    const fields: OptionKinds<StatusOptions> = { calls: kinds.flag, anchors: anchorList }
    const { calls, anchors = [] } = yield* unwrap(checkOptions(options, fields))
    return yield* statusOf({ store, actor, nodes, anchors, renewAnchors: false }, calls)
  }
  async function* patrol(options: PatrolOptions = {}): Fallible<LedgerError, void> {
    const checked = yield* unwrap(checkOptions(options, patrolFields))
    const { anchors = [], key, every = day, share = 0.1, signal = never, onEvent: tell = noEvent } = checked
    yield* patrolOn({ ...audited, anchors, key, every, share, signal, tell })
  }
  return {
    init: (options) => task(() => init(options)),
    seal: (options) => task(() => seal(options)),
    follow: (options) => task(() => follow(options)),
    rotateKey: (options) => task(() => rotate(options)),
    status: (options) => task(() => status(options)),
    patrol: (options) => task(() => patrol(options)),
    proof: (conversation, options) =>
      task(async function* (): Fallible<ProofError, LedgerProof> {
        const checked = yield* unwrap(
          checkOptions(options ?? {}, { compare: kinds.flag, entries: kinds.flag }),
        )
        return yield* proofOf({ store, nodes }, conversation, checked)
      }),
    standing: (conversation) => task(() => sealStatusOf(store, conversation)),
    recordExport: (record) => task(() => recordExport(audited, record)),
    exports: () => exportsIn(store),
    verify: (options) => verified(audited, options),
  }
}

/** Number of conversations that an audit checks concurrently. A patrol, which pauses between conversations, checks one. */
const atOnce = 4

const never = new AbortController().signal
const noEvent = (): void => undefined

async function* verified(
  { store, conversation }: AuditContext,
  options: AuditOptions | undefined,
): AsyncGenerator<AuditFinding, void> {
  const { anchors = [], key, since } = await orThrow(checkOptions(options, auditFields))
  for await (const finding of runAudit({ store, conversation, anchors, key, since, atOnce }))
    if (finding.type !== 'passed') yield finding
}
