import {
  type Configuration,
  type ConversationEvent,
  messageOf,
  otherFieldsOf,
  START,
} from '../events/events.ts'
import { itemIn, messagesOf } from '../projections/effective.ts'
import { keysOf, type MessageKeys, textsIn } from './message-keys.ts'

// The states in which a recorded conversation has been, so that a request that returns to one of them is recognised as a rewind. A lane
// is folded from the events of the log, when the recorder starts and after each write.

/** An item of the effective history, as the recorder compares it. */
export interface LaneItem {
  readonly position: number
  /** The messages that the item shows, without their content. */
  readonly messages: readonly MessageKeys[]
}

/** A history: its last item, and the history before that. Histories share their beginnings. */
interface History {
  readonly item: LaneItem
  readonly before: History | undefined
  /** Its messages in the tree, once it was remembered. */
  prefix?: Prefix
}

/** A list of messages with which a history has begun, as a node of a tree. */
interface Prefix {
  readonly next: Map<string, Prefix>
  /** Newest position at which the history was exactly this list. */
  at?: number
}

/** A conversation as the recorder knows it. */
export interface RecordLane {
  readonly id: string
  /** Last position of the log that was folded; `START` at the beginning. */
  readonly last: () => number
  readonly items: () => readonly LaneItem[]
  readonly itemsAt: (position: number) => readonly LaneItem[]
  /** Returns the longest beginning of a list of keys with which the history was at some position. */
  readonly deepest: (keys: readonly string[]) => KnownState
  /** Returns how many of these keys some state of the conversation has begun with. */
  readonly depth: (keys: readonly string[]) => number
  /** Returns texts of the last replies, newest last. */
  readonly replies: () => readonly string[]
  /** Configuration in force. */
  readonly configuration: () => Configuration
  /** Folds the next events of the log. */
  readonly advance: (events: readonly ConversationEvent[]) => void
  /** Remembers the text of a summary that a request beside the conversation has returned. */
  readonly addReply: (text: string) => void
}

/** A state of the log: the number of messages shown, and the position. `START` is the empty history. */
export interface KnownState {
  readonly messages: number
  readonly position: number
}

/** Number of replies in whose texts a summary is looked for. */
const mostReplies = 8
/** Maximum length of a kept reply, in characters. */
const longestReply = 20_000

export const createLane = (id: string): RecordLane => {
  /** Histories by position. A rewind leads to one of them. */
  const histories: (History | undefined)[] = []
  const configurations: (Configuration | undefined)[] = []
  const replaced = new Map<number, readonly LaneItem[]>()
  const root: Prefix = { next: new Map(), at: START }
  let head: History | undefined
  let configuration: Configuration | undefined
  let replies: readonly string[] = []
  let last = START

  /** Replaces the items from one to another position, both inclusive, by others. */
  const splice = (
    first: number,
    end: number,
    items: readonly LaneItem[],
  ): readonly LaneItem[] | undefined => {
    const list = itemsOf(head)
    const from = list.findLastIndex(({ position }) => position === first)
    const to = list.findLastIndex(({ position }) => position === end)
    if (from < 0 || to < from) return undefined
    let at = head
    for (let index = list.length; index > from; index--) at = at?.before
    for (const item of [...items, ...list.slice(to + 1)]) at = { item, before: at }
    head = at
    return list.slice(from, to + 1)
  }

  const fold = (event: ConversationEvent): void => {
    const { position } = event
    switch (event.type) {
      case 'Rewound':
        head = event.data.to < 0 ? undefined : histories[event.data.to]
        configuration = event.data.to < 0 ? undefined : configurations[event.data.to]
        break
      case 'Configured':
        configuration = event.data
        break
      case 'Restored': {
        const items = replaced.get(event.data.marker)
        if (items) splice(event.data.marker, event.data.marker, items)
        break
      }
      case 'Condensed':
      case 'Truncated': {
        const { first, last: end } = event.data.covers
        const item = laneItemOf(event)
        const hidden = item && splice(first, end, [item])
        if (hidden) replaced.set(position, hidden)
        break
      }
      case 'MessageAppended': {
        const item = laneItemOf(event)
        if (item) head = { item, before: head }
        const { role, content } = messageOf(event)
        if (role === 'assistant') addReply(content.flatMap(textsIn).join('\n'))
        break
      }
      case 'Forked':
      case 'Erased':
        break
    }
    histories[position] = head
    configurations[position] = configuration
    last = position
  }

  /** Remembers the current state, so that a later request can return to it. */
  const remember = (): void => {
    const added: History[] = []
    let known = head
    for (; known && !known.prefix; known = known.before) added.push(known)
    let node = known?.prefix ?? root
    for (const history of added.toReversed()) {
      for (const { key } of history.item.messages) {
        let next = node.next.get(key)
        if (!next) node.next.set(key, (next = { next: new Map() }))
        node = next
      }
      history.prefix = node
    }
    node.at = last
  }

  const addReply = (text: string): void => {
    if (text.trim() !== '') replies = [...replies, text.slice(0, longestReply)].slice(-mostReplies)
  }

  const walk = (keys: readonly string[], visit: (node: Prefix, depth: number) => void): void => {
    let node: Prefix | undefined = root
    for (let depth = 0; node; depth++) {
      visit(node, depth)
      const key: string | undefined = keys[depth]
      node = key === undefined ? undefined : node.next.get(key)
    }
  }

  return {
    id,
    last: () => last,
    items: () => itemsOf(head),
    itemsAt: (position) => itemsOf(position < 0 ? undefined : histories[position]),
    deepest: (keys) => {
      let found: KnownState = { messages: 0, position: START }
      walk(keys, ({ at }, depth) => {
        if (at !== undefined) found = { messages: depth, position: at }
      })
      return found
    },
    depth: (keys) => {
      let found = 0
      walk(keys, (_, depth) => (found = depth))
      return found
    },
    replies: () => replies,
    configuration: () => configuration ?? {},
    advance: (events) => {
      for (const [index, event] of events.entries()) {
        fold(event)
        // Several markers of one write are one change.
        const after = events[index + 1]?.type
        if (after !== 'Condensed' && after !== 'Truncated') remember()
      }
    },
    addReply,
  }
}

const itemsOf = (history: History | undefined): readonly LaneItem[] => {
  const items: LaneItem[] = []
  for (let at = history; at; at = at.before) items.push(at.item)
  return items.toReversed()
}

/** Returns the item that an event shows, with the keys of its messages. */
const laneItemOf = (event: ConversationEvent): LaneItem | undefined => {
  const item = itemIn(event)
  return (
    item && {
      position: item.position,
      messages: messagesOf(item).map((message) => {
        const fields = item.kind === 'message' ? item.fields : otherFieldsOf(message)
        const { role, content } = message
        return keysOf({ role, content, ...(fields && { fields }) })
      }),
    }
  )
}
