import * as E from 'fp-ts/lib/Either.js'
import type { Conversation } from '../conversation/conversation.ts'
import { type InvalidInput, invalidInput } from '../events/errors.ts'
import type { Actor } from '../events/events.ts'
import { namePages } from '../store/pages.ts'
import { verifyReceipts } from '../receipts/audit.ts'
import type { Answer, Way } from '../result/answer.ts'
import { ok, orThrow, type Steps, task } from '../result/steps.ts'
import { checkedOptions, type Fields, isListOf, kinds } from '../store/options.ts'
import { type EventStore, maxPage } from '../store/port.ts'
import { conversationOf, streamOf } from '../events/ids.ts'
import type { Anchor } from './anchors.ts'
import { type BeginOptions, beginLedger, type LedgerKey, rotateKey } from './begin.ts'
import type { BeginError, LedgerError, ProofError, SealError } from './errors.ts'
import type { Signer } from './keys.ts'
import { type ExportRecord, exportsIn, recordExport, type RecordedExport } from './exports.ts'
import { nodesOf } from './nodes.ts'
import { type LedgerProof, proofOf } from './prove.ts'
import { type SealedNow, type Sealing, sealNow } from './seal.ts'
import { defaultPace, type SealerEvent, type SealerPace, sealOn } from './sealer.ts'
import { type LedgerStanding, standingOf } from './standing.ts'
import { type LedgerStatus, statusOf } from './status.ts'
import { type AuditProblem, verifyLedger } from './verify.ts'

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

export interface AuditOptions {
  readonly anchors?: readonly Anchor[] | undefined
  /** A verifier key of the ledger that is known from elsewhere. Default: whatever the store says. */
  readonly key?: string | undefined
}

/** What an audit finds; the last one says how much was checked. */
export type AuditFinding = AuditProblem | AuditDone

export interface AuditDone {
  readonly type: 'done'
  readonly conversations: number
  readonly events: number
  /** Requests that match their receipts. */
  readonly receipts: number
  /** Entries of the ledger. */
  readonly entries: number
  readonly problems: number
}

