import * as E from 'fp-ts/lib/Either.js'
import { factsOf, withView } from '../../commands/hide.ts'
import { tokensOf } from '../../commands/slice.ts'
import type { ConversationEvent, Event, Message } from '../../events/events.ts'
import { type Item, itemOf, type MessageItem } from '../../projections/effective.ts'
import type { SliceGenerator } from '../../projections/slices.ts'
import { type ImportError, importDiverged } from './errors.ts'
import type { ImportAction, ActionType } from './plan.ts'
import type { Stage } from './stage.ts'

export type ActionOf<T extends ActionType> = Extract<ImportAction, { readonly type: T }>
export type EventPlanResult = E.Either<ImportError, Event>
/** State of the import that is needed to turn an action into an event. */
export interface ActionContext {
  readonly id: string
  readonly current: Stage
  readonly positions: ReadonlyMap<string, number>
  /** Returns the event at a position, including its content. */
  readonly eventAt: (position: number) => ConversationEvent | undefined
}

/** Builds the marker event of an action, based on the effective history at that point. */
export function* markerOf(
  action: ActionOf<'condense' | 'truncate'>,
  place: ActionContext,
): SliceGenerator<EventPlanResult> {
  const { current, positions, id } = place
  yield* current.look()
  const hidden = current.slice(positions.get(action.covers.first), positions.get(action.covers.last))
  if (!hidden) return E.left(importDiverged(id, action.ref, `the slice that the file's ${action.type} hides`))
  if (action.type === 'truncate') {
    const { reason } = action
    const data = { ...(yield* factsOfAll(hidden, [], place)), ...(reason !== undefined && { reason }) }
    return E.right(withView({ type: 'Truncated', data }, current.state()))
  }
  const { summary, method, origin } = action
  const facts = yield* factsOfAll(hidden, summary, place)
  const data = { ...facts, summary, method, ...(origin && { origin }) }
  return E.right(withView({ type: 'Condensed', data }, current.state()))
}

/** Like `factsOf`, but with the content of only one item at a time in memory. */
function* factsOfAll(
  hidden: readonly number[],
  summary: readonly Message[],
  { eventAt }: ActionContext,
): SliceGenerator<ReturnType<typeof factsOf>> {
  const items: Item[] = []
  let before = 0
  for (const position of hidden) {
    const event = eventAt(position)
    const item = event && itemOf(event)
    if (!item) continue
    before += tokensOf(item)
    items.push(item.kind === 'message' ? withoutContent(item) : item)
    yield
  }
  const facts = factsOf(items, summary)
  return { ...facts, tokens: { ...facts.tokens, before } }
}

/**
 * Returns a message without its content. A marker needs only the message's length, which is counted separately, and its code-execution
 * container.
 */
const withoutContent = ({ origin, ...item }: MessageItem): MessageItem => ({
  ...item,
  content: [],
  ...((origin?.message || origin?.context) && { origin }),
})
