import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, describe, it } from 'vitest'
import type { ConversationEvent } from '../../src/index.ts'
import { shell } from '../cli/palimpsest.ts'
import { opened } from '../support/stores.ts'
import { clientCommand } from './programs.ts'
import { configureCodex } from './support/codex-session.ts'
import { startPi } from './support/pi-session.ts'
import { model, scriptedApi } from './support/requests.ts'
import { type ClientHome, clientHome, runClient, sessionText } from './support/run-client.ts'
import { scriptedResponses } from './support/scripted-responses.ts'

// Codex and pi continue sessions of their own, which they have just written, from copies at every position: they send the messages that
// the session itself sent next.

type Sent = readonly Readonly<Record<string, unknown>>[]

const prompt = 'The next prompt.'

/** Returns messages without marks of what to cache, and without ids that Codex makes from the id of the session. */
const comparable = (messages: unknown): Sent =>
  JSON.parse(
    JSON.stringify(messages ?? [], (key, value: unknown) =>
      key === 'cache_control' || (key === 'id' && /^msg_[0-9a-f]{8}-[0-9a-f]{4}-5/.test(String(value)))
        ? undefined
        : value,
    ),
  ) as Sent

const isReply = ({ type, data }: ConversationEvent): boolean =>
  type === 'MessageAppended' && data.role === 'assistant'

/** Reports whether a message answers calls. */
const isResult = ({ type, data }: ConversationEvent): boolean =>
  type === 'MessageAppended' && data.content.some((block) => block.type === 'tool_result')

/** Reports whether a message of a request is neither a prompt nor about the effort for it. */
const isFromBefore = ({ role, type }: Sent[number]): boolean =>
  role === 'assistant' || (role === undefined && type !== undefined)

interface Continued {
  readonly name: 'codex' | 'pi'
  readonly home: ClientHome
  readonly session: string
  /** Messages of each request of the session, in order. */
  readonly sent: readonly Sent[]
  /** Reports whether an event records the answer to one of these requests. */
  readonly isAnswer: (event: ConversationEvent) => boolean
  /** Continues a copy with the prompt; returns the messages of the request that it sends first. */
  readonly next: (id: string, file: string) => Promise<Sent | undefined>
}

/** Continues a session at every position at which its next request is known; returns the number of positions. */
const continueEverywhere = async ({
  name,
  home,
  session,
  sent,
  isAnswer,
  next,
}: Continued): Promise<number> => {
  const url = `sqlite:${home.home}/palimpsest.db`
  const store = await opened(url)
  const { conversations } = await store.importSession({ file: 'session.jsonl', text: session })
  expect(conversations).toHaveLength(1)
  const chat = store.conversation(conversations[0]?.id ?? '')
  const events: ConversationEvent[] = []
  for await (const event of chat.events({})) events.push(event)
  const answers = events.filter(isAnswer)
  expect(answers).toHaveLength(sent.length)
  let continued = 0
  // Before its first prompt, Codex has not said everything about its surroundings yet.
  const first = events.findIndex((event) => JSON.stringify(event.data).includes('Hello.'))
  for (const [at, event] of events.entries()) {
    // Codex records the summary of a compaction as if it were a part of the reply before.
    if (at < first || (isReply(event) && JSON.stringify(event.data).includes('Summary'))) continue
    const answer = answers.findIndex(({ position }) => position > at)
    const after = events.slice(at + 1, answers[answer]?.position)
    // Where a prompt or a reply comes next, the request of the session is known; a compaction in between is not in the request.
    if (
      answer < 0 ||
      event.type === 'Configured' ||
      after.some((each) => each.type === 'Condensed' || isResult(each))
    )
      continue
    const { stdout, stderr } = await shell(
      `palimpsest export ${chat.id} --format ${name} --at ${at} --install --cwd ${home.project} --force --json --store ${url}`,
      home.project,
      { HOME: home.home },
    )
    expect(stderr).toBe('')
    const {
      way,
      session: id,
      file,
    } = JSON.parse(stdout) as Readonly<Record<'way' | 'session' | 'file', string>>
    const request = (await next(id, file)) ?? []
    const got = request.slice(
      0,
      request.findLastIndex((message) => JSON.stringify(message).includes(prompt)),
    )
    const want = sent[answer] ?? []
    expect.soft({ at, way, got }).toEqual({ at, way: 'verbatim', got: want.slice(0, got.length) })
    // What the session's request has besides is the prompt that was given at this position.
    const rest = want.slice(got.length)
    expect.soft({ at, rest: rest.filter(isFromBefore) }).toEqual({ at, rest: [] })
    expect.soft(rest.filter(({ role }) => role === 'user').length, `at ${at}`).toBeLessThanOrEqual(1)
    continued++
  }
  process.stderr.write(`${name}: ${continued} positions of its own session, with the same messages\n`)
  return continued
}

