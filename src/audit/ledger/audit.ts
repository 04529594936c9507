import * as E from 'fp-ts/lib/Either.js'
import type { Conversation } from '../../conversation/conversation.ts'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import type { Actor } from '../../events/events.ts'
import type { MethodResult, ResultStyle } from '../../result/answer.ts'
import { ok, orThrow, type Steps, task } from '../../result/steps.ts'
import { checkedOptions, type OptionKinds, isListOf, kinds } from '../../store/options.ts'
import type { EventStore } from '../../store/port.ts'
import type { Anchor } from './anchors.ts'
import { type AuditSummary, auditing } from './auditing.ts'
import { type BeginOptions, beginLedger, type LedgerKey, rotateKey } from './begin.ts'
import type { BeginError, LedgerError, ProofError, SealError } from './errors.ts'
import type { Signer } from './keys.ts'
import { type ExportRecord, exportsIn, recordExport, type RecordedExport } from './exports.ts'
import { nodesOf } from './nodes.ts'
import { type LedgerProof, proofOf, type ProofOptions } from './prove.ts'
import { day, type PatrolOptions, patrolOn } from './patrol.ts'
import { type SealedNow, type SealContext, sealNow } from './seal.ts'
import { defaultPace, type SealerEvent, type SealerPace, sealOn } from './sealer.ts'
import { type SealStatus, standingOf } from './standing.ts'
import { type LedgerStatus, statusOf } from './status.ts'
import type { AuditProblem } from './verify.ts'

/** Who signs, and where checkpoints are kept. */
export interface SealOptions {
  readonly signer: Signer
  /** Default: none. */
  readonly anchors?: readonly Anchor[] | undefined
}

/** As `SealOptions`, and when a conversation that was written to is sealed: whichever comes first. */
export interface SealerOptions extends SealOptions {
  /** After so many milliseconds without an event. Default 60,000. */
  readonly quiet?: number | undefined
  /** After so many events. Default 100. */
  readonly events?: number | undefined
  /** So many milliseconds after its first event that is not sealed. Default 600,000. */
  readonly longest?: number | undefined
  /** Milliseconds between two looks at the store. Default 5,000. */
  readonly every?: number | undefined
  /** Milliseconds between two checkpoints that anchors get. Default 600,000. */
  readonly anchorEvery?: number | undefined
  readonly signal?: AbortSignal | undefined
  /** Told what the sealer does, and what it will try again. */
  readonly onEvent?: ((event: SealerEvent) => void) | undefined
}

export interface RotateOptions {
  readonly signer: Signer
  /** Signs from now on. */
  readonly to: Signer
}

export interface StatusOptions {
  /** Also count the replies of models without a receipt, for which every event is read. Default false. */
  readonly calls?: boolean | undefined
}

export interface AuditOptions {
  readonly anchors?: readonly Anchor[] | undefined
  /** A verifier key that is known from elsewhere: of the ledger, or of one before it, which is audited then. Default: whatever the store says. */
  readonly key?: string | undefined
  /**
   * The `checkpoint` of an earlier audit: conversations that were not written to since, and what was sealed before, are not read again.
   * Default: everything is.
   */
  readonly since?: string | undefined
}

/** What an audit finds; the last one says how much was checked. */
export type AuditFinding = AuditProblem | AuditSummary

