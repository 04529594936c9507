import type { NewMessage } from '../../commands/command.ts'
import type { Block } from '../../events/blocks.ts'
import type { ImportAction } from './plan.ts'
import { type LazyList, listOn, type Shelf } from './shelf.ts'

/** The actions of a conversation found so far. Only their places on the shelf are in memory. */
export interface ActionList {
  /** Returns the number of actions, which is the index of the next one. */
  readonly count: () => number
  readonly add: (action: ImportAction) => void
  /** Appends blocks to the message at this index, and adds newer fields to the message's origin. */
  readonly extend: (index: number, more: More) => void
  readonly at: (index: number) => ImportAction | undefined
  readonly list: () => LazyList<ImportAction>
}

interface More {
  readonly content: readonly Block[]
  readonly origin: NewMessage['origin'] | undefined
}

/** An addition to the message stored at the place `before`. */
interface Extension extends More {
  readonly before: number
}

export const actionsOn = (shelf: Shelf): ActionList => {
  const places: number[] = []
  const read = readerOf(shelf)
  return {
    count: () => places.length,
    add: (action) => places.push(shelf.put(action)),
    extend: (index, more) => {
      const before = places[index]
      if (before !== undefined) places[index] = shelf.put({ before, ...more })
    },
    at: (index) => {
      const place = places[index]
      return place === undefined ? undefined : read(place)
    },
    list: () => listOn(places, read),
  }
}

const readerOf =
  (shelf: Shelf) =>
  (place: number): ImportAction => {
    const extensions: Extension[] = []
    let found = shelf.get(place) as ImportAction | Extension
    while ('before' in found) {
      extensions.push(found)
      found = shelf.get(found.before) as ImportAction | Extension
    }
    return found.type === 'message' && extensions.length > 0
      ? { ...found, message: extended(found.message, extensions.toReversed()) }
      : found
  }

const extended = (message: NewMessage, extensions: readonly More[]): NewMessage => ({
  ...message,
  content: [...blocksOf(message), ...extensions.flatMap(({ content }) => content)],
  origin: Object.assign({}, message.origin, ...extensions.map(({ origin }) => origin)) as object,
})

/** Returns the blocks of a message. A string becomes one text block. */
export const blocksOf = ({ content }: NewMessage): readonly Block[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : content
