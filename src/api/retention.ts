import { isDeepStrictEqual } from 'node:util'
import * as E from 'fp-ts/lib/Either.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { createHoldFinder } from '../conversation/beside/hold-finder.ts'
import { type RetentionLog, retentionLog, type RetentionRule } from '../conversation/beside/retention-log.ts'
import {
  erase,
  type EraseError,
  type EraseOptions,
  type ErasedContent,
  firstOlder,
} from '../conversation/writing/erase.ts'
import { check } from '../events/check.ts'
import { type EventTooLarge, type InvalidInput, invalidInput } from '../events/errors.ts'
import type { Actor } from '../events/events.ts'
import { conversationOf, streamOf } from '../events/ids.ts'
import {
  endedRuleSchema,
  isHalfYear,
  newRuleSchema,
  periodBefore,
  type RetentionData,
  type RetentionFact,
  type RetentionPeriod,
} from '../events/retention-events.ts'
import type { MethodResult, ResultStyle } from '../result/answer.ts'
import { type Fallible, run, task, unwrap } from '../result/fallible.ts'
import { breath } from '../store/breath.ts'
import { isLoss, type StoreError } from '../store/errors.ts'
import { checkOptions, kinds } from '../store/options.ts'
import { namePages } from '../store/pages.ts'
import { type EventStore, maxPage } from '../store/port.ts'

/** A new rule about how long content is kept. */
export interface NewRetentionRule {
  /** Beginning of the ids of the conversations to which the rule applies; `''` for all. */
  readonly prefix: string
  /** Time for which content is kept: `{ months }` by the calendar in UTC, or `{ days }`. */
  readonly keep: RetentionPeriod
  /** The person who sets the rule. Every erasure that follows from it names this person. */
  readonly by: string
  readonly reason?: string | undefined
  /** True to allow a rule that keeps less than six months; `reason` must say why. Default false. */
  readonly force?: boolean | undefined
}

export interface RetentionRunOptions {
  /** The person who has the rules applied, recorded with the run. */
  readonly by?: string | undefined
  /** True to count what would be erased, and to write nothing. Default false. */
  readonly dryRun?: boolean | undefined
  /**
   * Rule that is not set yet, with `dryRun` only: counts what this rule would have erased, in place of the one for its prefix and beside
   * all others.
   */
  readonly rule?: NewRetentionRule | undefined
  /** Ids of the only conversations to which the rules are applied. Default: all. */
  readonly conversations?: readonly string[] | undefined
  /** Ends the run after the conversation in progress. What is left is erased by the next run. */
  readonly signal?: AbortSignal | undefined
}

/** Result of a run: what was erased, or would be in a dry run. */
export interface RetentionReport {
  /** Number of conversations from which content was erased. */
  readonly conversations: number
  /** Number of conversations to which a rule applies, whether anything of them is due or not. */
  readonly matching: number
  /** Numbers of erased events of the conversations, and of events in the streams beside them. */
  readonly events: number
  readonly notes: number
  readonly turns: number
  readonly inbox: number
  /** Number of original files erased, from which conversations were imported. */
  readonly files: number
  /** Number of large contents removed. */
  readonly contents: number
  /** Least number of large contents that stay for now, because they were stored recently: `gc` removes them. */
  readonly recent: number
  /** Size of the store's file, in bytes, if it is rewritten first, because 0.1.0 left removed content in its unused parts. */
  readonly rewritten?: number
  /** Conversations from which content was erased, most recently active first; at most 1,000. */
  readonly erased: readonly RetainedConversation[]
  /** Conversations with content that is due, but cannot be erased now, such as under a legal hold; at most 1,000. */
  readonly skipped: readonly { readonly conversation: string; readonly problem: string }[]
  /** Number of further such conversations. */
  readonly moreSkipped: number
  /** False if the signal ended the run early. */
  readonly isComplete: boolean
}

/** Conversation from which a run erased content, or would in a dry run. */
export interface RetainedConversation {
  readonly conversation: string
  /** Prefix of the rule that applies to it. */
  readonly prefix: string
  /** Numbers of its erased events, and of events in the streams beside it. */
  readonly events: number
  readonly notes: number
  readonly turns: number
  readonly inbox: number
  /** True if its original file was erased. */
  readonly file: boolean
  /** Time of the first of these events (ISO 8601). */
  readonly first: string
}

