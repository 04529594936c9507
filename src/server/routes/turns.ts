import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { commandSchemas } from '../../commands/command.ts'
import { staleContext } from '../../commands/rejections.ts'
import { invalidInput } from '../../events/errors.ts'
import { askingShape, workspaceSchema } from '../../events/events.ts'
import { conversationIdSchema } from '../../events/ids.ts'
import type { Conversation, ConversationEvent, ServedEvent, WriteResult } from '../../index.ts'
import { toError } from '../../result/typed-error.ts'
import { lastSeen } from '../live.ts'
import { ofConversation } from '../parameters.ts'
import { commandIdOf, optionalFence } from '../preconditions.ts'
import { route } from '../route.ts'
import { turnMessage } from '../shapes/streams.ts'
import { servedShape } from '../shapes/turns.ts'
import { checkAccepts, eventStream } from '../sse.ts'
import { type TurnRequest, turnTold } from '../turn-stream.ts'
import { isFinal } from '../../agent/workers/board/seen-event.ts'
import { eventAt } from './event-at.ts'

// Requests for a turn of the workers, and the live events that workers report.

const { messages, after } = commandSchemas.append.shape

const messageIn = async (
  chat: Conversation,
  { events }: WriteResult,
): Promise<ConversationEvent<'MessageAppended'> | undefined> => {
  const position = events.findLast(({ type }) => type === 'MessageAppended')?.position
  const event = position === undefined ? undefined : await eventAt(chat, position)
  return event?.type === 'MessageAppended' ? event : undefined
}

/** Throws `InvalidInput` if workers would not answer the messages. */
const checkAsks = (said: z.output<typeof messages>): void => {
  const last = said.findLast(({ role }) => role !== 'system')
  if (last?.role === 'user' || (last?.role === 'assistant' && !isFinal(last))) return
  const problem = "workers would not answer: the last message, apart from system messages, must be the user's"
  throw toError(invalidInput('messages', problem))
}

/** Returns the position at which a command's request for an answer was recorded, or undefined if it was not recorded. */
const requestedAt = async (chat: Conversation, commandId: string): Promise<number | undefined> => {
  for await (const { data, metadata } of chat.turnFacts())
    if (metadata.commandId === commandId) return data.at
  return undefined
}

/**
 * Throws `StaleContext` if a request was based on a position that is no longer the last one, unless the request has already been
 * recorded.
 */
const checkFence = async (
  chat: Conversation,
  commandId: string,
  fence: number | undefined,
): Promise<void> => {
  if (fence === undefined) return
  const last = await chat.position()
  if (last === fence || (await requestedAt(chat, commandId)) !== undefined) return
  throw toError(staleContext(chat.id, fence, last))
}

export const turn = route({
  method: 'post',
  path: '/conversations/{id}/turns',
  name: 'turn',
  summary: 'Requests a turn from the workers, and streams its events',
  scope: 'write',
  params: ofConversation,
  body: z.strictObject({
    messages: messages
      .optional()
      .describe('Message to append first. Default: none; the history is answered as it is'),
    ...askingShape,
    workspace: workspaceSchema
      .optional()
      .describe('Commit at which the files are, recorded with the messages'),
    after: after.describe('Refuse the request unless this is still the last position'),
    commandId: z
      .string()
      .min(1)
      .max(1_000)
      .optional()
      .describe('Id that makes the request idempotent: a repetition only repeats the stream'),
  }),
  answers: {},
  media: ['text/event-stream'],
  message: turnMessage,
  headers: ['If-Match', 'Last-Event-ID'],
  errors: [
    'ConversationNotFound',
    'StaleContext',
    'CommandReused',
    'EventTooLarge',
    'NotAcceptable',
    'Overloaded',
  ],
  handle: async ({ params: { id }, body, headers, identity, store, book, ...around }) => {
    checkAccepts(headers)
    const { leaving, heartbeat, relay, roster, unservedAfter } = around
    const { messages: said, workspace, after: _, commandId: __, ...asking } = body
    if (said) checkAsks(said)
    else if (workspace)
      throw toError(invalidInput('workspace', 'is recorded with messages: send some, or omit it'))
    const commandId = commandIdOf(body.commandId, headers) ?? randomUUID()
    const seen = lastSeen(headers) ?? -1
    const chat = store.conversation(id)
    const own = { commandId, actor: identity.actor }
    const ask = async (): Promise<TurnRequest> => {
      const fence = optionalFence(body.after, headers)
      if (said) {
        const written = await chat.append(said, { ...own, answer: asking, after: fence, workspace })
        return { chat, commandId, position: written.position, message: await messageIn(chat, written) }
      }
      await checkFence(chat, commandId, fence)
      await chat.request({ ...own, ...asking })
      const position = (await requestedAt(chat, commandId)) ?? (await chat.position())
      return { chat, commandId, position, message: undefined }
    }
    const command = { ...body, name: 'turn' }
    const { answer: asked } = await book.once({ place: id, commandId, command, isKept: false }, ask)
    const signal = leaving()
    return eventStream(turnTold(asked, { relay, roster, seen, signal, unservedAfter }), signal, heartbeat)
  },
})

export const tell = route({
  method: 'post',
  path: '/relay',
  name: 'relay',
  summary:
    "Receives the progress of a worker's turns (`palimpsest work --relay`), which is passed on to listeners and never stored",
  scope: 'write',
  body: z.strictObject({
    worker: conversationIdSchema.describe('Id of the worker'),
    events: z.array(servedShape).max(10_000),
  }),
  answers: { 200: z.object({}) },
  handle: ({ body: { worker, events }, relay }) => {
    // Only the shapes of the events are checked; their content is trusted.
    relay.hear(worker, events as readonly ServedEvent[])
    return Promise.resolve({ body: {} })
  },
})
