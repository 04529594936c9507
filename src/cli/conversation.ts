import type { Event } from '../events/events.ts'
import type { Conversation, ConversationEvent, WriteResult, WrittenEvent } from '../index.ts'
import { visibleLines } from '../transfer/formats/visible.ts'
import type { Host } from './host.ts'
import type { Output } from './output.ts'
import {
  type CommandSession,
  conversationToWrite,
  missingIfAsked,
  type Shell,
  type StoreAccess,
} from './shell.ts'
import { eventParts } from './views/timeline.ts'

/** Returns the given position, or the last one by default. Commands print the position together with their result. */
export const positionAt = async (chat: Conversation, at: number | undefined): Promise<number> =>
  at ?? (await chat.position())

/** Reads events of the conversation into memory: all, or those from a position to another one. */
export const eventsIn = async (
  chat: Conversation,
  range: { readonly from?: number; readonly to?: number } = {},
): Promise<readonly ConversationEvent[]> => {
  const events: ConversationEvent[] = []
  for await (const event of chat.events(range)) events.push(event)
  return events
}

/**
 * Makes an action that writes to a conversation, then prints the new events in the format of the timeline.
 *
 * @param access for a command that may create the conversation, and therefore needs its whole id unless it is a UUID
 * @param isNew reports whether the options say that the conversation may be new, although its id resembles another one
 */
export const change = <O extends { readonly answer?: unknown }>(
  shell: Shell,
  write: (chat: Conversation, options: O, host: Host) => Promise<WriteResult>,
  access?: (id: string, options: O) => StoreAccess,
  isNew?: (options: O) => boolean,
): ((id: string, options: O) => Promise<void>) => {
  const work = async (session: CommandSession, id: string, options: O): Promise<void> => {
    const { store, out, isJson, host } = session
    const chat = store.conversation(access ? await conversationToWrite(store, id, isNew?.(options)) : id)
    const missing = await missingIfAsked(session, options)
    const written = await write(chat, options, host)
    if (missing !== undefined) host.stderr.write(`${missing}\n`)
    if (isJson) return out.json(asPlaced(written))
    await writeWritten(out, chat, written)
    if (written.events[0]?.position !== 0) await writeTitle(session, chat.id)
  }
  return access ? shell.action(access, work) : shell.edit(work)
}

/** Names the conversation that a command has changed, on terminals only: with a shortened id, it may be another one than was meant. */
export const writeTitle = async ({ store, out, host }: CommandSession, id: string): Promise<void> => {
  if (!out.isTerminal) return
  for await (const { title, problem } of store.conversations({ ids: [id] })) {
    if (problem !== undefined)
      host.stderr.write(visibleLines(`WARNING: ${id} was written to, but cannot be read: ${problem}\n`))
    await out.parts([
      [`in ${id}`, 'dim', 'whole'],
      [`  ${title}`, 'dim'],
    ])
  }
}

/** Number of columns after which the confirmation of a write is cut, even in a pipe: the user has the text. */
const mostEchoed = 200

const writeWritten = async (out: Output, chat: Conversation, written: WriteResult): Promise<void> => {
  const [first] = written.events
  if (!first) return out.line(['nothing to write', 'dim'])
  if (first.position === 0) await out.aside([`began conversation ${chat.id}`, 'dim'])
  const known = written.events.filter(isKnown)
  const isAll = known.length === written.events.length
  const events = isAll ? known : chat.events({ from: first.position, to: written.position })
  for await (const event of events) await out.parts(eventParts(event), mostEchoed)
}

/** Reports whether the write result contains the event's data, so that the event can be shown without reading it. */
const isKnown = (event: WrittenEvent): event is WrittenEvent & Event => event.data !== undefined

/** Removes the content of events from a write result. */
export const asPlaced = ({ events, ...written }: WriteResult): WriteResult => ({
  ...written,
  events: events.map(({ position, id, type }) => ({ position, id, type })),
})