export type RetentionError = StoreError | InvalidInput | EventTooLarge
/** The store cannot erase: it keeps events for good. */
export interface CannotApplyRetention {
  readonly _tag: 'CannotApplyRetention'
  readonly message: string
}
export type RetentionRunError = EraseError | CannotApplyRetention

/** Rules about how long the content of conversations is kept, and their application. docs/operating.md. */
export interface RetentionMethods<W extends ResultStyle = 'task'> {
  /**
   * Reads the rules, sorted by prefix. For a conversation, the rule with the longest matching prefix decides. Errors: a `StoreError`.
   *
   * @example
   * for (const { prefix, keep } of await store.retention.rules()) console.log(prefix, keep)
   */
  readonly rules: () => MethodResult<W, RetentionError, readonly RetentionRule[]>
  /**
   * Sets the rule for a prefix, in place of an earlier one. A repeat writes nothing. Errors: `InvalidInput`, also if the rule keeps less
   * than six months and `force` and a `reason` are not given.
   *
   * @example
   * await store.retention.set({ prefix: 'support-', keep: { months: 12 }, by: 'ann' })
   */
  readonly set: (rule: NewRetentionRule) => MethodResult<W, RetentionError, void>
  /**
   * Ends the rule for a prefix. Errors: `InvalidInput` if there is none.
   *
   * @example
   * await store.retention.set({ prefix: 'trial-', keep: { days: 400 }, by: 'ann' })
   * await store.retention.end({ prefix: 'trial-', by: 'ann' })
   */
  readonly end: (rule: {
    readonly prefix: string
    readonly by: string
  }) => MethodResult<W, RetentionError, void>
  /**
   * Erases everything that was recorded earlier than its rule keeps it. Conversations that cannot be erased from now are skipped, and
   * named in the report. The run is recorded in the store. If it is interrupted, the next run erases the rest. Errors: `CannotApplyRetention` if
   * the store cannot erase; `InvalidInput`; a `StoreError`.
   *
   * @example
   * const { events, skipped } = await store.retention.apply({ dryRun: true })
   */
  readonly apply: (options?: RetentionRunOptions) => MethodResult<W, RetentionRunError, RetentionReport>
  /**
   * Applies the rules as `apply` does, but at most once a day: returns undefined, and does nothing, if there are no rules, or if another
   * run, of any process, began less than 24 hours ago.
   *
   * @example
   * await store.retention.applyIfDue()
   */
  readonly applyIfDue: (
    options?: RetentionRunOptions,
  ) => MethodResult<W, RetentionRunError, RetentionReport | undefined>
}

export interface RetentionContext {
  /** The store that reads events whole, and the store beneath it. */
  readonly events: EventStore
  readonly adapter: EventStore
  readonly actor: Actor
  /** Called once content was erased. */
  readonly onErased: () => Promise<void>
}

/** Maximum number of rules, all of which are read at once. */
const mostRules = 1_000
/** Maximum number of conversations that a report names as erased from, and as skipped. */
const mostNamed = 1_000
/** Least time between two runs that a process begins by itself, in milliseconds. */
const day = 86_400_000

export const createRetention = (context: RetentionContext): RetentionMethods => {
  const { events, actor } = context
  const log = retentionLog(events, actor)

  const apply = (options: RetentionRunOptions | undefined, least?: number) =>
    task(async function* (): Fallible<RetentionRunError, RetentionReport | undefined> {
      const given = yield* unwrap(
        checkOptions<RetentionRunOptions>(options, {
          by: kinds.text,
          dryRun: kinds.flag,
          rule: kinds.anything,
          conversations: kinds.texts,
          signal: kinds.signal,
        }),
      )
      if (given.rule !== undefined && !given.dryRun)
        return yield invalidInput('rule', 'is only for a dry run: set the rule, then apply')
      const tried =
        given.rule === undefined ? undefined : { ...(yield* unwrap(checkedRule(given.rule))), since: '' }
      const set = yield* log.rules()
      const rules = tried ? [...set.filter(({ prefix }) => prefix !== tried.prefix), tried] : set
      if (rules.length === 0) return least === undefined ? nothing : undefined
      return yield* applyRules(context, log, { rules, only: tried }, given, least)
    })

  return {
    rules: () => task(log.rules),
    set: (rule) =>
      task(async function* (): Fallible<RetentionError, void> {
        const data = yield* unwrap(checkedRule(rule))
        const { prefix } = data
        yield* log.change((rules): E.Either<InvalidInput, RetentionFact | undefined> => {
          const before = rules.find((one) => one.prefix === prefix)
          if (before && isSame(before, data)) return E.right(undefined)
          if (!before && rules.length >= mostRules) return E.left(tooMany)
          return E.right({ type: 'RetentionSet', data })
        })
      }),
    end: (rule) =>
      task(async function* (): Fallible<RetentionError, void> {
        const data = yield* unwrap(check(endedRuleSchema, rule))
        yield* log.change((rules) =>
          rules.some(({ prefix }) => prefix === data.prefix)
            ? E.right({ type: 'RetentionEnded', data })
            : E.left(invalidInput('prefix', noRule(rules))),
        )
      }),
    apply: (options) => async () =>
      E.map((report: RetentionReport | undefined) => report ?? nothing)(await apply(options)()),
    applyIfDue: (options) => apply(options, day),
  }
}

