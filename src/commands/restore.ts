import * as E from 'fp-ts/lib/Either.js'
import type { Event } from '../events/events.ts'
import type { Command } from './command.ts'
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
    : E.left(notShown(state.conversation, marker, 'marker', markers))
}
