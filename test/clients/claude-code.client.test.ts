import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { program } from '../cli/palimpsest.ts'
import { clientCommand } from './programs.ts'
import { capture } from './support/capture.ts'
import { expectRequestsImported } from './support/recorded-requests.ts'
import { model, effortsIn, refusedIn, scriptedApi, textOf } from './support/requests.ts'
import { type ClientHome, clientHome, runClient, sessionText } from './support/run-client.ts'

// The real Claude Code, headless. It runs as root, too, as long as the tools that it may use are named: only
// --dangerously-skip-permissions is refused there.

const command = clientCommand('claude-code')

interface Answer {
  readonly result: string
  readonly session_id: string
  readonly is_error: boolean
}

const claude = (api: { readonly url: string }, home: ClientHome) => {
  const env = {
    ANTHROPIC_BASE_URL: api.url,
    ANTHROPIC_API_KEY: 'sk-ant-dummy',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  }
  const tools = ['--allowedTools', 'Bash', 'Read', 'Edit', 'Write', 'Agent']
  return async (prompt: string, ...options: readonly string[]): Promise<Answer> => {
    const args = ['-p', prompt, '--model', model, '--output-format', 'json', ...options, ...tools]
    const { code, out, err } = await runClient(command ?? '', args, home, env)
    expect(code, `${prompt}: ${out} ${err}`).toBe(0)
    return JSON.parse(out) as Answer
  }
}

/** The text of a session's file. */
const fileOf = (home: ClientHome, session: string): string =>
  sessionText(home, '.claude/projects', `${session}.jsonl`)

/** The lines of a session's file. */
const linesOf = (home: ClientHome, session: string): readonly Record<string, unknown>[] =>
  fileOf(home, session)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

describe.skipIf(command === undefined)('Claude Code', () => {
  it('has no request refused in a session with tools, a subagent, compactions, a rewind, a fork and a 529', async () => {
    const [api, home] = [await scriptedApi(), clientHome()]
    const file = join(home.project, 'notes.txt')
    writeFileSync(file, 'The first line.\n')
    const say = claude(api, home)
    const id = randomUUID()
    const resume = ['--resume', id]

    await say('Hello.', '--session-id', id)
    await say(
      `CALL Bash {"command":"cat notes.txt","description":"read"}\nCALL Read {"file_path":"${file}"}`,
      ...resume,
    )
    await say(`CALL Edit {"file_path":"${file}","old_string":"first","new_string":"only"}`, ...resume)
    expect(readFileSync(file, 'utf8')).toBe('The only line.\n')
    const task = JSON.stringify({
      description: 'look',
      prompt: 'CALL Bash {"command":"echo from the subagent","description":"say"}',
      subagent_type: 'general-purpose',
      run_in_background: false,
    })
    await say(`CALL Agent ${task}`, ...resume)
    expect(api.requests.some((request) => textOf(request).includes('from the subagent'))).toBe(true)

    const reply = linesOf(home, id).find(({ type }) => type === 'assistant')
    await say('Elsewhere.', ...resume, '--resume-session-at', String(reply?.['uuid']), '--fork-session')
    expect(textOf(api.requests.at(-1))).not.toContain('from the subagent')

    await say('/compact', ...resume)
    await say('After the compaction.', ...resume)
    expect(textOf(api.requests.at(-1))).toMatch(/Summary \d+ of what was said/)
    expect(effortsIn(api.requests.at(-1)).length).toBeGreaterThan(0)
    const fork = await say('In a fork.', ...resume, '--fork-session')
    expect(fork.session_id).not.toBe(id)
    await say('OVERLOADED once.', ...resume)
    await say('USAGE 990000 is nearly all.', ...resume)
    const before = api.requests.length
    await say('Compacted by itself.', ...resume)
    expect(api.requests.slice(before).map(({ status }) => status)).toEqual([200, 200])

    expect(refusedIn(api.requests)).toEqual([])
    expect(api.requests.filter(({ status }) => status === 529)).toHaveLength(1)
    expect(await expectRequestsImported(home, api.requests)).toBeGreaterThan(10)
    capture('claude-code', api.requests, fileOf(home, id))
  })

  it('sends thinking along once after a compaction, which the API refuses, and then leaves it out', async () => {
    const [api, home] = [await scriptedApi(true), clientHome()]
    const say = claude(api, home)
    const id = randomUUID()
    await say('Hello.', '--session-id', id)
    await say('Go on.', '--resume', id)
    expect(refusedIn(api.requests)).toEqual([])
    await say('/compact', '--resume', id)
    await say('After the compaction.', '--resume', id)
    await say('And again.', '--resume', id)
    const refused = refusedIn(api.requests)
    expect(refused).toHaveLength(1)
    expect(JSON.stringify(refused)).toContain('The block is bound to a different conversation')
    expect(api.requests.at(-1)?.status).toBe(200)
    expect(await expectRequestsImported(home, api.requests)).toBeGreaterThan(3)
  })

  it('finds a word that its own compaction hid, through palimpsest mcp', async () => {
    const [api, home] = [await scriptedApi(), clientHome()]
    const palimpsest = {
      command: process.execPath,
      args: [await program(), 'mcp', '--conversation', 'current', '--store', `sqlite:${home.project}/p.db`],
    }
    const config = join(home.project, 'mcp.json')
    writeFileSync(config, JSON.stringify({ mcpServers: { palimpsest } }))
    const say = claude(api, home)
    const id = randomUUID()
    const options = ['--mcp-config', config, '--allowedTools', 'mcp__palimpsest__search', '--resume', id]
    await say('The staging port is 54329, and the word is FAIL529.', '--session-id', id)
    await say('Go on.', '--resume', id)
    await say('/compact', '--resume', id)
    await say('And now?', '--resume', id)
    expect(textOf(api.requests.at(-1))).not.toContain('FAIL529')
    await say('CALL mcp__palimpsest__search {"text":"staging port"}', ...options)
    expect(textOf(api.requests.at(-1))).toMatch(/position \d+, user, hidden by \d+: .*the word is FAIL529/)
    expect(refusedIn(api.requests)).toEqual([])
  })
})
