import type { ConversationEvent, EventData } from '../../events/events.ts'
import type { Shelf } from './shelf.ts'
import { unimportant } from './stage.ts'

/** Returns a function that prepares events for planning. The content of a message is put on the shelf and read only when needed. */
export const lightEvents =
  (shelf: Shelf) =>
  (event: ConversationEvent): ConversationEvent =>
    event.type === 'MessageAppended' ? new Said(event, shelf) : event

/** A message event whose content is on the shelf. It is a class so that all messages share one getter. */
class Said implements ConversationEvent<'MessageAppended'> {
  readonly type = 'MessageAppended'
  readonly id = ''
  readonly position: number
  readonly metadata: ConversationEvent['metadata']
  readonly #shelf: Shelf
  readonly #place: number

  constructor({ position, metadata, data }: ConversationEvent<'MessageAppended'>, shelf: Shelf) {
    this.position = position
    const { commandId, salt, erased } = metadata
    this.metadata = {
      ...unimportant,
      commandId,
      ...(salt !== undefined && { salt }),
      ...(erased && { erased }),
    }
    this.#shelf = shelf
    this.#place = shelf.put(data)
  }

  get data(): EventData['MessageAppended'] {
    return this.#shelf.get(this.#place) as EventData['MessageAppended']
  }
}
