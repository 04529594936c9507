import * as E from 'fp-ts/lib/Either.js'
import { historyTokens } from '../context/tokens/history.ts'
import { type Configuration, contentOf } from '../events/events.ts'
import { configurationOf, effective, type Item } from '../projections/effective.ts'
import { full } from '../projections/full.ts'
import { type Log, path } from '../projections/path.ts'
import type { Repair } from '../projections/render/renderer.ts'
import { callsInLog } from './replies.ts'
import type { ModelCall } from '../receipts/calls.ts'
import { callOutOfRange, type CallOutOfRange } from '../receipts/errors.ts'
import { receiptOptionsIn } from '../receipts/receipt-options.ts'
import { requestOf } from '../receipts/request.ts'
import { canonicalText } from './canonical.ts'
import { type Difference, differences, type Moment } from './differences.ts'
import { holdersIn, type Needed, neededBut } from './needed.ts'

/** An item that the model was shown. */
export interface ShownItem {
  readonly position: number
  readonly kind: Item['kind']
  readonly tokens: number
}

/** What one marker kept from the model. */
export interface HiddenPart {
  /** Position of the marker. */
  readonly by: number
  readonly kind: 'condensed' | 'truncated'
  readonly messages: number
  readonly tokens: number
}

/** What a model knew when it gave an answer, and why that differs from the call before. */
export interface Why {
  readonly conversation: string
  readonly call: number
  readonly kind: ModelCall['kind']
  /** Position of the answer, and of the history that it answers. */
  readonly position: number
  readonly at: number
  readonly model?: string
  /** Tokens of the context, as far as the API counted them, else estimated. */
  readonly tokens: number
  readonly shown: readonly ShownItem[]
  readonly hidden: readonly HiddenPart[]
  /** Messages of abandoned branches: never shown. */
  readonly abandoned: number
  /** The call that it is compared with: the reply before; absent for the first. */
  readonly before?: number
  readonly differences: readonly Difference[]
  /** The configuration differs: in which fields, and the event that caused it. */
  readonly configuration?: { readonly event: number; readonly fields: readonly (keyof Configuration)[] }
  /** How the request departs from what is stored; new ones, which the call before did not need. */
  readonly repairs: readonly (Pick<Repair, 'position' | 'detail'> & {
    readonly kind: string
    readonly isNew: boolean
  })[]
  /** What the answer names and the model was not shown. */
  readonly needed: readonly Needed[]
}

export const whyCall = (
  conversation: string,
  log: Log,
  number: number | undefined,
): E.Either<CallOutOfRange, Why> => {
  const calls = callsInLog(log)
  const call = calls[(number ?? calls.length) - 1]
  if (!call) return E.left(callOutOfRange(conversation, number, calls.length))
  const earlier = calls.slice(0, call.number - 1).findLast(({ kind }) => kind === 'reply')
  const now = momentAt(log, call.receipt.position)
  const before = earlier && momentAt(log, earlier.receipt.position)
  const answer = log[call.position]
  const configuration = before && configurationChange(log, before, now)
  return E.right({
    conversation,
    call: call.number,
    kind: call.kind,
    position: call.position,
    at: call.receipt.position,
    ...(call.origin.model !== undefined && { model: call.origin.model }),
    tokens: now.total,
    shown: now.effective.items.map(({ position, kind }) => ({
      position,
      kind,
      tokens: now.tokensAt(position),
    })),
    hidden: hiddenIn(now),
    abandoned: now.entries.filter(({ kind, status }) => kind === 'message' && status === 'abandoned').length,
    ...(earlier && { before: earlier.number }),
    differences: before ? differences(log, before, now) : [],
    ...(configuration && { configuration }),
    repairs: repairsOf(call, now, earlier && before && { call: earlier, moment: before }),
    needed: answer ? neededBut(now.effective, holdersIn(now.entries), contentOf(answer)) : [],
  })
}

interface Counted extends Moment {
  readonly total: number
}

const momentAt = (log: Log, at: number): Counted => {
  const { items, total } = historyTokens(log.slice(0, at + 1))
  const tokens = new Map(items.map((item) => [item.position, item.tokens]))
  return {
    effective: effective(log, at),
    entries: full(log, { at, abandoned: true }),
    tokensAt: (position) => tokens.get(position) ?? 0,
    total,
  }
}

const hiddenIn = ({ entries, tokensAt }: Counted): readonly HiddenPart[] => {
  const parts = new Map<number, HiddenPart>()
  for (const { kind, status, by, position } of entries) {
    if (kind !== 'message' || by === undefined || (status !== 'condensed' && status !== 'truncated')) continue
    const { messages, tokens } = parts.get(by) ?? { messages: 0, tokens: 0 }
    parts.set(by, { by, kind: status, messages: messages + 1, tokens: tokens + tokensAt(position) })
  }
  return [...parts.values()]
}

const fields = ['model', 'system', 'tools', 'parameters'] as const

const configurationChange = (log: Log, before: Moment, after: Moment): Why['configuration'] => {
  const [old, now] = [before, after].map(({ effective: shown }) => configurationOf(shown))
  const changed = fields.filter((field) => canonicalText(old?.[field]) !== canonicalText(now?.[field]))
  const { at, outline } = after.effective
  const event = path(log, at).findLast((position) => log[position]?.type === 'Configured') ?? -1
  const isSince = (outline.configured ?? -1) > before.effective.at
  const rewound = log.slice(0, at + 1).findLastIndex(({ type }) => type === 'Rewound')
  return changed.length > 0 ? { event: isSince ? event : rewound, fields: changed } : undefined
}

const repairsOf = (
  call: ModelCall,
  { effective: shown }: Moment,
  before: { readonly call: ModelCall; readonly moment: Moment } | undefined,
): Why['repairs'] => {
  const keyOf = ({ kind, position }: { readonly kind: string; readonly position: number }): string =>
    `${kind} ${position}`
  const known = new Set(before ? repairsIn(before.call, before.moment).map(keyOf) : [])
  return repairsIn(call, { effective: shown }).map((repair) => {
    const { kind, position, detail } = repair
    return { kind, position, detail, isNew: !known.has(keyOf(repair)) }
  })
}

const repairsIn = ({ kind, receipt }: ModelCall, { effective: shown }: Pick<Moment, 'effective'>) => {
  const options = kind === 'reply' ? receiptOptionsIn(receipt) : undefined
  const made = options && E.isRight(options) ? requestOf(shown, options.right) : undefined
  return made && E.isRight(made) ? made.right.repairs : []
}
