import * as E from 'fp-ts/lib/Either.js'
import type { Event } from '../events/events.ts'
import type { Command } from './command.ts'
import type { SummaryItem, TruncationItem } from '../projections/effective.ts'
import { withView } from './hide.ts'
import { notShown, type CommandRejection } from './rejections.ts'
import type { ShownState } from './state.ts'

/**
 * Decides a restore: the content hidden by a marker is shown again in the marker's place. The marker must be visible, so nested markers
 * are restored from the outside in.
 */
export const restore = (
  { marker }: Command<'restore'>,
  state: ShownState,
): E.Either<CommandRejection<'restore'>, readonly Event[]> => {
  const markers = state.effective.items
    .filter(({ kind }) => kind !== 'message')
    .map(({ position }) => position)
  return markers.includes(marker)
    ? E.right([withView({ type: 'Restored', data: { marker } }, state)])
    : E.left(notShown(state.conversation, marker, 'marker', markers, adviceFor(marker, state)))
}

/** Returns the reasons that a marker may not be shown for, of which only those that the history allows. */
const adviceFor = (marker: number, { effective: { items }, last, named: { event } }: ShownState): string => {
  if (marker > last) return `. The conversation ends at position ${last}`
  const later = items.filter((item) => item.kind !== 'message').filter(({ position }) => position > marker)
  // An abandoned branch may have positions between those that a marker covers.
  const over = later.find((item) => mayHide(item, marker))
  if (event?.type === 'MessageAppended') {
    const isShown = items.some(({ position }) => position === marker)
    return `. That position is a message${over && !isShown ? `: restore the marker at ${over.position} if it hides it` : ''}`
  }
  if (over)
    return `. The marker at ${over.position} hides that position: restore it first; or, if the position is on an abandoned branch, rewind to it`
  const hidden =
    later.length === 0
      ? ''
      : ` if a later marker (${later.map(({ position }) => position).join(', ')}) hides it, restore that one first;`
  return `. If it has been restored, nothing is left to do;${hidden} if it is on an abandoned branch, rewind to it`
}

/** Reports whether a marker may hide a position. A slice that begins with a marker, such as 13..6, begins at most at its position. */
const mayHide = ({ covers: { first, last } }: SummaryItem | TruncationItem, position: number): boolean =>
  first > last ? position <= first : first <= position && position <= last
