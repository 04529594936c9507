import { join } from 'node:path'
import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages'
import { emptyCheckpoint } from '@langchain/langgraph-checkpoint'
import type { UIMessage } from 'ai'
import { expect, test } from 'vitest'
import { chatStore } from '../../src/frameworks/ai-sdk.ts'
import { sessionConversation, sessionStore } from '../../src/frameworks/claude-agent-sdk.ts'
import { checkpointSaver, conversationIdOf } from '../../src/frameworks/langgraph.ts'
import { agentsSession } from '../../src/frameworks/openai-agents.ts'
import { openStore, type Store } from '../../src/index.ts'
import { printed } from '../cli/palimpsest.ts'
import { temporaryFolder } from '../support/stores.ts'

const [question, thought, path] = ['Why does the parser fail?', 'Look at its end.', 'src/parser.ts']
const [found, reply] = ['a bracket that is never closed', 'A bracket is missing.']
const data =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const url = `data:image/png;base64,${data}`

/** The same talk in each framework: a question with a picture, a call with its result, and a reply. Returns the conversation. */
const seams: Readonly<Record<string, (store: Store) => Promise<string>>> = {
  chatStore: async (store) => {
    const messages: readonly UIMessage[] = [
      {
        id: 'q',
        role: 'user',
        metadata: { at: 1 },
        parts: [
          { type: 'text', text: question },
          { type: 'file', mediaType: 'image/png', filename: 'a.png', url },
        ],
      },
      {
        id: 'a',
        role: 'assistant',
        parts: [
          { type: 'step-start' },
          { type: 'reasoning', text: thought },
          {
            type: 'tool-read',
            toolCallId: 'call-1',
            state: 'output-available',
            input: { path },
            output: found,
          },
          { type: 'data-progress', data: { done: 1 } },
          { type: 'step-start' },
          { type: 'text', text: reply, state: 'done' },
        ],
      },
    ]
    await chatStore(store).save('chat', messages)
    return 'chat'
  },
  checkpointSaver: async (store) => {
    const messages = [
      new HumanMessage({
        content: [
          { type: 'text', text: question },
          { type: 'image_url', image_url: { url } },
        ],
      }),
      new AIMessage({ content: '', tool_calls: [{ name: 'read', args: { path }, id: 'call-1' }] }),
      new ToolMessage({ content: found, tool_call_id: 'call-1', name: 'read' }),
      new AIMessage({ content: reply, id: 'run-1', response_metadata: { finish_reason: 'stop' } }),
    ]
    const checkpoint = {
      ...emptyCheckpoint(),
      channel_values: { messages, plan: ['read'] },
      channel_versions: { messages: 1, plan: 1 },
    }
    const metadata = { source: 'loop', step: 0, parents: {} } as const
    await checkpointSaver(store).put(
      { configurable: { thread_id: '1', checkpoint_ns: '' } },
      checkpoint,
      metadata,
      checkpoint.channel_versions,
    )
    return conversationIdOf('1')
  },
  sessionStore: async (store) => {
    const sessions = sessionStore(store, { configFolder: temporaryFolder() })
    const key = { projectKey: 'p', sessionId: 's' }
    const said = [
      {
        role: 'user',
        content: [
          { type: 'text', text: question },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data } },
        ],
      },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'call-1', name: 'read', input: { path } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call-1', content: found }] },
      { role: 'assistant', content: [{ type: 'text', text: reply }] },
    ]
    const entries = said.map((message, index) => ({
      type: message.role,
      uuid: `u${index}`,
      parentUuid: index === 0 ? null : `u${index - 1}`,
      sessionId: 's',
      isSidechain: false,
      cwd: '/home/ann',
      version: '2.1.0',
      timestamp: `2026-03-12T09:14:1${index}.000Z`,
      message,
    }))
    await sessions.append(key, entries)
    await sessions.settled()
    return sessionConversation(key)
  },
  agentsSession: async (store) => {
    await agentsSession(store, 'agents').addItems([
      {
        role: 'user',
        content: [
          { type: 'input_text', text: question },
          { type: 'input_image', image: url },
        ],
      },
      { type: 'function_call', callId: 'call-1', name: 'read', arguments: JSON.stringify({ path }) },
      {
        type: 'function_call_result',
        callId: 'call-1',
        name: 'read',
        status: 'completed',
        output: { type: 'text', text: found },
      },
      {
        type: 'message',
        id: 'm',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: reply }],
      },
    ])
    return 'agents'
  },
}

test.for(Object.entries(seams))('a conversation of %s reads as any other', async ([, talk]) => {
  const folder = temporaryFolder()
  const store = await openStore(`sqlite:${join(folder, 'palimpsest.db')}`)
  const id = await talk(store)
  await store.close()
  const shown = async (command: string): Promise<string> => {
    const { stdout, code } = await printed(command, folder)
    expect(code).toBe(0)
    return stdout
  }
  expect(await shown('palimpsest list')).toContain(question)
  const lines = [
    `user       ${question}  [image]`,
    `assistant  → read(path=${path})`,
    `user       ← ${found}`,
    `assistant  ${reply}`,
  ]
  const positions = /^ *\d+ {2}/gm
  expect((await shown(`palimpsest show ${id}`)).replaceAll(positions, '').trim().split('\n')).toEqual(lines)
  const log = await shown(`palimpsest log ${id}`)
  for (const line of lines) expect(log).toContain(line)
  expect(await shown('palimpsest search never')).toContain(found)
  const markdown = await shown(`palimpsest export ${id} --format md`)
  expect(markdown).toContain('*[image]*')
  expect(markdown).not.toContain('"item"')
  const request = JSON.parse((await shown(`palimpsest request ${id} --json`)).trim()) as {
    readonly messages: readonly { readonly content: readonly { readonly type: string }[] }[]
  }
  expect(request.messages.map(({ content }) => content.map(({ type }) => type))).toEqual(
    expect.arrayContaining([['text', 'image'], ['tool_result'], ['text']]),
  )
  expect(await shown(`palimpsest continue ${id} --in codex --dry-run`)).toContain('codex')
})
