import * as E from 'fp-ts/lib/Either.js'
import { type PolicyConditions, manageContext, type ContextPlan } from '../../agent/context/policy/policy.ts'
import type { ConversationEvent, Covers } from '../../events/events.ts'
import type { Effective } from '../../projections/effective.ts'
import { isPolicyMarker } from '../replay-log.ts'
import { hides, type PolicyMarker } from '../replay-fit.ts'
import type { Log } from '../../projections/path.ts'
import type { Divergence } from './divergence.ts'
import type { StepAt } from './steps.ts'

/**
 * Compares an agent's context management with the log, for a call before which the recorded policy hid nothing. Returns undefined if
 * the agent would also hide nothing.
 */
export const contextOfCall = (
  now: Effective,
  event: ConversationEvent,
  step: StepAt,
): Pick<Divergence, 'agent' | 'log'> | undefined => {
  const planned = planOf(now, step, { canCondense: !hasFailed(event, step) })
  if (planned === undefined || planned === sent) return undefined
  return { agent: planned, log: 'called the model' }
}

/** Reports whether a request for a summary has already failed in this turn; if so, no summary is requested again. */
const hasFailed = (event: ConversationEvent, { since }: StepAt): boolean =>
  [...since.path, event].some(
    (each) => each.type === 'MessageAppended' && each.data.origin?.condenseFailed !== undefined,
  )

/** Compares an agent's context management with the markers that the recorded policy wrote. Returns undefined if they agree. */
export const contextOfMarkers = (
  now: Effective,
  markers: readonly PolicyMarker[],
  step: StepAt,
): Pick<Divergence, 'agent' | 'log'> | undefined => {
  const [first] = markers
  const { options, failed } = (first?.data.policy ?? {}) as {
    options?: Partial<PolicyConditions>
    failed?: string
  }
  const hasNone = options?.canCondense === false && failed !== undefined
  const planned = planOf(now, step, {
    canCondense: !hasNone,
    ...(options?.refused && { refused: options.refused }),
  })
  const log = words(
    first?.type === 'Condensed' ? kindOf(first) : 'truncate',
    markers.map(({ data }) => data.covers),
  )
  // The process that wrote the markers may have been killed before it wrote the last one.
  return planned === log || planned?.startsWith(`${log}, `) ? undefined : { agent: planned ?? 'failed', log }
}

const kindOf = ({ data }: PolicyMarker): 'condense' | 'shorten' =>
  'method' in data && data.method === 'client' ? 'shorten' : 'condense'

const sent = 'called the model'

const planOf = (
  now: Effective,
  { settled }: StepAt,
  { canCondense, refused }: PolicyConditions,
): string | undefined => {
  const planned = manageContext(now, settled.context, {
    canCondense: canCondense && settled.summarizer !== undefined,
    ...(refused && { refused }),
  })
  if (E.isLeft(planned)) return `failed: ${planned.left.message}`
  return planned.right.type === 'nothing' ? sent : words(planned.right.type, coversIn(planned.right))
}

const coversIn = (plan: Exclude<ContextPlan, { type: 'nothing' }>): readonly Covers[] =>
  plan.type === 'condense'
    ? [plan.covers]
    : plan.type === 'truncate'
      ? plan.covers
      : plan.edits.map(({ covers }) => covers)

const verbs = { condense: 'condensed', truncate: 'truncated', shorten: 'shortened the results of' }

const words = (type: keyof typeof verbs, all: readonly Covers[]): string =>
  `${verbs[type]} ${all.map(({ first, last }) => (first === last ? first : `${first}..${last}`)).join(', ')}`

/**
 * Groups the markers of a log by the policy decision that wrote them, in order. A marker that was written again after a rewind counts
 * once.
 */
export const plansIn = (log: Log): ReadonlyMap<string, readonly PolicyMarker[]> => {
  const plans = new Map<string, readonly PolicyMarker[]>()
  for (const marker of log.filter(isPolicyMarker)) {
    const key = planKey(marker)
    const own = plans.get(key) ?? []
    if (!own.some(hides(marker.type, marker.data.covers))) plans.set(key, [...own, marker])
  }
  return plans
}

/** Returns the key of the policy decision that wrote a marker. */
export const planKey = ({ type, data }: PolicyMarker): string => `${type} ${data.policy?.position}`
