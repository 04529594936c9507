import type { Block } from '../events/blocks.ts'
import type { Event } from '../events/events.ts'
import type { Command, NewMessage } from './command.ts'

/** One event a message, in order. Nothing is judged: what happened is recorded, and render makes a request of it. */
export const append = ({ messages }: Command<'append'>): readonly Event[] =>
  messages.map((message) => ({ type: 'MessageAppended', data: dataOf(message) }))

const dataOf = (message: NewMessage): Event<'MessageAppended'>['data'] => ({
  ...message,
  content: blocksOf(message.content),
})

/** A string stands for one text block. */
export const blocksOf = (content: NewMessage['content']): readonly Block[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : content
