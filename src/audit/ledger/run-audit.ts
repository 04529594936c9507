import * as E from 'fp-ts/lib/Either.js'
import type { ConversationHandle } from '../../conversation/conversation.ts'
import type { LogDiscrepancy } from '../../conversation/discrepancy.ts'
import { invalidInput } from '../../events/errors.ts'
import { conversationOf, streamOf, turnsStreamOf } from '../../events/ids.ts'
import { auditReceipts } from '../../agent/receipts/audit.ts'
import { several } from '../../result/several.ts'
import { orThrow, run } from '../../result/fallible.ts'
import { namePages } from '../../store/pages.ts'
import { type Checkpoint as StorePlace, type EventStore, maxPage } from '../../store/port.ts'
import { checkHasKeys } from '../../store/seal/store-secret.ts'
import { neverBegun } from '../../store/short-streams.ts'
import type { Anchor } from './anchors.ts'
import { nameOf, ownerOf } from './entries.ts'
import { streamsChangedSince, type ChainHead, headOf, streamsMovedSince } from './moved-streams.ts'
import { type AuditProblem, ofTurns, verifyLedger } from './verify.ts'

/** Last finding of an audit, with the numbers of items checked. */
export interface AuditSummary {
  readonly type: 'done'
  readonly conversations: number
  readonly events: number
  /** Number of requests that match their receipts. */
  readonly receipts: number
  /** Number of model replies without a receipt. */
  readonly withoutReceipt: number
  /** Number of entries in the ledger. */
  readonly entries: number
  readonly problems: number
  /** Checkpoint to pass as `since` to a later audit, which then checks only events written and sealed after this audit began. */
  readonly checkpoint: string
}

export interface AuditRunOptions {
  readonly store: EventStore
  readonly conversation: (id: string) => ConversationHandle
  readonly anchors: readonly Anchor[]
  /** Verifier key from a source outside the store. */
  readonly key: string | undefined
  /** The `checkpoint` of an earlier audit. */
  readonly since?: string | undefined
  /** Progress of an interrupted audit, from which this audit continues. */
  readonly progress?: AuditProgress | undefined
  /** Number of conversations or entries checked concurrently. It does not affect the order of findings. Default 1. */
  readonly atOnce?: number | undefined
  /** True if an anchor may lack a checkpoint that it was never given. Default false. */
  readonly mayBeNew?: boolean | undefined
}

/** Progress of an audit: the numbers of items checked so far. */
export interface AuditProgress extends Omit<AuditSummary, 'type' | 'checkpoint'> {
  /** Name of the last checked conversation; conversations are checked in the order of their names. */
  readonly conversation?: string | undefined
  /** Last place in the store's global order when the audit began. */
  readonly place?: StorePlace | undefined
}

/** Notice that an item was checked and the audit may pause. */
interface Passed {
  readonly type: 'passed'
  readonly progress: AuditProgress
}

/** Progress of an earlier audit: the number of ledger entries and the place in the store that it had reached. */
interface Reached {
  readonly entries: number
  readonly place: StorePlace | undefined
}

const reachedIn = async (since: string | undefined): Promise<Reached> => {
  if (since === undefined) return { entries: 0, place: undefined }
  const [, entries, place = ''] = /^(\d{1,15})@(.*)$/.exec(since) ?? []
  if (entries === undefined)
    return orThrow(E.left(invalidInput('since', 'must be the checkpoint of an earlier audit')))
  return { entries: Number(entries), place: place === '' ? undefined : place }
}

const nothingYet = { conversations: 0, events: 0, receipts: 0, withoutReceipt: 0, entries: 0, problems: 0 }

/**
 * Checks everything once and yields problems, the progress between checks, and a final summary. Throws a `LedgerError` during
 * iteration.
 */
