import Anthropic from '@anthropic-ai/sdk'
import { describe, expect, test } from 'vitest'
import { openStore, type TurnOptions } from '../../../src/index.ts'
import type { EventStore, RecordedEvent } from '../../../src/store/port.ts'
import { messagesApi } from '../../../src/testing/messages-api/server.ts'
import { prefixesOf, readTo } from '../../../src/agent/workers/board/feed.ts'
import { atEnd } from '../../support/at-end.ts'
import { text } from '../../support/log.ts'
import { stores } from '../../support/stores.ts'
import { until } from '../../support/workers/scene.ts'

const ids = Array.from({ length: 24 }, (_, n) => `c${n}`)
const versions = ['v1', 'v2'] as const
type Version = (typeof versions)[number]

/** What a version calls the model with. */
const settings = (version: Version): Pick<TurnOptions, 'system' | 'tools' | 'run'> => ({
  system: `I am ${version}.`,
  tools: [{ name: `look-${version}`, input_schema: { type: 'object' } }],
  run: { [`look-${version}`]: { run: () => 'It is there.', effect: 'none' } },
})

/** Says in each reply by which version it was asked for; looks twice before it answers. */
const model = async () => {
  const mixed: string[] = []
  const api = await messagesApi({
    reply: ({ system, tools, messages }) => {
      const [version = ''] = /v\d/.exec(JSON.stringify(system)) ?? []
      const name = `look-${version}`
      if (JSON.stringify(tools?.map((tool) => tool['name'])) !== JSON.stringify([name]))
        mixed.push(`${JSON.stringify(system)} with ${JSON.stringify(tools)}`)
      const asked = messages.findLastIndex(
        ({ role, content }) => role === 'user' && !JSON.stringify(content).includes('tool_result'),
      )
      const looks = messages.length - 1 - asked
      if (looks >= 4) return { content: [text(`Answered by ${version}.`)] }
      const use = { type: 'tool_use', id: `t${messages.length}`, name, input: {} } as const
      return { content: [use], stop_reason: 'tool_use' }
    },
  })
  atEnd(api.close)
  return { client: new Anthropic({ baseURL: api.url, apiKey: 'key' }), mixed, requests: api.requests }
}

const eventsIn = async (store: EventStore): Promise<readonly RecordedEvent[]> => {
  const events: RecordedEvent[] = []
  await readTo(store, prefixesOf(['']), undefined, (event) => events.push(event))
  return events
}

/** What is wrong with the configurations of a conversation, whose events are in the order in which they were recorded. */
const wrongIn = (events: readonly RecordedEvent[]): readonly string[] => {
  const wrong: string[] = []
  let claimant = ''
  let configured = 0
  for (const { type, data, stream } of events) {
    if (type === 'TurnClaimed') {
      const { worker } = JSON.parse(data) as { readonly worker: string }
      if (worker !== claimant) configured = 0
      claimant = worker
    }
    if (type === 'Configured' && ++configured > 1) wrong.push(`${stream} is configured twice by ${claimant}`)
    if (type !== 'MessageAppended' || !data.includes('"assistant"')) continue
    const [version = ''] = /look-(v\d)|by (v\d)/.exec(data)?.slice(1).filter(Boolean) ?? []
    if (!claimant.startsWith(version)) wrong.push(`${stream} is answered by ${version} for ${claimant}`)
  }
  return wrong
}

describe.each(['memory', 'sqlite'] as const)(
  'while versions of an agent are replaced, in a %s store',
  (kind) => {
    test('each step is done with the prompt and the tools of who has claimed it, written once', async () => {
      const adapter = await stores[kind]?.()
      if (!adapter) throw new Error(`no store ${kind}`)
      const store = await openStore(adapter)
      atEnd(store.close)
      const { client, mixed, requests } = await model()
      const start = (version: Version) => {
        const ends = new AbortController()
        const turn = () => ({ client, model: 'claude-opus-5-5', ...settings(version) })
        const done = store.worker({ name: version, slots: 4, grace: 0, turn }).run({ signal: ends.signal })
        const stop = async (): Promise<void> => {
          ends.abort()
          await done
        }
        atEnd(stop)
        return stop
      }
      const ask = () =>
        Promise.all(
          ids.map((id) =>
            store.conversation(id).append({ role: 'user', content: 'Is it there?' }, { answer: true }),
          ),
        )
      const answers = async (): Promise<number> =>
        (await eventsIn(adapter)).filter(({ data }) => data.includes('Answered by')).length

      const stopFirst = start('v1')
      await ask()
      await until(async () => (await answers()) >= 8)
      // Both are at work, and turns are cut in the middle.
      start('v2')
      await until(async () => (await answers()) >= 16)
      await stopFirst()
      await until(async () => (await answers()) === ids.length)
      const stopAgain = start('v1')
      await ask()
      await until(async () => (await answers()) === 2 * ids.length)
      await stopAgain()

      expect(mixed).toEqual([])
      expect(requests.map(({ status }) => status)).toEqual(requests.map(() => 200))
      const events = await eventsIn(adapter)
      for (const id of ids) {
        const own = events.filter(({ stream }) => stream === `conversation-${id}` || stream === `turns-${id}`)
        expect(wrongIn(own)).toEqual([])
        expect(await store.conversation(id).verifyReceipts()).toMatchObject({ findings: [] })
      }
      const claimants = new Set(
        events.flatMap(({ type, data }) => (type === 'TurnClaimed' ? [data.includes('"v1-')] : [])),
      )
      expect(claimants.size).toBe(2)
    })
  },
)
