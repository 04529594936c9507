// node examples/ai-sdk/chat.ts: a chat of `useChat` that is reloaded in the middle of a reply, and continued by another server. It needs
// no network.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  convertToModelMessages,
  createUIMessageStreamResponse,
  DefaultChatTransport,
  readUIMessageStream,
  streamText,
  toUIMessageStream,
  type UIMessage,
  type UIMessageChunk,
} from 'ai'
import { type ChatStore, chatStore } from '../../src/frameworks/ai-sdk.ts'
import { openStore, type Store } from '../../src/index.ts'
import { slowModel } from './model.ts'

/** Answers `useChat`: POST /api/chat sends a message, GET /api/chat/ID/stream resumes its reply. */
const answer = async (chats: ChatStore, request: Request): Promise<Response> => {
  if (request.method === 'GET') return chats.resume(request.url.split('/').at(-2) ?? '')
  const { id, messages } = (await request.json()) as { id: string; messages: UIMessage[] }
  await chats.save(id, messages)
  const { stream } = streamText({ model: slowModel, messages: await convertToModelMessages(messages) })
  return createUIMessageStreamResponse({
    stream: toUIMessageStream({
      stream,
      originalMessages: messages,
      generateMessageId: () => crypto.randomUUID(),
      onEnd: ({ messages: all }) => chats.save(id, all),
    }),
    consumeSseStream: (kept) => chats.keepStream(id, kept.stream),
  })
}

/** Connects a page to a server, without HTTP. */
const connected = (chats: ChatStore): DefaultChatTransport<UIMessage> =>
  new DefaultChatTransport({
    api: 'http://localhost/api/chat',
    fetch: (url, init) => answer(chats, new Request(url, init)),
  })

/** Returns the text of a reply as the page shows it at the end, or once it is so many characters long. */
const shown = async (stream: ReadableStream<UIMessageChunk>, most = Infinity): Promise<string> => {
  let text = ''
  for await (const message of readUIMessageStream({ stream })) {
    text = textOf(message)
    if (text.length >= most) break
  }
  return text
}

const textOf = ({ parts }: UIMessage): string =>
  parts.map((part) => (part.type === 'text' ? part.text : '')).join('')

const demo = async (first: Store, second: Store): Promise<void> => {
  const [here, there] = [chatStore(first), chatStore(second)]
  const chatId = 'chat-1'
  const question: UIMessage = {
    id: 'question-1',
    role: 'user',
    parts: [{ type: 'text', text: 'Why does the parser fail?' }],
  }
  const asked = await connected(here).sendMessages({
    chatId,
    messages: [question],
    trigger: 'submit-message',
    messageId: undefined,
    abortSignal: undefined,
  })
  say(`shown before the reload: ${await shown(asked, 10)}…`)

  const resumed = await connected(there).reconnectToStream({ chatId })
  if (resumed) say(`shown after the reload:  ${await shown(resumed)}`)

  for (const message of await there.load(chatId)) say(`saved: ${message.role}: ${textOf(message)}`)
  const { items } = await second.conversation(chatId).search('bracket')
  say(`found: “bracket” at position ${items.map(({ position }) => position).join()}`)
}

const say = (line: string): void => void process.stdout.write(`${line}\n`)

const folder = await mkdtemp(join(tmpdir(), 'palimpsest-chat-'))
const url = `sqlite:${join(folder, 'conversations.db')}`
const stores = [await openStore(url), await openStore(url)] as const
try {
  await demo(...stores)
} finally {
  for (const store of stores) await store.close()
  await rm(folder, { recursive: true, force: true, maxRetries: 10 })
}