export async function* runAudit({
  store,
  conversation,
  anchors,
  key,
  since: given,
  progress: before,
  atOnce = 1,
  mayBeNew = false,
}: AuditRunOptions): AsyncGenerator<AuditProblem | Passed | AuditSummary, void> {
  await orThrow(run(checkHasKeys(store)))
  const reached = await reachedIn(given)
  const { place } = before ?? (await orThrow(run(streamsChangedSince(store, reached.place))))
  let progress: AuditProgress = before ?? { ...nothingYet, entries: reached.entries, place }
  // Kept out of the progress: a continued audit reads the whole ledger again and finds these problems again.
  let ofLedger = 0
  const told = (problem: AuditProblem): AuditProblem => {
    if (problem.kind === 'ledger' || problem.kind === 'anchor') ofLedger++
    else progress = { ...progress, problems: progress.problems + 1 }
    return problem
  }
  const isWhole = given === undefined && before === undefined
  const integrity = store.integrity && isWhole ? await store.integrity()() : E.right(undefined)
  if (E.isLeft(integrity)) yield told({ type: 'problem', kind: 'store', message: integrity.left.message })
  const checking = verifyLedger({ store, anchors, key, known: progress.entries, atOnce, mayBeNew })
  let step = await checking.next()
  for (; step.done !== true; step = await checking.next())
    if (step.value.type === 'problem') yield told(step.value)
    else {
      progress = { ...progress, entries: step.value.entries }
      yield { type: 'passed', progress }
    }
  const { size: entries, sealed, after, turns } = step.value
  const passedOver = passedOverIn(store, after)
  const visit = async (name: string): Promise<Visited> => {
    const id = conversationOf(name) ?? name
    const head = await orThrow(run(headOf(store, name)))
    const end = typeof head === 'object' ? head : undefined
    // If the first write of the conversation is incomplete, there is nothing to check yet.
    const found = end?.revision === -1 ? nothing : await ofConversation(conversation(id))
    const stream = turnsStreamOf(id)
    const isBeside = turns && !(await neverBegun(store, [stream])).has(stream)
    const beside = isBeside ? await orThrow(run(headOf(store, stream))) : undefined
    return { name, id, end, found, beside: typeof beside === 'object' ? beside : undefined }
  }
  /** Runs the check of `passedOver` on the events recorded by a conversation's turns. */
  const passedOverBeside = async ({ id, beside: end }: Visited): Promise<AuditProblem | undefined> => {
    const stream = turnsStreamOf(id)
    const isUnsealed = end !== undefined && end.revision > (sealed.get(end.name) ?? -1)
    const problem = isUnsealed ? await passedOver(stream, end.revision) : undefined
    return problem && { ...problem, conversation: id, message: ofTurns(problem.message) }
  }
  const isPlace = reached.place === undefined || (await hasPlace(store, reached.place))
  if (!isPlace) yield told({ type: 'problem', kind: 'store', message: placeGone })
  const since = isPlace ? reached.place : undefined
  const names = namesSince(store, since, before?.conversation)
  for await (const visited of several(names, atOnce, visit)) {
    const { name, id, end, found } = visited
    const last = sealed.get(id) ?? -1
    const unsealed = end && end.revision > last ? await passedOver(name, end.revision) : undefined
    if (unsealed) yield told(unsealed)
    if (end?.isUnfinished && end.revision < last) yield told(sealedBehind(id, last))
    const beside = await passedOverBeside(visited)
    if (beside) yield told(beside)
    for (const problem of found.problems) yield told(problem)
    progress = {
      ...progress,
      conversation: id,
      conversations: progress.conversations + 1,
      events: progress.events + found.events,
      receipts: progress.receipts + found.receipts,
      withoutReceipt: progress.withoutReceipt + found.withoutReceipt,
    }
    yield { type: 'passed', progress }
  }
  const { conversation: _last, place: _place, ...counts } = progress
  const problems = progress.problems + ofLedger
  yield { type: 'done', ...counts, entries, problems, checkpoint: `${entries}@${place ?? ''}` }
}

interface Visited {
  readonly name: string
  readonly id: string
  readonly end: ChainHead | undefined
  readonly found: Outcome
  /** Head of the stream of events recorded by the conversation's turns. */
  readonly beside: ChainHead | undefined
}

const placeGone =
  'the event at which the previous audit ended is missing, or this is another store: every conversation is checked'

/** Reports whether the place exists in this store. Throws a `StoreError`. */
const hasPlace = async (store: EventStore, place: StorePlace): Promise<boolean> => {
  const page = await store.readAll({ prefixes: [streamOf('')], after: place, limit: 1 })()
  if (E.isLeft(page) && page.left._tag === 'InvalidInput') return false
  await orThrow(page)
  return true
}

