import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Conversation } from '../api/promises.ts'
import { isError } from '../api/errors.ts'
import { type ConversationEvent, type Message, START } from '../events/events.ts'
import { type LangChainMessage, langChainMessageOf, messageOf } from './langchain-messages.ts'

/** A message of a conversation. With the messages before it, it is the history of a checkpoint. */
export interface MessageNode {
  /** Position of the message; -1 for the empty history. */
  readonly position: number
  readonly parent: MessageNode | undefined
  readonly children: MessageNode[]
  /** The message as it was appended, as JSON. */
  readonly appended: string
  /**
   * Id of a message that was appended without one, in the histories of checkpoints: null if it has none there, absent before the first
   * of them.
   */
  id?: string | null
  /** The message with its id, as JSON, in the form in which it was last seen. */
  text?: string
}

interface SeenEvent extends Pick<ConversationEvent, 'type' | 'position'> {
  readonly data?: object
}

/** Place of a list of messages in the conversation, and the messages that are missing there. */
interface ListPlace {
  /** Last message of the list that the conversation has, after all before it. */
  readonly node: MessageNode
  readonly missing: readonly LangChainMessage[]
  /** Ids that these messages have from now on, by position. */
  readonly ids: MessageIds
}

/** Ids of messages that were appended without one, by position; null for a message that has none in histories either. */
export type MessageIds = Record<string, string | null>

/** The messages of a conversation as a tree, because checkpoints branch. */
export interface MessageTree {
  readonly root: MessageNode
  readonly nodeAt: (position: number) => MessageNode | undefined
  /** Returns the last message that the conversation shows; the empty history if somebody has hidden messages. */
  readonly newest: () => MessageNode
  /** Reads the events recorded since. */
  readonly update: () => Promise<void>
  readonly exists: () => boolean
  /** Reports whether content was erased since it was read, so that messages would be found here that the store no longer has. */
  readonly isErased: () => boolean
  /** Reports whether the conversation is a fork: an erasure in its parent leaves no event in it. */
  readonly isFork: () => boolean
  readonly place: (list: readonly LangChainMessage[]) => ListPlace
  /** Finds a message by its content anywhere in the conversation; `id` is the id that it has in addition. */
  readonly find: (message: LangChainMessage) => { readonly at: number; readonly id?: string } | undefined
  /** Appends messages after a message. Rejects with `StaleContext` if another process wrote in the meantime. */
  readonly append: (
    after: MessageNode,
    messages: readonly LangChainMessage[],
  ) => Promise<readonly MessageNode[]>
  /** Makes a message the last one that the conversation shows; creates the conversation if absent. */
  readonly show: (node: MessageNode) => Promise<void>
}