/** A signed ledger over the heads of all conversations. docs/audit.md. */
export interface Audit<W extends Way> {
  /**
   * Begins the ledger. Errors: `LedgerExists`.
   *
   * @example
   * const signer = await newKeyFile('palimpsest-audit.key')
   * const { key } = await store.audit.init({ signer, origin: 'example.com/support' })
   */
  readonly init: (options: BeginOptions) => Answer<W, BeginError, LedgerKey>
  /**
   * Seals every conversation that was written to since it was sealed last, and gives the checkpoint to the anchors; one that fails is named
   * in the answer. Errors: `KeyMismatch`, `AnchorAhead` if an anchor has seen more than there is, `AnchorFailed` if that cannot be known.
   *
   * @example
   * const signer = await newKeyFile('palimpsest-audit.key')
   * await store.audit.init({ signer })
   * const { sealed } = await store.audit.seal({ signer, anchors: [fileAnchor('checkpoints/')] })
   */
  readonly seal: (options: SealOptions) => Answer<W, SealError, SealedNow>
  /**
   * Seals conversations as they come to rest, until the signal aborts. Errors: those of `seal` that another attempt would not change.
   *
   * @example
   * const signer = await newKeyFile('palimpsest-audit.key')
   * await store.audit.init({ signer })
   * await store.audit.follow({ signer, signal: AbortSignal.timeout(100) })
   */
  readonly follow: (options: SealerOptions) => Answer<W, SealError, void>
  /**
   * Replaces the key that signs, in an entry that the present one signs.
   *
   * @example
   * const signer = await newKeyFile('palimpsest-audit.key')
   * await store.audit.init({ signer })
   * const { key } = await store.audit.rotateKey({ signer, to: await newKeyFile('2027.key') })
   */
  readonly rotateKey: (options: RotateOptions) => Answer<W, SealError, LedgerKey>
  /**
   * How far the ledger is, and what it does not cover yet.
   *
   * @example
   * await store.audit.init({ signer: await newKeyFile('palimpsest-audit.key') })
   * const { unsealed, exposedSince } = await store.audit.status()
   */
  readonly status: () => Answer<W, LedgerError, LedgerStatus>
  /**
   * The proof that a conversation is in the ledger, as far as it was sealed last. Errors: `NotSealed`.
   *
   * @example
   * const signer = await newKeyFile('palimpsest-audit.key')
   * await store.audit.init({ signer })
   * await store.audit.seal({ signer })
   * const { checkpoint, proof } = await store.audit.proof('task-42')
   */
  readonly proof: (conversation: string) => Answer<W, ProofError, LedgerProof>
  /**
   * What the ledger has of a conversation, and whether its events are still those that were sealed.
   *
   * @example
   * await store.audit.init({ signer: await newKeyFile('palimpsest-audit.key') })
   * const { heads, anchors } = await store.audit.standing('task-42')
   */
  readonly standing: (conversation: string) => Answer<W, LedgerError, LedgerStanding>
  /**
   * Records that conversations are exported: call it before you hand anything out. `palimpsest audit export` does.
   *
   * @example
   * await store.audit.recordExport({ conversations: ['task-42'], format: 'bundle', by: 'ann', reason: 'complaint 7' })
   * await store.conversation('task-42').evidence({ folder: 'evidence' })
   */
  readonly recordExport: (record: ExportRecord) => Answer<W, LedgerError, void>
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

const sealFields: Fields<SealOptions> = { signer: signerKind, anchors: anchorList }
const sealerFields: Fields<SealerOptions> = {
  ...sealFields,
  quiet: kinds.count,
  events: kinds.several,
  longest: kinds.count,
  every: kinds.count,
  anchorEvery: kinds.count,
  signal: kinds.signal,
  onEvent: kinds.call,
}
const beginFields: Fields<BeginOptions> = { signer: signerKind, origin: kinds.text, again: kinds.text }
const rotateFields: Fields<RotateOptions> = { signer: signerKind, to: signerKind }
const auditFields: Fields<AuditOptions> = { anchors: anchorList, key: kinds.text }

/** Options with a signer. */
const withSigner = <O extends { readonly signer: Signer }>(
  options: O,
  fields: Fields<O>,
): E.Either<InvalidInput, Partial<O> & { readonly signer: Signer }> =>
  E.flatMap((checked: Partial<O>) =>
    checked.signer
      ? E.right({ ...checked, signer: checked.signer })
      : E.left(invalidInput('signer', signerKind.needed)),
  )(checkedOptions(options, fields))

/** What the audit of a store works on. */
export interface Audited {
  readonly store: EventStore
  readonly actor: Actor
  readonly conversation: (id: string) => Conversation
}

export const auditOf = (audited: Audited): Audit<'task'> => {
  const { store, actor } = audited
  const nodes = nodesOf(store)
  const sealing = (signer: Signer, anchors: readonly Anchor[] = []): Sealing => ({
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
  return {
    init: (options) => task(() => init(options)),
    seal: (options) => task(() => seal(options)),
    follow: (options) => task(() => follow(options)),
    rotateKey: (options) => task(() => rotate(options)),
    status: () => task(() => statusOf(store)),
    proof: (conversation) => task(() => proofOf({ store, nodes }, conversation)),
    standing: (conversation) => task(() => standingOf(store, conversation)),
    recordExport: (record) => task(() => recordExport(store, actor, record)),
    exports: () => exportsIn(store),
    verify: (options) => verified(audited, options),
  }
}

const never = new AbortController().signal
const noEvent = (): void => undefined

async function* verified(
  audited: Audited,
  options: AuditOptions | undefined,
): AsyncGenerator<AuditFinding, void> {
  const { anchors = [], key } = await orThrow(checkedOptions(options, auditFields))
  const { store } = audited
  let problems = 0
  const told = (problem: AuditProblem): AuditProblem => {
    problems++
    return problem
  }
  const integrity = store.integrity ? await store.integrity()() : E.right(undefined)
  if (E.isLeft(integrity)) yield told({ type: 'problem', kind: 'store', message: integrity.left.message })
  const checking = verifyLedger({ store, anchors, key })
  let step = await checking.next()
  for (; step.done !== true; step = await checking.next()) yield told(step.value)
  const counts = { conversations: 0, events: 0, receipts: 0 }
  for await (const names of namePages((last) => store.streams(streamOf(''), last ?? '', maxPage)))
    for (const name of await orThrow(names)) {
      const outcome = await ofConversation(audited.conversation(conversationOf(name) ?? name))
      counts.conversations++
      counts.events += outcome.events
      counts.receipts += outcome.receipts
      for (const problem of outcome.problems) yield told(problem)
    }
  yield { type: 'done', ...counts, entries: step.value, problems }
}

interface Outcome {
  readonly events: number
  readonly receipts: number
  readonly problems: readonly AuditProblem[]
}

/** The chain with forks, views and large content, and the requests of the receipts. */
const ofConversation = async (chat: Conversation): Promise<Outcome> => {
  const { id: conversation } = chat
  const verifying = await chat.verify({ file: false })()
  const unreadable = (
    kind: AuditProblem['kind'],
    { message }: { readonly message: string },
  ): AuditProblem => ({ type: 'problem', kind, conversation, message })
  if (E.isLeft(verifying))
    return { events: 0, receipts: 0, problems: [unreadable('conversation', verifying.left)] }
  const { events, discrepancy } = verifying.right
  const changed = discrepancy
    ? [
        unreadable('conversation', {
          message: `at ${discrepancy.position}, ${discrepancy.kind}: ${discrepancy.message}`,
        }),
      ]
    : []
  const receipts = await verifyReceipts(chat)()
  if (E.isLeft(receipts))
    return {
      events,
      receipts: 0,
      problems: changed.length > 0 ? changed : [unreadable('receipt', receipts.left)],
    }
  const differing = receipts.right.findings.map(({ position, message }) =>
    unreadable('receipt', { message: `at ${position}: ${message}` }),
  )
  return { events, receipts: receipts.right.receipts, problems: [...changed, ...differing] }
}
