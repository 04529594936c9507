import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { type ClientHome, runClient } from './run-client.ts'

/** Runs one prompt, as a new thread or after a subcommand; returns the id of the thread. */
export type SayToCodex = (prompt: string, ...subcommand: readonly string[]) => Promise<string>

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

/** Configures Codex for a Responses API at `url`. */
export const configureCodex = (command: string, home: ClientHome, url: string): SayToCodex => {
  mkdirSync(join(home.home, '.codex'))
  writeFileSync(join(home.home, '.codex', 'config.toml'), configuration(url))
  return async (prompt, ...subcommand) => {
    const args = [
      'exec',
      ...subcommand.slice(0, 1),
      '--skip-git-repo-check',
      '--json',
      ...subcommand.slice(1),
      prompt,
    ]
    const { code, out, err } = await runClient(command, args, home, { SCRIPTED_KEY: 'dummy' })
    expect(code, `${prompt}: ${out} ${err}`).toBe(0)
    return /"thread_id":"([^"]+)"/.exec(out)?.[1] ?? ''
  }
}
