import type { Block } from '../events/blocks.ts'
import * as E from 'fp-ts/lib/Either.js'
import type { TypeOfEffect } from '../events/event-traits.ts'
import type { Event, EventData, Message } from '../events/events.ts'
import { containerIn } from '../projections/container.ts'
import type { Item } from '../projections/effective.ts'
import { draftOf, evolve, needsView, type Slot, viewOf } from '../projections/layout.ts'
import { atOnce, type SliceGenerator } from '../projections/slices.ts'
import { tokensByBytes } from '../projections/tokens.ts'
import type { Command, NewMessage, Summary } from './command.ts'
import type { CommandRejection } from './rejections.ts'
import { blocksOf } from './append.ts'
import { chooseItemsInSlices, tokensOf } from './slice.ts'
import type { ShownState } from './state.ts'

/** Decides a condense command: from now on, a summary replaces a slice of the effective history. Runs in slices of work. */
export function* condense(
  command: Command<'condense'>,
  state: ShownState,
): SliceGenerator<E.Either<CommandRejection<'condense'>, readonly Event[]>> {
  const { method = 'manual', origin, policy } = command
  const summary = summaryOf(command.summary)
  const hidden = yield* chooseItemsInSlices(state, command, summary)
  if (E.isLeft(hidden)) return hidden
  const marker = { ...(yield* factsIn(hidden.right, summary)), summary, method }
  const data = { ...marker, ...(origin && { origin }), ...(policy && { policy }) }
  return E.right([withView({ type: 'Condensed', data }, state)])
}

/** Decides a truncate command: from now on, a slice of the effective history is no longer shown. Runs in slices of work. */
export function* truncate(
  command: Command<'truncate'>,
  state: ShownState,
): SliceGenerator<E.Either<CommandRejection<'truncate'>, readonly Event[]>> {
  const { reason, policy } = command
  const hidden = yield* chooseItemsInSlices(state, command, [])
  if (E.isLeft(hidden)) return hidden
  const marker = yield* factsIn(hidden.right, [])
  const data = { ...marker, ...(reason !== undefined && { reason }), ...(policy && { policy }) }
  return E.right([withView({ type: 'Truncated', data }, state)])
}

/** Returns a summary as messages: text or blocks become one user message. */
const summaryOf = (summary: Summary): readonly Message[] => {
  if (typeof summary === 'string') return [{ role: 'user', content: blocksOf(summary) }]
  const messages = summary.flatMap((part) =>
    isSaid(part) ? [{ ...part, content: blocksOf(part.content) }] : [],
  )
  const blocks = summary.flatMap((part) => (isSaid(part) ? [] : [part]))
  return messages.length > 0 ? messages : [{ role: 'user', content: blocks }]
}

type Said = Pick<NewMessage, 'role' | 'content'>
const isSaid = (part: Said | Block): part is Said => 'role' in part

type Facts = Pick<EventData['Truncated'], 'covers' | 'messagesHidden' | 'tokens' | 'container'>

/**
 * Returns the data that a marker records about the items that it hides and about the summary that replaces them.
 *
 * @param hidden one or more items, as shown
 */
export const factsOf = (hidden: readonly Item[], summary: readonly Message[]): Facts =>
  atOnce(factsIn(hidden, summary))

/** Computes the same as `factsOf`, in slices of work. */
function* factsIn(hidden: readonly Item[], summary: readonly Message[]): SliceGenerator<Facts> {
  let before = 0
  for (const item of hidden) {
    before += tokensOf(item)
    yield
  }
  const container = containerIn(hidden)
  yield
  return {
    covers: { first: hidden[0]?.position ?? 0, last: hidden.at(-1)?.position ?? 0 },
    messagesHidden: hidden.reduce(
      (sum, item) => sum + (item.kind === 'message' ? 1 : item.messagesHidden),
      0,
    ),
    tokens: {
      before,
      after: tokensByBytes(summary.flatMap(({ content }) => content)),
    },
    ...(container && { container }),
  }
}

/** State from which a view is computed: the end of the log, and the layout at that position. */
export type ViewBasis = Pick<ShownState, 'last' | 'sinceView' | 'named'> & {
  readonly effective: Pick<ShownState['effective'], 'layout'>
}

/** Adds a view to the last of several events written together, if that event is an edit that needs a view. */
export const withLastView = (events: readonly Event[], state: ViewBasis): readonly Event[] => {
  const edit = events.at(-1)
  const before = events.slice(0, -1)
  // After a rewind the layout differs, so no view is added; a later marker will have one.
  if (edit?.type !== 'Condensed' || before.some(({ type }) => type === 'Rewound')) return events
  const layout = draftOf(state.effective.layout)
  for (const [index, event] of before.entries())
    evolve(layout, { ...event, position: state.last + 1 + index }, () => undefined)
  const last = state.last + before.length
  return [
    ...before,
    withView(edit, { ...state, last, effective: { layout }, sinceView: state.sinceView + before.length }),
  ]
}

/** Returns the event, with a view added if the event must carry one. */
export const withView = <E extends Event<TypeOfEffect<'marker' | 'restore'>>>(
  event: E,
  { last, effective, sinceView, named }: ViewBasis,
): E => {
  const draft = draftOf(effective.layout)
  evolve(draft, { ...event, position: last + 1 }, (): readonly Slot[] | undefined => named.replaced)
  const view = viewOf(draft)
  return event.type === 'Restored' || needsView(view, sinceView)
    ? { ...event, data: { ...event.data, view } }
    : event
}
