import { historyTools, openStore, type Store } from '../../src/index.ts'
import { recordingFetch } from '../../src/recorder/recording-fetch.ts'
import { aiSdkMiddleware, chatStore } from '../../src/frameworks/ai-sdk.ts'
import { sessionConversation, sessionStore, withSessionStore } from '../../src/frameworks/claude-agent-sdk.ts'
import { checkpointSaver, conversationIdOf } from '../../src/frameworks/langgraph.ts'
import { agentsSession } from '../../src/frameworks/openai-agents.ts'
import { describe, expect, test } from 'vitest'
import { opened } from '../support/stores.ts'

// Programs in JavaScript give a seam whatever they have.

type Seam = (store: Store, options?: object) => unknown
const onStore: Readonly<Record<string, Seam>> = {
  aiSdkMiddleware,
  chatStore,
  sessionStore,
  recordingFetch,
  checkpointSaver,
  agentsSession: (store) => agentsSession(store, 'a'),
}
const optional: Readonly<Record<string, Seam>> = {
  aiSdkMiddleware,
  chatStore,
  sessionStore,
  recordingFetch,
  historyTools: (store, options) => historyTools(store.conversation('a'), options),
}

describe.each(Object.entries(onStore))('%s', (_, seam) => {
  test('says that openStore must be awaited', async () => {
    const store = openStore('memory:')
    expect(() => seam(store as never)).toThrow(/store.*is a promise: await it first/)
    await (await store).close()
  })

  test.each([{}, undefined, 'sqlite:conversations.db'])('refuses %j as a store', (given) => {
    expect(() => seam(given as never)).toThrow(
      expect.objectContaining({ _tag: 'InvalidInput', message: expect.stringContaining('openStore') }),
    )
  })
})

describe.each(Object.entries(optional))('%s', (_, seam) => {
  test.each([
    [{ onGapp: () => undefined }, 'onGapp'],
    [{ restore: 'yes', silence: '1', onGap: 1, configFolder: 1 }, ''],
    ['all', 'options'],
  ])('refuses the options %j', async (options, path) => {
    const store = await opened('memory:')
    expect(() => seam(store, options as never)).toThrow(
      expect.objectContaining({ _tag: 'InvalidInput', path: expect.stringContaining(path) }),
    )
  })
})

test('historyTools refuses a store: it needs a conversation', async () => {
  const store = await opened('memory:')
  expect(() => historyTools(store as never)).toThrow(/chat.*store\.conversation\(id\)/)
})

const wrongCalls: Readonly<Record<string, readonly [path: string, call: (store: Store) => unknown]>> = {
  'no id': ['id', (store) => agentsSession(store, undefined as never).addItems([{}] as never)],
  'an item without a list': ['items', (store) => agentsSession(store, 'a').addItems({} as never)],
  'no items': ['items', (store) => agentsSession(store, 'a').addItems(undefined as never)],
  'texts as items': ['items', (store) => agentsSession(store, 'a').addItems(['Hello.'] as never)],
  'no compaction': [
    'items',
    (store) => agentsSession(store, 'a').replaceHistoryWithCompaction(undefined as never),
  ],
  'a thread without a list': ['threadIds', (store) => checkpointSaver(store).prune('t' as never)],
  'an unknown strategy': [
    'strategy',
    (store) => checkpointSaver(store).prune(['t'], { strategy: 'all' as never }),
  ],
  'an unknown option': [
    'strategie',
    (store) => checkpointSaver(store).prune(['t'], { strategie: 'delete' } as never),
  ],
  'no thread': ['threadId', () => conversationIdOf(undefined as never)],
  'an id as a key': ['key', (store) => sessionStore(store).load('s' as never)],
  'no key': ['key', () => sessionConversation(undefined as never)],
  'an entry without a list': [
    'entries',
    (store) => sessionStore(store).append({ projectKey: 'p', sessionId: 's' }, { type: 'x' } as never),
  ],
  'options in place of a session store': [
    'sessions',
    (store) => withSessionStore(sessionStore(store), {} as never),
  ],
}

test.each(Object.entries(wrongCalls))('%s: says which argument is wrong', async (_, [path, call]) => {
  const store = await opened('memory:')
  await expect((async () => call(store))()).rejects.toMatchObject({ _tag: 'InvalidInput', path })
})

test('a stream without an id is reported as such', async () => {
  const store = await opened('memory:')
  const problems: string[] = []
  const chats = chatStore(store, { onProblem: ({ message }) => problems.push(message) })
  await chats.keepStream(new ReadableStream() as never, undefined as never)
  expect(problems).toEqual([expect.stringContaining('keepStream(id, stream)')])
})