describe.skipIf(clientCommand('codex') === undefined)('Codex', () => {
  it('sends from a copy of its session what the session itself sent', async () => {
    const [api, home] = [await scriptedResponses(), clientHome()]
    const say = configureCodex(clientCommand('codex') ?? '', home, api.url)
    const id = await say('Hello.')
    await say(
      'CALL exec_command {"cmd":"echo from the shell"}\nCALL exec_command {"cmd":"echo again"}',
      'resume',
      id,
    )
    await say('CALL update_plan {"plan":[{"step":"look","status":"pending"}]}', 'resume', id)
    await say('USAGE 500000 is too much.', 'resume', id)
    await say('After the compaction.', 'resume', id)
    await say('CALL exec_command {"cmd":"echo once more"}', 'resume', id)
    const requests = [...api.requests]
    const count = await continueEverywhere({
      name: 'codex',
      home,
      session: sessionText(home, '.codex/sessions', `${id}.jsonl`),
      sent: requests.map(({ body }) => comparable(body?.input)),
      isAnswer: (event) => event.type === 'Condensed' || isReply(event),
      next: async (copy) => {
        const before = api.requests.length
        await say(prompt, 'resume', copy)
        return comparable(api.requests[before]?.body?.input)
      },
    })
    expect(api.requests.filter(({ status }) => status !== 200)).toEqual([])
    expect(count).toBeGreaterThan(8)
  })
})

describe.skipIf(clientCommand('pi') === undefined)('pi', () => {
  it('sends from a copy of its session what the session itself sent', async () => {
    const [api, home] = [await scriptedApi(), clientHome()]
    writeFileSync(join(home.project, 'notes.txt'), 'The first line.\n')
    const command = clientCommand('pi') ?? ''
    const pi = startPi(command, home, api.url, model)
    await pi.say('Hello.')
    await pi.say('CALL bash {"command":"cat notes.txt"}\nCALL read {"path":"notes.txt"}')
    await pi.say('OVERLOADED once.')
    await pi.ask({ type: 'compact' })
    await pi.say('After the compaction.')
    await pi.say('CALL bash {"command":"cat notes.txt"}')
    await pi.say('USAGE 990000 is nearly all.')
    await pi.say('Compacted by itself.')
    const isSummary = (body: unknown): boolean => JSON.stringify(body).includes('context summarization')
    const requests = api.requests.filter(({ body }) => !isSummary(body))
    const env = { ANTHROPIC_API_KEY: 'sk-ant-dummy', PI_OFFLINE: '1', PI_TELEMETRY: '0' }
    const count = await continueEverywhere({
      name: 'pi',
      home,
      session: sessionText(home, '.pi/agent/sessions', '.jsonl'),
      sent: requests.map(({ body }) => comparable(body?.messages)),
      isAnswer: isReply,
      next: async (_, file) => {
        const before = api.requests.length
        const args = ['-p', '--provider', 'anthropic', '--model', model, '--session', file, prompt]
        const { code, out, err } = await runClient(command, args, home, env)
        expect(code, `${out} ${err}`).toBe(0)
        return comparable(api.requests[before]?.body?.messages)
      },
    })
    expect(count).toBeGreaterThan(8)
  })
})