/** A signed ledger over the heads of all conversations. docs/audit.md. */
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
   * Seals every conversation that was written to since it was sealed last, and gives the checkpoint to the anchors; one that fails is named
   * in the answer. Errors: `KeyMismatch`, `AnchorAhead` if an anchor has seen more than there is, `AnchorFailed` if that cannot be known.
   *
   * @example
   * const signer = await newKeyFile('palimpsest-audit.key')
   * await store.audit.init({ signer })
   * const { sealed } = await store.audit.seal({ signer, anchors: [fileAnchor('checkpoints/')] })
   */
  readonly seal: (options: SealOptions) => MethodResult<W, SealError, SealedNow>
  /**
   * Seals conversations as they come to rest, until the signal aborts. Errors: those of `seal` that another attempt would not change.
   *
   * @example
   * const signer = await newKeyFile('palimpsest-audit.key')
   * await store.audit.init({ signer })
   * await store.audit.follow({ signer, signal: AbortSignal.timeout(100) })
   */
  readonly follow: (options: SealerOptions) => MethodResult<W, SealError, void>
  /**
   * Replaces the key that signs, in an entry that both sign.
   *
   * @example
   * const signer = await newKeyFile('palimpsest-audit.key')
   * await store.audit.init({ signer })
   * const { key } = await store.audit.rotateKey({ signer, to: await newKeyFile('2027.key') })
   */
  readonly rotateKey: (options: RotateOptions) => MethodResult<W, SealError, LedgerKey>
  /**
   * How far the ledger is, and what it does not cover yet.
   *
   * @example
   * await store.audit.init({ signer: await newKeyFile('palimpsest-audit.key') })
   * const { unsealed, exposedSince } = await store.audit.status()
   */
  readonly status: (options?: StatusOptions) => MethodResult<W, LedgerError, LedgerStatus>
  /**
   * The proof that a conversation is in the ledger, as far as it was sealed last. Errors: `NotSealed`;
   * `SealContradicted` with `compare`, which whoever exports evidence uses.
   *
   * @example
   * const signer = await newKeyFile('palimpsest-audit.key')
   * await store.audit.init({ signer })
   * await store.audit.seal({ signer })
   * const { checkpoint, proof } = await store.audit.proof('task-42')
   */
  readonly proof: (conversation: string, options?: ProofOptions) => MethodResult<W, ProofError, LedgerProof>
  /**
   * What the ledger has of a conversation, and whether its events are still those that were sealed.
   *
   * @example
   * await store.audit.init({ signer: await newKeyFile('palimpsest-audit.key') })
   * const { heads, anchors } = await store.audit.standing('task-42')
   */
  readonly standing: (conversation: string) => MethodResult<W, LedgerError, SealStatus>
  /**
   * Audits everything as `verify` does, slowly, in rounds, until the signal aborts. Each problem is recorded once, as an event in the stream
   * `patrol`, and each round at its end. Errors: those of reading how far it was; later ones are told, and it tries again.
   *
   * @example
   * await store.audit.patrol({ signal: AbortSignal.timeout(100), onEvent: (event) => console.log(event.type) })
   */
  readonly patrol: (options?: PatrolOptions) => MethodResult<W, LedgerError, void>
  /**
   * Records that conversations are exported: call it before anything of them is written, in `onReady` of `evidence` and `document`.
   *
   * @example
   * const record = { conversations: ['task-42'], format: 'bundle', by: 'ann', reason: 'complaint 7' }
   * const onReady = () => store.audit.recordExport(record)
   * await store.conversation('task-42').evidence({ folder: 'evidence', onReady })
   */
  readonly recordExport: (record: ExportRecord) => MethodResult<W, LedgerError, void>
  /**
   * The exports that were recorded, the newest first. Iteration throws a `LedgerError`.
   *
   * @example
   * for await (const { time, by, conversations } of store.audit.exports()) console.log(time, by, conversations)
   */
  readonly exports: () => AsyncIterable<RecordedExport>
  /**
   * Reads everything once: the ledger, what anchors hold of it, every event that it names, every conversation with its forks and views,
   * and the requests of all receipts. What differs is a finding, not an error. Iteration throws a `LedgerError`.
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
  needed: 'is a list of anchors, such as [fileAnchor(path)]',
}
const signerKind = {
  is: (value: unknown): value is Signer =>
    typeof value === 'object' && value !== null && 'publicKey' in value && 'sign' in value,
  needed: 'is who signs, such as that of signerFrom(pem)',
}

const sealFields: OptionKinds<SealOptions> = { signer: signerKind, anchors: anchorList }
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
const beginFields: OptionKinds<BeginOptions> = { signer: signerKind, origin: kinds.text, again: kinds.text }
const rotateFields: OptionKinds<RotateOptions> = { signer: signerKind, to: signerKind }
const auditFields: OptionKinds<AuditOptions> = { anchors: anchorList, key: kinds.text, since: kinds.text }

const patrolFields: OptionKinds<PatrolOptions> = {
  anchors: anchorList,
  key: kinds.text,
  every: kinds.count,
  share: {
    is: (value) => typeof value === 'number' && value > 0 && value <= 1,
    needed: 'is a number above 0, up to 1',
  },
  signal: kinds.signal,
  onEvent: kinds.call,
}

/** Options with a signer. */
const withSigner = <O extends { readonly signer: Signer }>(
  options: O,
  fields: OptionKinds<O>,
): E.Either<InvalidInput, Partial<O> & { readonly signer: Signer }> =>
  E.flatMap((checked: Partial<O>) =>
    checked.signer
      ? E.right({ ...checked, signer: checked.signer })
      : E.left(invalidInput('signer', signerKind.needed)),
  )(checkedOptions(options, fields))

