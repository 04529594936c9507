import type { Block } from '../events/blocks.ts'
import {
  type ConversationEvent,
  type ConversationEventOf,
  type EventData,
  type Metadata,
  messageOf,
  type Origin,
  type Role,
} from '../events/events.ts'
import { type Item, itemIn, type MessageItem } from '../projections/effective.ts'
import { currentSchema } from '../events/upcast.ts'
import type { Log } from '../projections/path.ts'

/** Number of bytes after which the next messages go into another page. */
const pageSize = 256 * 1024
/** Number of messages whose parsed data is kept, a power of 2: neighbouring messages are read again and again. */
const keptMessages = 64

/**
 * Reads every event of a conversation into memory, including those inherited by a fork, for projections of a long log. A message takes
 * a fourth of the memory that `logOf` needs: it is kept as JSON outside the heap and parsed whenever its data is read. Of the metadata,
 * only the time is kept, and ids are empty. Throws a `ReadError`.
 */
export const packedLogOf = async (chat: {
  readonly events: () => AsyncIterable<ConversationEvent>
}): Promise<Log> => {
  const log: ConversationEvent[] = []
  let last = ''
  const parsed: ParsedMessages = { positions: [], data: [] }
  let page: MessagePage = { bytes: Buffer.alloc(0), parsed }
  let texts: string[] = []
  let length = 0
  const closePage = (): void => {
    page.bytes = Buffer.from(texts.join(''))
    page = { bytes: Buffer.alloc(0), parsed }
    texts = []
    length = 0
  }
  for await (const event of chat.events()) {
    const { time } = event.metadata
    // A copy: the time of an event is a slice of the text of its metadata, all of which it would keep in memory.
    if (time !== last) last = Buffer.from(time).toString()
    if (event.type !== 'MessageAppended') {
      log.push({ ...event, id: '', metadata: metadataAt(last) })
      continue
    }
    const { position, data } = event
    const text = JSON.stringify(data)
    const start = length
    length += Buffer.byteLength(text)
    texts.push(text)
    log.push(new PackedMessage(position, last, data.role, page, [start, length]))
    if (length > pageSize) closePage()
  }
  closePage()
  return log
}

interface MessagePage {
  bytes: Buffer
  readonly parsed: ParsedMessages
}

/** Data of messages that were read last, by the last bits of their positions. */
interface ParsedMessages {
  readonly positions: number[]
  readonly data: EventData['MessageAppended'][]
}

/** A message of a packed log. It is a class because getters that each object has for itself take several times the memory. */
class PackedMessage implements ConversationEventOf<'MessageAppended'> {
  readonly id = ''
  readonly type = 'MessageAppended'
  readonly position: number
  readonly time: string
  readonly role: Role
  readonly #page: MessagePage
  readonly #start: number
  readonly #end: number
  constructor(
    position: number,
    time: string,
    role: Role,
    page: MessagePage,
    [start, end]: readonly [number, number],
  ) {
    this.position = position
    this.time = time
    this.role = role
    this.#page = page
    this.#start = start
    this.#end = end
  }
  get metadata(): Metadata {
    return metadataAt(this.time)
  }
  /** The data as JSON. */
  get text(): string {
    return this.#page.bytes.toString('utf8', this.#start, this.#end)
  }
  get data(): EventData['MessageAppended'] {
    const { positions, data } = this.#page.parsed
    const slot = this.position & (keptMessages - 1)
    const known = data[slot]
    if (known && positions[slot] === this.position) return known
    const parsed = JSON.parse(this.text) as EventData['MessageAppended']
    positions[slot] = this.position
    return (data[slot] = parsed)
  }
}

/** Converts an event like `itemIn`. The item of a packed message reads its content and origin from the message each time. */
export const packedItemIn = (event: ConversationEvent): Item | undefined =>
  event instanceof PackedMessage ? (new PackedItem(event) as MessageItem) : itemIn(event)

/** Reports whether the words in an item may contain a term: letters, digits and `@-_./,`, which JSON does not escape. */
export const mayContain = (item: Item, term: string): boolean =>
  !(item instanceof PackedItem) || item.text.includes(term)

class PackedItem {
  readonly kind = 'message'
  readonly position: number
  readonly time: string
  readonly role: Role
  readonly #event: PackedMessage
  constructor(event: PackedMessage) {
    this.position = event.position
    this.time = event.time
    this.role = event.role
    this.#event = event
  }
  get text(): string {
    return this.#event.text
  }
  get messageId(): string {
    return messageOf(this.#event).messageId ?? ''
  }
  get content(): readonly Block[] {
    return messageOf(this.#event).content
  }
  get origin(): Origin | undefined {
    return messageOf(this.#event).origin
  }
}

const nobody = { kind: '' }
const metadataAt = (time: string): Metadata => ({
  schema: currentSchema,
  time,
  actor: nobody,
  commandId: '',
  prev: null,
})
