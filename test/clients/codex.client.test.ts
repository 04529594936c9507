import { describe, expect, it } from 'vitest'
import { clientCommand } from './programs.ts'
import { capture } from './support/capture.ts'
import { configureCodex } from './support/codex-session.ts'
import { clientHome, sessionText } from './support/run-client.ts'
import { scriptedResponses } from './support/scripted-responses.ts'

// The real Codex, headless. It runs as root, too; its sandbox is off, as containers often cannot nest one.

const command = clientCommand('codex')

describe.skipIf(command === undefined)('Codex', () => {
  it('has no request refused in a session with tools, a compaction by itself and a fork', async () => {
    const [api, home] = [await scriptedResponses(), clientHome()]
    const say = configureCodex(command ?? '', home, api.url)
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