/** What the audit of a store works on. */
export interface AuditContext {
  readonly store: EventStore
  readonly actor: Actor
  readonly conversation: (id: string) => Conversation
}

export const auditOf = (audited: AuditContext): Audit<'task'> => {
  const { store, actor } = audited
  const nodes = nodesOf(store)
  const sealing = (signer: Signer, anchors: readonly Anchor[] = []): SealContext => ({
    store,
    actor,
    nodes,
    signer,
    anchors,
  })

  async function* init(options: BeginOptions): Steps<BeginError, LedgerKey> {
    return yield* beginLedger(store, actor, yield* ok(withSigner(options, beginFields)))
  }
  async function* seal(options: SealOptions): Steps<SealError, SealedNow> {
    const { signer, anchors } = yield* ok(withSigner(options, sealFields))
    return yield* sealNow(sealing(signer, anchors))
  }
  async function* follow(options: SealerOptions): Steps<SealError, void> {
    const {
      signer,
      anchors,
      signal = never,
      onEvent = noEvent,
      ...given
    } = yield* ok(withSigner(options, sealerFields))
    const pace: SealerPace = { ...defaultPace, ...(given as Partial<SealerPace>) }
    yield* sealOn(sealing(signer, anchors), pace, signal, onEvent)
  }
  async function* rotate(options: RotateOptions): Steps<SealError, LedgerKey> {
    const { signer, to } = yield* ok(withSigner(options, rotateFields))
    if (!to) return yield invalidInput('to', signerKind.needed)
    return yield* rotateKey(sealing(signer), to)
  }
  async function* status(options: StatusOptions = {}): Steps<LedgerError, LedgerStatus> {
    const { calls } = yield* ok(checkedOptions(options, { calls: kinds.flag }))
    return yield* statusOf(store, calls)
  }
  async function* patrol(options: PatrolOptions = {}): Steps<LedgerError, void> {
    const checked = yield* ok(checkedOptions(options, patrolFields))
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
      task(async function* (): Steps<ProofError, LedgerProof> {
        const checked = yield* ok(checkedOptions(options ?? {}, { compare: kinds.flag, entries: kinds.flag }))
        return yield* proofOf({ store, nodes }, conversation, checked)
      }),
    standing: (conversation) => task(() => standingOf(store, conversation)),
    recordExport: (record) => task(() => recordExport(audited, record)),
    exports: () => exportsIn(store),
    verify: (options) => verified(audited, options),
  }
}

/** The number of conversations that an audit checks at once; a patrol, which rests in between, has one. */
const atOnce = 4

const never = new AbortController().signal
const noEvent = (): void => undefined

async function* verified(
  { store, conversation }: AuditContext,
  options: AuditOptions | undefined,
): AsyncGenerator<AuditFinding, void> {
  const { anchors = [], key, since } = await orThrow(checkedOptions(options, auditFields))
  for await (const finding of auditing({ store, conversation, anchors, key, since, atOnce }))
    if (finding.type !== 'passed') yield finding
}
