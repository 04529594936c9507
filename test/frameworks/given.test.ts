import { historyTools, openStore, type Store } from '../../src/index.ts'
import { recordingFetch } from '../../src/recorder/recording-fetch.ts'
import { aiSdkMiddleware, chatStore } from '../../src/frameworks/ai-sdk.ts'
import { sessionStore } from '../../src/frameworks/claude-agent-sdk.ts'
import { checkpointSaver } from '../../src/frameworks/langgraph.ts'
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