/** Reads and writes the messages of a conversation whose checkpoints LangGraph writes. */
export const messageTree = (chat: Conversation): MessageTree => {
  const root: MessageNode = { position: START, parent: undefined, children: [], appended: '' }
  /** The last message at each position; undefined where somebody has hidden messages, which no checkpoint shows. */
  const nodes: (MessageNode | undefined)[] = []
  const byContent = new Map<string, MessageNode[]>()
  let head: MessageNode | undefined = root
  let [isErased, isFork] = [false, false]

  const added = (parent: MessageNode, position: number, data: Message): MessageNode => {
    const message = langChainMessageOf(data)
    const node: MessageNode = { position, parent, children: [], appended: JSON.stringify(message) }
    parent.children.push(node)
    const key = keyOf(message)
    const same = byContent.get(key)
    if (same) same.unshift(node)
    else byContent.set(key, [node])
    return node
  }
  const see = ({ type, data, position }: SeenEvent): void => {
    if (type === 'Rewound') {
      const { to } = data as { readonly to: number }
      head = to === START ? root : nodes[to]
    } else if (type === 'MessageAppended') head = head && added(head, position, data as Message)
    else if (type === 'Condensed' || type === 'Truncated' || type === 'Restored') head = undefined
    nodes[position] = head
  }
  const after = () => ({ after: nodes.length - 1 })

  return {
    root,
    nodeAt: (position) => (position === START ? root : nodes[position]),
    newest: () => head ?? root,
    exists: () => nodes.length > 0,
    isErased: () => isErased,
    isFork: () => isFork,
    update: async () => {
      try {
        const last = await chat.position()
        if (last < nodes.length) return
        const read = nodes.length === 0 ? last : START
        for await (const event of chat.events({ from: nodes.length })) {
          see(event)
          isFork ||= event.type === 'Forked'
          if (event.type === 'Erased' && event.position > read) isErased = true
        }
      } catch (error) {
        if (!isError(error, 'ConversationNotFound')) throw error
      }
    },
    place: (list) => {
      const ids: MessageIds = {}
      let node = root
      for (const [index, message] of list.entries()) {
        const next = childWith(node, message, ids)
        if (!next) return { node, missing: list.slice(index), ids }
        node = next
      }
      return { node, missing: [], ids }
    },
    find: (message) => {
      const { id, ...rest } = message.kwargs
      for (const node of byContent.get(keyOf(message))?.slice(0, mostCompared) ?? []) {
        const appended: unknown = JSON.parse(node.appended)
        if (isDeepStrictEqual(appended, message)) return { at: node.position }
        if (typeof id === 'string' && isDeepStrictEqual(appended, { ...message, kwargs: rest }))
          return { at: node.position, id }
      }
      return undefined
    },
    append: async (node, messages) => {
      const { events } = await chat.append(messages.map(messageOf), {
        ...after(),
        ...(head !== node && { rewindTo: node.position }),
      })
      for (const event of events) see(event)
      return nodes.slice(-messages.length) as readonly MessageNode[]
    },
    show: async (node) => {
      if (nodes.length > 0 && head === node) return
      const { events } =
        nodes.length === 0
          ? await chat.configure({ ...after(), parameters: {} })
          : await chat.rewind({ ...after(), to: node.position })
      for (const event of events) see(event)
    },
  }
}

/** Number of messages of equal content that are compared with a message. */
const mostCompared = 8

const keyOf = ({ kwargs }: LangChainMessage): string =>
  hash('sha256', JSON.stringify(kwargs['content']) ?? '', 'base64')

/** Finds the message after a message; adds to `ids` if it gets its id only now. */
const childWith = (
  { children }: MessageNode,
  message: LangChainMessage,
  ids: MessageIds,
): MessageNode | undefined => {
  const text = JSON.stringify(message)
  const found = children.find((child) => child.text === text)
  if (found) return found
  const { id, ...rest } = message.kwargs
  for (const child of children) {
    const appended: unknown = JSON.parse(child.appended)
    if (isDeepStrictEqual(appended, message)) {
      if (typeof child.id === 'string') continue
      if (id !== undefined || child.id === null) child.text = text
      else ids[child.position] = null
      return child
    }
    if (typeof id !== 'string' || !isDeepStrictEqual(appended, { ...message, kwargs: rest })) continue
    if (child.id === undefined) ids[child.position] = id
    else if (child.id === id) child.text = text
    else continue
    return child
  }
  return undefined
}

/** Returns a message as JSON, with an id that it was not appended with. */
export const textWithId = ({ appended }: MessageNode, id: string | undefined): string => {
  if (id === undefined) return appended
  const message = JSON.parse(appended) as LangChainMessage
  return JSON.stringify({ ...message, kwargs: { ...message.kwargs, id } })
}

/** Returns a history as JSON: the messages up to and including this one. */
export const historyText = (last: MessageNode): string => {
  const texts: string[] = []
  for (let node = last; node.parent; node = node.parent)
    texts.push((node.text ??= textWithId(node, node.id ?? undefined)))
  return `[${texts.toReversed().join()}]`
}

/** Reports whether a message comes after another one, or is it. */
export const isFrom = (node: MessageNode | undefined, first: MessageNode): boolean => {
  let earlier = node
  while (earlier && earlier.position > first.position) earlier = earlier.parent
  return earlier === first
}
