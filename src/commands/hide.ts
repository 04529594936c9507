import type { Block } from '../events/blocks.ts'
import { pipe } from 'fp-ts/lib/function.js'
import * as E from 'fp-ts/lib/Either.js'
import type { Event, EventData, Message } from '../events/events.ts'
import { containerIn } from '../projections/container.ts'
import type { Item } from '../projections/effective.ts'
import { draftOf, evolve, needsView, type Slot, viewOf } from '../projections/outline.ts'
import { tokensByBytes } from '../projections/tokens.ts'
import type { Command, NewMessage, Summary } from './command.ts'
import type { Rejection } from './rejections.ts'
import { blocksOf } from './append.ts'
import { chooseItems, tokensOf } from './slice.ts'
import type { ShownState } from './state.ts'

/** Shows a slice of the effective history as a summary from now on. */
export const condense = (
  command: Command<'condense'>,
  state: ShownState,
): E.Either<Rejection<'condense'>, readonly Event[]> => {
  const { method = 'manual', origin, policy } = command
  const summary = summaryOf(command.summary)
  return pipe(
    chooseItems(state, command, summary),
    E.map((hidden) => {
      const marker = { ...factsOf(hidden, summary), summary, method }
      const data = { ...marker, ...(origin && { origin }), ...(policy && { policy }) }
      return [withView({ type: 'Condensed', data }, state)]
    }),
  )
}

/** Shows a slice of the effective history no longer. */
export const truncate = (
  command: Command<'truncate'>,
  state: ShownState,
): E.Either<Rejection<'truncate'>, readonly Event[]> =>
  pipe(
    chooseItems(state, command, []),
    E.map((hidden) => {
      const { reason, policy } = command
      const marker = factsOf(hidden, [])
      const data = { ...marker, ...(reason !== undefined && { reason }), ...(policy && { policy }) }
      return [withView({ type: 'Truncated', data }, state)]
    }),
  )

/** Text or blocks are one user message; messages are themselves. */
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

/** What a marker says about the items that it hides (one or more, as they are shown) and about what replaces them. */
export const factsOf = (hidden: readonly Item[], summary: readonly Message[]): Facts => {
  const container = containerIn(hidden)
  return {
    covers: { first: hidden[0]?.position ?? 0, last: hidden.at(-1)?.position ?? 0 },
    messagesHidden: hidden.reduce(
      (sum, item) => sum + (item.kind === 'message' ? 1 : item.messagesHidden),
      0,
    ),
    tokens: {
      before: hidden.reduce((sum, item) => sum + tokensOf(item), 0),
      after: tokensByBytes(summary.flatMap(({ content }) => content)),
    },
    ...(container && { container }),
  }
}

/** What a view is made of: the end of the log, and the outline there. */
export type Outlined = Pick<ShownState, 'last' | 'sinceView' | 'named'> & {
  readonly effective: Pick<ShownState['effective'], 'outline'>
}

/** Events that are written at once, with a view in the last one if that is an edit that must have one. */
export const withLastView = (events: readonly Event[], state: Outlined): readonly Event[] => {
  const edit = events.at(-1)
  const before = events.slice(0, -1)
  // After a rewind the outline differs; a later marker has a view.
  if (edit?.type !== 'Condensed' || before.some(({ type }) => type === 'Rewound')) return events
  const outline = draftOf(state.effective.outline)
  for (const [index, event] of before.entries())
    evolve(outline, { ...event, position: state.last + 1 + index }, () => undefined)
  const last = state.last + before.length
  return [
    ...before,
    withView(edit, { ...state, last, effective: { outline }, sinceView: state.sinceView + before.length }),
  ]
}

/** The event, with its view if it must have one. */
export const withView = <E extends Event<'Condensed' | 'Truncated' | 'Restored'>>(
  event: E,
  { last, effective, sinceView, named }: Outlined,
): E => {
  const draft = draftOf(effective.outline)
  evolve(draft, { ...event, position: last + 1 }, (): readonly Slot[] | undefined => named.replaced)
  const view = viewOf(draft)
  return event.type === 'Restored' || needsView(view, sinceView)
    ? { ...event, data: { ...event.data, view } }
    : event
}
