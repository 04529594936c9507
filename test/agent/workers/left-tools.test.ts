import Anthropic from '@anthropic-ai/sdk'
import { describe, expect, test } from 'vitest'
import { openStore } from '../../../src/index.ts'
import { messagesApi } from '../../../src/testing/messages-api/server.ts'
import { atEnd } from '../../support/at-end.ts'
import { text } from '../../support/log.ts'

/** What the model is told of a tool that was at work when its worker had to stop, and how often the tool ran. */
const toldOf = async (effect: 'none' | 'idempotent' | 'unsafe') => {
  const api = await messagesApi({
    reply: ({ messages }) =>
      messages.length > 1
        ? { content: [text('Done.')] }
        : { content: ['t1', 't2'].map((id) => ({ type: 'tool_use', id, name: id, input: {} })) },
  })
  const store = await openStore('memory:')
  atEnd(api.close, store.close)
  const chat = store.conversation('c')
  const running = Promise.withResolvers<void>()
  const ran: string[] = []
  const worker = (isFirst: boolean) => {
    const ends = new AbortController()
    const tools = ['t1', 't2'].map((name) => ({ name, input_schema: { type: 'object' } }))
    const run = {
      t1: { effect, run: () => void ran.push('t1') },
      t2: {
        effect,
        run: async () => {
          ran.push('t2')
          if (!isFirst) return
          running.resolve()
          await new Promise(() => {})
        },
      },
    }
    const client = new Anthropic({ baseURL: api.url, apiKey: 'key' })
    const turn = () => ({ client, model: 'claude-opus-5-5', tools, run })
    return { stop: () => ends.abort(), done: store.worker({ turn, grace: 0 }).run({ signal: ends.signal }) }
  }
  await chat.append({ role: 'user', content: 'Go.' }, { answer: true })
  const first = worker(true)
  await running.promise
  first.stop()
  await first.done
  const next = worker(false)
  const isDone = async () => JSON.stringify((await chat.effective()).at(-1)).includes('Done.')
  await expect.poll(isDone).toBe(true)
  next.stop()
  await next.done
  const told = JSON.stringify((await chat.render()).messages)
  return { ran, isTold: (words: string) => told.includes(words) }
}

describe('a tool that is at work when its worker stops', () => {
  test.each(['none', 'idempotent'] as const)('is run again by the next one if it is %s', async (effect) => {
    const { ran, isTold } = await toldOf(effect)
    expect(ran).toEqual(['t1', 't2', 't2'])
    expect(isTold('interrupted')).toBe(false)
  })

  test('has an outcome that is not known if it is unsafe: no user has interrupted it', async () => {
    const { ran, isTold } = await toldOf('unsafe')
    expect(ran).toEqual(['t1', 't2'])
    expect(isTold('is not known')).toBe(true)
    expect(isTold('by the user')).toBe(false)
  })
})