/** Checks a new rule, and returns what is stored of it. */
const checkedRule = (rule: NewRetentionRule): E.Either<InvalidInput, RetentionData['RetentionSet']> =>
  E.flatMap(check(newRuleSchema, rule), ({ force = false, ...data }) => {
    if (isHalfYear(data.keep)) return E.right(data)
    if (!force) return E.left(tooShort)
    return (data.reason ?? '').trim() === '' ? E.left(noReason) : E.right(data)
  })

const tooShort = invalidInput(
  'keep',
  'must be six months or more (184 days), as the AI Act requires for logs (articles 19 and 26(6)): to keep less, set force and give a reason',
)

const noReason = invalidInput('reason', 'must say why less than six months is kept')

const tooMany = invalidInput('prefix', `would need one more than ${mostRules} rules: end others first`)

const noRule = (rules: readonly RetentionRule[]): string => {
  const known = rules.slice(0, 10).map(({ prefix }) => `'${prefix}'`)
  return `has no rule of its own: there are rules for ${known.join(', ') || 'no prefix'}`
}

const nothing: RetentionReport = {
  conversations: 0,
  matching: 0,
  events: 0,
  notes: 0,
  turns: 0,
  inbox: 0,
  files: 0,
  contents: 0,
  recent: 0,
  erased: [],
  skipped: [],
  moreSkipped: 0,
  isComplete: true,
}

interface RuleChoice {
  readonly rules: readonly RetentionRule[]
  /** The only one of the rules to apply; undefined for all. */
  readonly only: RetentionRule | undefined
}

/** Applies rules in a run of its own. Returns undefined if another run began fewer than `least` milliseconds ago. */
async function* applyRules(
  { events, adapter, actor, onErased }: RetentionContext,
  log: RetentionLog,
  choice: RuleChoice,
  { by, dryRun = false, conversations, signal }: RetentionRunOptions,
  least: number | undefined,
): Fallible<RetentionRunError, RetentionReport | undefined> {
  const { scrub } = adapter
  if (!scrub) return yield cannotApply(events)
  const number = dryRun ? 0 : yield* log.begin(by, least)
  if (number === undefined) return undefined
  const now = new Date()
  const total: Total = { ...nothing, erased: [], skipped: [] }
  // The log of the database is emptied once, at the end.
  const holds = createHoldFinder(events)
  const stores = { events, adapter, actor, scrub: () => TE.right(undefined), holds }
  const pages = conversations ? pageOf(conversations) : candidates(events, choice)
  for await (const found of ruled(pages, choice, signal)) {
    const { conversation, rule } = yield* unwrap(found)
    total.matching++
    const erasing = eraseOlder(stores, conversation, {
      before: periodBefore(rule.keep, now),
      by: rule.by,
      reason: reasonOf(rule),
      dryRun,
    })
    const erased = await run(erasing)
    if (E.isRight(erased)) {
      if (erased.right) add(total, erased.right, rule)
    } else if (!isOfConversation(erased.left)) return yield erased.left
    else if (total.skipped.length >= mostNamed) total.moreSkipped++
    else total.skipped.push({ conversation, problem: erased.left.message })
  }
  const report = { ...total, isComplete: signal?.aborted !== true }
  if (dryRun) return report
  // Also if nothing was erased: an earlier run may have been interrupted before it.
  yield* unwrap(scrub())
  if (report.conversations > 0) await onErased()
  const {
    erased: _erased,
    recent: _recent,
    rewritten: _rewritten,
    matching: _matching,
    files: _files,
    ...counts
  } = report
  yield* log.end({ ...counts, run: number, skipped: report.skipped.map(({ conversation }) => conversation) })
  return report
}

