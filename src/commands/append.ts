import type { Block } from '../events/blocks.ts'
import type { Event } from '../events/events.ts'
import type { Command, NewMessage } from './command.ts'

/** One event a message, in order. Nothing is judged: what happened is recorded, and render makes a request of it. */
export const append = ({ messages }: Pick<Command<'append'>, 'messages'>): readonly Event[] =>
  messages.map((message) => ({ type: 'MessageAppended', data: dataOf(message) }))

/** The messages right behind position `behind`, where the conversation goes on. */
export const appendBehind = (messages: Command<'append'>['messages'], behind: number): readonly Event[] => [
  { type: 'Rewound', data: { to: behind, reason: 'messages that belong before what came' } },
  ...append({ messages }),
]

/** The messages on a branch that goes off behind position `beside`, and the way back to position `last`. */
export const appendBeside = (
  messages: Command<'append'>['messages'],
  beside: number,
  last: number,
): readonly Event[] => [
  { type: 'Rewound', data: { to: beside, reason: 'messages that came too late' } },
  ...append({ messages }),
  { type: 'Rewound', data: { to: last, reason: 'back from them' } },
]

const dataOf = (message: NewMessage): Event<'MessageAppended'>['data'] => ({
  ...message,
  content: blocksOf(message.content),
})

/** A string stands for one text block. */
export const blocksOf = (content: NewMessage['content']): readonly Block[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : content
