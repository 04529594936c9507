import type { StoredEvent } from '../../events/codec.ts'
import type { ConversationEvent, EventData, EventType } from '../../events/events.ts'
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

/** An event that an import has prepared. Its content is read when it is needed. */
export class PreparedEvent {
  readonly type: EventType
  readonly id = ''
  readonly position: number
  readonly metadata: ConversationEvent['metadata']
  readonly stored: () => StoredEvent

  /** @param stored returns the encoded event */
  constructor({ type, metadata }: StoredEvent, position: number, stored: () => StoredEvent) {
    const { commandId, salt } = JSON.parse(metadata) as ConversationEvent['metadata']
    this.type = type as EventType
    this.position = position
    this.metadata = { ...unimportant, commandId, ...(salt !== undefined && { salt }) }
    this.stored = stored
  }

  get data(): unknown {
    return JSON.parse(this.stored().data)
  }
}
