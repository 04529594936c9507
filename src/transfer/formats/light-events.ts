import type { ConversationEvent, EventData } from '../../events/events.ts'
import type { Shelf } from './shelf.ts'
import { unimportant } from './stage.ts'

/** Builds the events of a conversation for a plan: the content of messages stays on the shelf until it is read. */
export const lightEvents =
  (shelf: Shelf) =>
  (event: ConversationEvent): ConversationEvent =>
    event.type === 'MessageAppended' ? new Said(event, shelf) : event

/** A class, so that there is one getter in total instead of one per message. */
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
