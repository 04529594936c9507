import type { NewMessage } from '../commands/command.ts'
import { type Block, isBlock } from '../events/blocks.ts'
import type { StoredEvent } from '../events/codec.ts'
import type { ConversationEvent, Event, Message } from '../events/events.ts'
import type { Item } from '../projections/effective.ts'

/** Where an import keeps large content until it is written: a session may be larger than the memory. */
export interface Shelf {
  /** Takes a text; what is returned reads it again. Undefined: there is room for it in memory. */
  readonly put: (text: string) => (() => string) | undefined
}

/** Keeps everything in memory. */
export const noShelf: Shelf = { put: () => undefined }

/** Blocks with fewer characters are not worth the way. */
const small = 200

/** Of a block on the shelf: the block that stands for it, with what an importer looks at, and how to read the whole. */
const shelved = new WeakMap<Block, () => string>()

/** The content, with its large blocks on the shelf. */
export const shelve = (content: NewMessage['content'], shelf: Shelf): NewMessage['content'] => {
  if (shelf === noShelf) return content
  if (typeof content !== 'string') return content.map((block) => put(block, shelf))
  return content.length < small ? content : [put({ type: 'text', text: content }, shelf)]
}

const put = (block: Block, shelf: Shelf): Block => {
  const text = JSON.stringify(block)
  const read = text.length < small ? undefined : shelf.put(text)
  if (!read) return block
  const stub: Block = {
    type: block.type,
    ...(isBlock(block, 'tool_use') && { id: block.id }),
    ...(isBlock(block, 'tool_result') && { tool_use_id: block.tool_use_id }),
  }
  shelved.set(stub, read)
  return stub
}

/** The blocks as they were put on the shelf. */
const whole = (blocks: readonly Block[]): readonly Block[] =>
  blocks.some((block) => shelved.has(block)) ? blocks.map(wholeOf) : blocks

/** The block as it was put on the shelf. */
export const wholeOf = (block: Block): Block => {
  const read = shelved.get(block)
  return read ? (JSON.parse(read()) as Block) : block
}

export const wholeMessage = <M extends Message>(message: M): M => ({
  ...message,
  content: whole(message.content),
})

/** The item, whose content is read from the shelf when it is asked for. */
export const wholeItem = (item: Item): Item => {
  if (item.kind === 'truncation') return item
  if (item.kind === 'summary') return { ...item, messages: item.messages.map(wholeMessage) }
  return {
    ...item,
    get content() {
      return whole(item.content)
    },
  }
}

/** The event as it is to be written. */
export const wholeEvent = (event: Event): Event => {
  if (event.type === 'MessageAppended') return { ...event, data: wholeMessage(event.data) }
  if (event.type !== 'Condensed') return event
  return { ...event, data: { ...event.data, summary: event.data.summary.map(wholeMessage) } }
}

/** The event as a plan needs it, with its large content on the shelf. */
export const shelveEvent = (event: ConversationEvent, shelf: Shelf): ConversationEvent => {
  if (event.type !== 'MessageAppended' || shelf === noShelf) return event
  const content = shelve(event.data.content, shelf) as readonly Block[]
  return { ...event, data: { ...event.data, content } }
}

/** The stored event, whose data is read from the shelf when it is asked for. */
export const shelveStored = (event: StoredEvent, shelf: Shelf): StoredEvent => {
  const read = event.data.length < small ? undefined : shelf.put(event.data)
  if (!read) return event
  const { id, type, metadata } = event
  return {
    id,
    type,
    metadata,
    get data() {
      return read()
    },
  }
}
