import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { program } from '../cli/palimpsest.ts'
import { agentSdk, clientCommand } from './programs.ts'
import { configureCodex } from './support/codex-session.ts'
import { startOpencode } from './support/opencode-session.ts'
import { startPi } from './support/pi-session.ts'
import { expectRecorded, recordedStore, startRecording } from './support/recording.ts'
import { model, scriptedApi, textOf } from './support/requests.ts'
import { cleanEnvironment, clientHome, runClient } from './support/run-client.ts'
import { scriptedResponses } from './support/scripted-responses.ts'

// `palimpsest record` between the real clients and the stand-ins: every request is made again from the store, to the byte.

const sdk = agentSdk()
const claude = clientCommand('claude-code')
const codex = clientCommand('codex')
const opencode = clientCommand('opencode')
const pi = clientCommand('pi')

interface AgentSdk {
  readonly query: (given: {
    readonly prompt: string
    readonly options: object
  }) => AsyncIterable<{ readonly type: string; readonly session_id: string; readonly is_error?: boolean }>
}

describe('palimpsest record', () => {
  it.skipIf(claude === undefined)(
    'starts Claude Code, anew for each prompt, and records tools, a subagent, a rewind, compactions, forks and a 529',
    async () => {
      const [api, home] = [await scriptedApi(), clientHome()]
      const file = join(home.project, 'notes.txt')
      writeFileSync(file, 'The first line.\n')
      const env = {
        ANTHROPIC_BASE_URL: api.url,
        ANTHROPIC_API_KEY: 'sk-ant-dummy',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      }
      const record = [await program(), 'record', '--store', recordedStore(home), '--', claude ?? '']
      const tools = ['--allowedTools', 'Bash', 'Read', 'Edit', 'Write', 'Agent']
      const say = async (prompt: string, ...options: readonly string[]): Promise<void> => {
        const args = ['-p', prompt, '--model', model, '--output-format', 'json', ...options, ...tools]
        const { code, out, err } = await runClient(process.execPath, [...record, ...args], home, env)
        expect({ code, err }, `${prompt}: ${out}`).toMatchObject({
          code: 0,
          err: expect.stringMatching(/^recorded \d+ calls? in /m),
        })
        expect(err).not.toContain('not recorded')
      }
      const id = randomUUID()
      const resume = ['--resume', id]
      await say('Hello.', '--session-id', id)
      await say(
        `CALL Bash {"command":"cat notes.txt","description":"read"}\nCALL Read {"file_path":"${file}"}`,
        ...resume,
      )
      await say(`CALL Edit {"file_path":"${file}","old_string":"first","new_string":"only"}`, ...resume)
      const task = JSON.stringify({
        description: 'look',
        prompt: 'CALL Bash {"command":"echo from the subagent","description":"say"}',
        subagent_type: 'general-purpose',
        run_in_background: false,
      })
      await say(`CALL Agent ${task}`, ...resume)
      await say('/compact', ...resume)
      await say('After the compaction.', ...resume)
      expect(textOf(api.requests.at(-1))).toMatch(/Summary \d+ of what was said/)
      await say('In a fork.', ...resume, '--fork-session')
      await say('OVERLOADED once.', ...resume)
      const changes = await expectRecorded(home, api.requests)
      expect(changes[`recorded-${id}`]).toEqual(expect.arrayContaining(['Condensed']))
      expect(Object.keys(changes)).toEqual(expect.arrayContaining([`recorded-${id}:summary-1`]))
    },
  )

  it.skipIf(sdk === undefined)(
    'records the Claude Agent SDK, with tools, a subagent, a compaction, a fork and a 529',
    async () => {
      const [api, home] = [await scriptedApi(), clientHome()]
      const { query } = (await import(pathToFileURL(sdk ?? '').href)) as AgentSdk
      const recording = await startRecording(home, api.url)
      const env = {
        ...cleanEnvironment(home.home),
        ANTHROPIC_BASE_URL: recording.url,
        ANTHROPIC_API_KEY: 'sk-ant-dummy',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      }
      const say = async (prompt: string, more: object = {}): Promise<string> => {
        const options = { cwd: home.project, env, model, allowedTools: ['Bash', 'Read', 'Agent'], ...more }
        let [id, isFailed]: [string, unknown] = ['', true]
        for await (const { type, session_id: session, is_error: failed } of query({ prompt, options }))
          if (type === 'result') [id, isFailed] = [session, failed]
        expect({ prompt, isFailed }).toEqual({ prompt, isFailed: false })
        return id
      }
      writeFileSync(join(home.project, 'notes.txt'), 'The first line.\n')
      const resume = await say('Hello.')
      await say('CALL Bash {"command":"cat notes.txt","description":"read"}', { resume })
      const task = JSON.stringify({
        description: 'look',
        prompt: 'CALL Bash {"command":"echo from the subagent","description":"say"}',
        subagent_type: 'general-purpose',
        run_in_background: false,
      })
      await say(`CALL Agent ${task}`, { resume })
      await say('/compact', { resume })
      await say('After the compaction.', { resume })
      await say('In a fork.', { resume, forkSession: true })
      await say('OVERLOADED once.', { resume })
      expect(await recording.stop()).not.toContain('not recorded')
      const changes = await expectRecorded(home, api.requests)
      expect(changes[`recorded-${resume}`]).toEqual(expect.arrayContaining(['Condensed']))
    },
  )

  it.skipIf(pi === undefined)('records pi, which names no session, with compactions and a fork', async () => {
    const [api, home] = [await scriptedApi(), clientHome()]
    writeFileSync(join(home.project, 'notes.txt'), 'The first line.\n')
    const recording = await startRecording(home, api.url)
    const session = startPi(pi ?? '', home, recording.url, model)
    await session.say('Hello.')
    await session.say('CALL bash {"command":"cat notes.txt"}\nCALL read {"path":"notes.txt"}')
    await session.say('OVERLOADED once.')
    await session.ask({ type: 'compact' })
    await session.say('After the compaction.')
    await session.say('USAGE 990000 is nearly all.')
    await session.say('Compacted by itself.')
    const { messages } = await session.ask({ type: 'get_fork_messages' })
    const [first] = messages as readonly { readonly entryId: string }[]
    await session.ask({ type: 'fork', entryId: first?.entryId })
    await session.say('In a fork.')
    expect(await recording.stop()).not.toContain('not recorded')
    const changes = await expectRecorded(home, api.requests)
    expect(Object.values(changes).flat()).toEqual(expect.arrayContaining(['Condensed']))
  })

  it.skipIf(codex === undefined)('records Codex over the Responses API', async () => {
    const [api, home] = [await scriptedResponses(), clientHome()]
    const recording = await startRecording(home, api.url)
    const say = configureCodex(codex ?? '', home, recording.url)
    const id = await say('Hello.')
    await say('CALL exec_command {"cmd":"echo from the shell"}', 'resume', id)
    await say('USAGE 500000 is too much.', 'resume', id)
    await say('After the compaction.', 'resume', id)
    await say('In a fork.', 'fork', id)
    expect(await recording.stop()).not.toContain('not recorded')
    const changes = await expectRecorded(home, api.requests)
    expect(Object.keys(changes).length).toBeGreaterThan(1)
  })

  it.skipIf(opencode === undefined)('records opencode', async () => {
    const [api, home] = [await scriptedApi(), clientHome()]
    writeFileSync(join(home.project, 'notes.txt'), 'The first line.\n')
    const recording = await startRecording(home, api.url)
    const session = await startOpencode(opencode ?? '', home, recording.url, model)
    const id = await session.begin()
    await session.say(id, 'Hello.')
    await session.say(id, 'CALL bash {"command":"cat notes.txt","description":"read"}')
    const forgotten = await session.say(id, 'To be forgotten.')
    await session.revert(id, forgotten)
    await session.say(id, 'Elsewhere.')
    await session.compact(id)
    await session.say(id, 'After the compaction.')
    expect(await recording.stop()).not.toContain('not recorded')
    const changes = await expectRecorded(home, api.requests)
    expect(Object.values(changes).flat()).toEqual(expect.arrayContaining(['Condensed', 'Rewound']))
  })
})
