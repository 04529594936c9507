import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { clientCommand } from './programs.ts'
import { capture } from './support/capture.ts'
import { type ClientHome, clientHome, runClient, sessionText } from './support/run-client.ts'
import { scriptedResponses } from './support/scripted-responses.ts'

// The real Codex, headless. It runs as root, too; its sandbox is off, as containers often cannot nest one.

const command = clientCommand('codex')

const configuration = (url: string): string => `
model = "gpt-5.2"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
model_auto_compact_token_limit = 200000
[analytics]
enabled = false
[model_providers.scripted]
name = "scripted"
base_url = "${url}"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
request_max_retries = 0
`

const codex = (url: string, home: ClientHome) => {
  mkdirSync(join(home.home, '.codex'))
  writeFileSync(join(home.home, '.codex', 'config.toml'), configuration(url))
  /** Runs one prompt; returns the id of its thread. */
  return async (prompt: string, ...subcommand: readonly string[]): Promise<string> => {
    const args = [
      'exec',
      ...subcommand.slice(0, 1),
      '--skip-git-repo-check',
      '--json',
      ...subcommand.slice(1),
      prompt,
    ]
    const { code, out, err } = await runClient(command ?? '', args, home, { SCRIPTED_KEY: 'dummy' })
    expect(code, `${prompt}: ${out} ${err}`).toBe(0)
    return /"thread_id":"([^"]+)"/.exec(out)?.[1] ?? ''
  }
}

describe.skipIf(command === undefined)('Codex', () => {
  it('has no request refused in a session with tools, a compaction by itself and a fork', async () => {
    const [api, home] = [await scriptedResponses(), clientHome()]
    const say = codex(api.url, home)
    const textOf = (index: number): string => JSON.stringify(api.requests.at(index)?.body?.input)

    const id = await say('Hello.')
    await say('CALL exec_command {"cmd":"echo from the shell"}', 'resume', id)
    expect(textOf(-1)).toContain('from the shell')
    expect(textOf(-1)).toContain('encrypted_content')
    await say('USAGE 500000 is too much.', 'resume', id)
    await say('After the compaction.', 'resume', id)
    expect(textOf(-1)).toMatch(/Summary \d+ of what was said/)
    const fork = await say('In a fork.', 'fork', id)
    expect(fork).not.toBe(id)
    expect(textOf(-1)).toContain('After the compaction.')

    expect(
      api.requests.flatMap(({ path, status, answer }) =>
        path === '/v1/responses' && status !== 200 ? [answer] : [],
      ),
    ).toEqual([])
    capture('codex', api.requests, sessionText(home, '.codex/sessions', `${id}.jsonl`))
  })
})