/** Pages of the names of streams. */
type NamePages = AsyncIterable<E.Either<StoreError, readonly string[]>>

async function* pageOf(conversations: readonly string[]): AsyncGenerator<E.Either<never, readonly string[]>> {
  yield E.right([...new Set(conversations)].map(streamOf))
}

/** Lists the streams of the conversations to which one of the rules may apply. */
const candidates = (events: EventStore, { rules, only }: RuleChoice): NamePages => {
  // A prefix that begins with another one would list its conversations twice.
  const prefixes = (only ? [only] : rules)
    .map(({ prefix }) => prefix)
    .filter((prefix, _, all) => !all.some((other) => other !== prefix && prefix.startsWith(other)))
    .map(streamOf)
  return namePages((last) => events.newest(prefixes, last, maxPage))
}

/** Yields the conversations among streams to which a rule applies, each with its rule, until the signal aborts. */
async function* ruled(
  pages: NamePages,
  { rules, only }: RuleChoice,
  signal: AbortSignal | undefined,
): AsyncGenerator<
  E.Either<StoreError, { readonly conversation: string; readonly rule: RetentionRule }>,
  void
> {
  const longestFirst = rules.toSorted((one, other) => other.prefix.length - one.prefix.length)
  for await (const page of pages) {
    if (E.isLeft(page)) return yield page
    for (const stream of page.right) {
      await breath()
      if (signal?.aborted) return
      const conversation = conversationOf(stream) ?? stream
      const rule = longestFirst.find(({ prefix }) => conversation.startsWith(prefix))
      if (rule && (!only || rule === only)) yield E.right({ conversation, rule })
    }
  }
}

/** Erases what a conversation has from before a time; returns undefined if there is nothing, even under a legal hold. */
async function* eraseOlder(
  stores: Parameters<typeof erase>[0],
  conversation: string,
  options: EraseOptions & { readonly before: Date },
): Fallible<EraseError, (ErasedContent & { readonly first: string }) | undefined> {
  const first = yield* firstOlder(stores, conversation, options.before)
  return first === undefined ? undefined : { ...(yield* erase(stores, conversation, options)), first }
}

/** A report to which conversations are added. */
type Total = { -readonly [K in keyof Omit<RetentionReport, 'erased' | 'skipped'>]: RetentionReport[K] } & {
  readonly erased: RetainedConversation[]
  readonly skipped: RetentionReport['skipped'][number][]
}

const add = (
  total: Total,
  {
    conversation,
    positions,
    notes,
    turns,
    inbox,
    archive,
    contents,
    recent,
    rewritten,
    first,
  }: ErasedContent & { readonly first: string },
  { prefix }: RetentionRule,
): void => {
  const [events, file] = [positions.length, archive > 0]
  if (events + notes + turns + inbox + archive > 0) {
    total.conversations++
    if (total.erased.length < mostNamed)
      total.erased.push({ conversation, prefix, events, notes, turns, inbox, file, first })
  }
  if (file) total.files++
  total.events += events
  total.notes += notes
  total.turns += turns
  total.inbox += inbox
  total.contents += contents
  // Contents that an erasure does not know are counted by each one that follows, too.
  total.recent = Math.max(total.recent, recent)
  if (rewritten !== undefined) total.rewritten = rewritten
}

/** Reports whether an error concerns one conversation, so that the others can still be erased from. */
const isOfConversation = (error: EraseError): boolean =>
  ['CannotErase', 'ImportUnfinished', 'Conflict', 'EventTooLarge'].includes(error._tag) ||
  isLoss(error as StoreError)

const reasonOf = ({ prefix, keep, reason }: RetentionRule): string => {
  const of = prefix === '' ? 'all conversations' : `${prefix}…`
  const period = 'months' in keep ? `${keep.months} months` : `${keep.days} days`
  return `retention of ${of}: ${period}${reason === undefined ? '' : ` (${reason})`}`
}

const isSame = (one: NewRetentionRule, other: NewRetentionRule): boolean =>
  isDeepStrictEqual([one.keep, one.by, one.reason], [other.keep, other.by, other.reason])

const cannotApply = ({ url }: EventStore): RetentionRunError => ({
  _tag: 'CannotApplyRetention',
  message: `${url} cannot overwrite events, so retention rules cannot be applied in it: copy the conversations to a store whose content is encrypted (?seal=keys/), or to an SQLite store`,
})
