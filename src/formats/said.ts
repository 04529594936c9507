import type { ConversationEvent, EventData } from '../events/events.ts'
import type { Shelf } from './shelf.ts'
import { unimportant } from './stage.ts'

/** The events of a conversation as a plan needs them: what a message says is on the shelf until somebody asks for it. */
export const lightEvents =
  (shelf: Shelf) =>
  (event: ConversationEvent): ConversationEvent =>
    event.type === 'MessageAppended' ? new Said(event, shelf) : event

/** A class, so that there is one getter, not one for each message. */
class Said implements ConversationEvent<'MessageAppended'> {
  readonly type = 'MessageAppended'
  readonly id = ''
  readonly position: number
  readonly metadata: ConversationEvent['metadata']
  readonly #shelf: Shelf
  readonly #place: number

  constructor({ position, metadata, data }: ConversationEvent<'MessageAppended'>, shelf: Shelf) {
    this.position = position
    this.metadata = { ...unimportant, commandId: metadata.commandId }
    this.#shelf = shelf
    this.#place = shelf.put(data)
  }

  get data(): EventData['MessageAppended'] {
    return this.#shelf.get(this.#place) as EventData['MessageAppended']
  }
}
