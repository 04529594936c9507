import Anthropic from '@anthropic-ai/sdk'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Conversation,
  openStore,
  type OpenStepInfo,
  type ServedConversation,
  type AttemptReport,
  type StepsOptions,
  type Store,
  type TurnOptions,
  type WorkerOptions,
} from '../../../src/index.ts'
import type { ApiFailure, ApiReply } from '../../../src/testing/messages-api/replies.ts'
import type { ApiRequest } from '../../../src/testing/messages-api/request.ts'
import { messagesApi } from '../../../src/testing/messages-api/server.ts'
import { atEnd } from '../at-end.ts'
import { text } from '../log.ts'

type Answer = (body: ApiRequest) => ApiReply | ApiFailure | Promise<ApiReply | ApiFailure>

/** A store in memory, and workers on it whose model answers as it is told. */
export interface Scene {
  readonly store: Store
  readonly client: Anthropic
  readonly taken: AttemptReport[]
  readonly calls: () => number
  /** Starts a worker; what it returns stops it. */
  readonly worker: (
    options?: Partial<WorkerOptions<Conversation>>,
    turn?: Partial<TurnOptions> | ((served: ServedConversation<Conversation>) => Partial<TurnOptions>),
  ) => () => Promise<void>
}

export const scene = async (answer: Answer = () => ({ content: [text('Yes.')] })): Promise<Scene> => {
  let calls = 0
  const api = await messagesApi({
    reply: (body) => {
      calls++
      return answer(body)
    },
  })
  const store = await openStore('memory:')
  atEnd(api.close, store.close)
  const client = new Anthropic({ baseURL: api.url, apiKey: 'key' })
  const taken: AttemptReport[] = []
  return {
    store,
    client,
    taken,
    calls: () => calls,
    worker: (options = {}, turn = {}) => {
      const ends = new AbortController()
      const done = store
        .worker({
          turn: (served) => ({
            client,
            model: 'claude-opus-5-5',
            maxRetries: 0,
            ...(typeof turn === 'function' ? turn(served) : turn),
          }),
          onStep: (step) => taken.push(step),
          grace: 1_000,
          ...options,
        })
        .run({ signal: ends.signal })
      const stop = async (): Promise<void> => {
        ends.abort()
        await done
      }
      atEnd(stop)
      return stop
    },
  }
}

export const ask = { role: 'user' as const, content: 'Is it there?' }

export const until = async (isSo: () => Promise<boolean> | boolean): Promise<void> => {
  while (!(await isSo())) await sleep(5)
}
export const roles = async (chat: Conversation): Promise<readonly string[]> =>
  (await chat.effective()).map((item) => (item.kind === 'message' ? item.role : item.kind))
export const steps = async (store: Store, options?: StepsOptions): Promise<readonly OpenStepInfo[]> => {
  const all = []
  for await (const step of store.steps(options)) all.push(step)
  return all
}