async function* namesSince(
  store: EventStore,
  since: StorePlace | undefined,
  after: string | undefined,
): AsyncGenerator<string, void> {
  if (since !== undefined) {
    const names = new Set<string>()
    for await (const name of (await orThrow(run(streamsMovedSince(store, since)))).streams)
      names.add(streamOf(ownerOf(nameOf(name))))
    return yield* names
  }
  const first = after === undefined ? '' : streamOf(after)
  for await (const names of namePages((last) => store.streams(streamOf(''), last ?? first, maxPage)))
    yield* await orThrow(names)
}

/**
 * Returns the problem for a sealed event that is now part of an incomplete write. Only events of complete writes are sealed, so someone
 * with write access to the store must have changed the write after it was sealed.
 */
const sealedBehind = (conversation: string, revision: number): AuditProblem => ({
  type: 'problem',
  kind: 'entry',
  message: 'the event was sealed, but is marked as part of a write that was never completed',
  conversation,
  revision,
})

/**
 * Returns a function that finds streams that no sealer would visit, because the ledger or the store's global order indicates that they
 * are completely sealed. Each problem is reported when its conversation is visited, because an audit that is interrupted repeatedly may
 * never end.
 *
 * @param after place in the store up to which the ledger claims that everything is sealed
 */
const passedOverIn = (store: EventStore, after: StorePlace | undefined) => {
  /** Streams written to between `after` and `place`. */
  const moved = new Set<string>()
  let place = after
  const look = async (since: StorePlace): Promise<boolean> => {
    const found = await run(streamsMovedSince(store, since))
    if (E.isLeft(found) && found.left._tag === 'InvalidInput') return false
    const { streams, place: reached } = await orThrow(found)
    for await (const name of streams) moved.add(name)
    place = reached ?? since
    return true
  }
  /**
   * Returns the problem if no sealer would visit the stream, otherwise undefined.
   *
   * @param revision last revision of the stream, which is not sealed
   */
  return async (name: string, revision: number): Promise<AuditProblem | undefined> => {
    if (place === undefined || moved.has(name)) return undefined
    if (!(await look(place))) {
      place = undefined
      return {
        type: 'problem',
        kind: 'ledger',
        message: 'the place up to which the ledger has sealed everything is not in this store',
      }
    }
    if (moved.has(name)) return undefined
    return {
      type: 'problem',
      kind: 'entry',
      message:
        'the event was never sealed, although the ledger claims to have sealed everything up to a later place in the store: the event or the ledger was changed',
      conversation: conversationOf(name) ?? name,
      revision,
    }
  }
}

interface Outcome {
  readonly events: number
  readonly receipts: number
  readonly withoutReceipt: number
  readonly problems: readonly AuditProblem[]
}

/** Kinds of discrepancy that say nothing about changes. */
const unchecked: ReadonlySet<string> = new Set([
  'newer',
  'sealed',
  'older',
] satisfies LogDiscrepancy['kind'][])

const nothing: Outcome = { events: 0, receipts: 0, withoutReceipt: 0, problems: [] }

/** Checks a conversation's hash chain with its forks, views and large content, and the requests of its receipts. */
const ofConversation = async (chat: ConversationHandle): Promise<Outcome> => {
  const { id: conversation } = chat
  const problem = (kind: AuditProblem['kind'], { message }: { readonly message: string }): AuditProblem => ({
    type: 'problem',
    kind,
    conversation,
    message,
  })
  const verifying = await chat.verify({ file: false, inherited: false })()
  if (E.isLeft(verifying)) return { ...nothing, problems: [problem('conversation', verifying.left)] }
  const { events, discrepancy } = verifying.right
  const changed = discrepancy
    ? [
        problem(unchecked.has(discrepancy.kind) ? 'newer' : 'conversation', {
          message: `at ${discrepancy.position}, ${discrepancy.kind}: ${discrepancy.message}`,
        }),
      ]
    : []
  const audited = await auditReceipts(chat)()
  if (E.isLeft(audited)) {
    const problems = changed.length > 0 ? changed : [problem('receipt', audited.left)]
    return { ...nothing, events, problems }
  }
  const { receipts, findings, withoutReceipt } = audited.right
  const differing = findings.map(({ position, message }) =>
    problem('receipt', { message: `at ${position}: ${message}` }),
  )
  return { events, receipts, withoutReceipt, problems: [...changed, ...differing] }
}
