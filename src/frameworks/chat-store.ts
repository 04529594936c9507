// Chats of the AI SDK's `useChat` as conversations of a store. docs/frameworks.md.

import { isDeepStrictEqual } from 'node:util'
import type { UIMessage } from 'ai'
import { isError } from '../api/errors.ts'
import type { Store } from '../api/promises.ts'
import { invalidInput } from '../events/errors.ts'
import { toError } from '../result/typed-error.ts'
import { checkedOptions, checkMethods, checkStore } from '../store/given.ts'
import { kinds, type OptionKinds } from '../store/options.ts'
import { openStream, readStream, writeStream } from './kept-streams.ts'
import { readHistory, replaceMessages } from './message-history.ts'
import { jsonOf, untilCurrent } from './shared-chats.ts'
import { checkUiMessages, keptMessages, shownMessages, stepsOf } from './ui-messages.ts'

/** The chats of a store. The id of a chat is the id of its conversation. */
export interface ChatStore {
  /** Returns the messages of a chat as they were saved; none if there is no such chat. */
  readonly load: <UI extends UIMessage = UIMessage>(id: string) => Promise<UI[]>
  /**
   * Records the messages of a chat: those that are new, and, after a rewind, those from the first one on that was changed or removed.
   * Rejects with `InvalidInput` for messages that are not JSON, and then writes nothing.
   *
   * @param messages all messages of the chat
   */
  readonly save: (id: string, messages: readonly UIMessage[]) => Promise<void>
  /**
   * Keeps the stream of a reply, for `consumeSseStream`, until the stream ends. The chat must have been saved before. Never rejects:
   * failures are passed to `onProblem`.
   */
  readonly keepStream: (id: string, stream: ReadableStream<string>) => Promise<void>
  /**
   * Returns the response to a client that reconnects: the stream of the reply from its beginning, or status 204 if no reply is being
   * written. If the process that writes the reply has ended, the stream ends with an error event.
   */
  readonly resume: (id: string) => Promise<Response>
}

export interface ChatStoreOptions {
  /** Called if a stream cannot be kept, so that nobody can resume it. Default: a warning of the process. */
  readonly onProblem?: ((error: Error, id: string) => void) | undefined
  /**
   * Time in milliseconds, 300 or more, after which a reply counts as interrupted if its process gives no sign of life. Clocks of
   * machines that share a store must differ by less. Default: 30,000.
   */
  readonly silence?: number | undefined
}

/**
 * Opens a store for the chats of the AI SDK's `useChat`: their messages, and the streams of replies, which any process with the same
 * store can resume. Each chat is a conversation that can be read, searched and rewound.
 *
 * @example
 * import { openStore } from 'palimpsest'
 * import { chatStore } from 'palimpsest/ai-sdk'
 *
 * const store = await openStore('sqlite:conversations.db')
 * const chats = chatStore(store)
 * await chats.save('chat-1', [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Why does the parser fail?' }] }])
 * console.log(await chats.load('chat-1'))
 * await store.close()
 */
export const chatStore = (store: Store, options?: ChatStoreOptions): ChatStore => {
  checkStore(store)
  const { onProblem = warn, silence = 30_000 } = checkedOptions(options, optionKinds)
  if (!(silence >= 300))
    throw toError(invalidInput('silence', 'must be a number of milliseconds, 300 or more'))
  const load = async <UI extends UIMessage>(id: string): Promise<UI[]> => {
    const { messages } = await readHistory(store.conversation(id))
    return structuredClone(shownMessages(messages).map(({ ui }) => ui as UI))
  }
  return {
    load,
    save: async (id, given) => {
      const messages = checkUiMessages(jsonOf(given, 'messages'))
      await untilCurrent('StaleContext', () => saveOnce(store, id, messages))
    },
    keepStream: async (id, stream) => {
      try {
        checkMethods('stream', stream, ['getReader'], 'a ReadableStream: call keepStream(id, stream)')
        await writeStream(store.conversation(id), stream, silence)
      } catch (error) {
        onProblem(error instanceof Error ? error : new Error(String(error)), id)
      }
    },
    resume: async (id) => {
      const chat = store.conversation(id)
      try {
        const begun = await openStream(chat, id)
        if (!begun) return none()
        // The reply may be saved already although its stream is open: then the client has it.
        const last = shownMessages((await readHistory(chat)).messages).at(-1)
        if (last?.ui.role === 'assistant' && last.position > begun.at) return none()
        return new Response(readStream(chat, begun, silence), { headers })
      } catch (error) {
        if (isError(error, 'ConversationNotFound')) return none()
        throw error
      }
    },
  }
}

const optionKinds: OptionKinds<ChatStoreOptions> = { onProblem: kinds.call, silence: kinds.number }

/** Headers of a stream of messages, as the AI SDK sends them. */
const headers = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache',
  connection: 'keep-alive',
  'x-vercel-ai-ui-message-stream': 'v1',
  'x-accel-buffering': 'no',
}

const none = (): Response => new Response(null, { status: 204 })

/** Writes the difference between a chat and its messages; rejects with `StaleContext` if another process writes at the same time. */
const saveOnce = async (store: Store, id: string, messages: readonly UIMessage[]): Promise<void> => {
  const chat = store.conversation(id)
  const history = await readHistory(chat)
  const shown = shownMessages(history.messages)
  let same = 0
  while (same < messages.length && isDeepStrictEqual(shown[same]?.ui, messages[same])) same += 1
  const added = messages.slice(same).flatMap(stepsOf)
  // Of a reply that has grown, the steps that are as before stay.
  const start = shown[same]?.from ?? history.messages.length
  let steps = 0
  while (steps < added.length && isDeepStrictEqual(history.messages[start + steps]?.message, added[steps]))
    steps += 1
  const again = () => [
    ...keptMessages(history.messages.slice(0, start), shown.slice(0, same)),
    ...added.slice(0, steps),
  ]
  await replaceMessages(chat, history, start + steps, added.slice(steps), undefined, again)
}

const warn = (error: Error, id: string): void =>
  process.emitWarning(`the reply of chat ${id} cannot be resumed: ${error.message}`, {
    code: 'PALIMPSEST_NOT_KEPT',
  })
