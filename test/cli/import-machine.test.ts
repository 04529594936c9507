import { copyFile, mkdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { inDirectory, shell } from './palimpsest.ts'

const example = new URL('../../examples/sessions/claude-code.jsonl', import.meta.url)
const rollout = [
  {
    type: 'session_meta',
    payload: { id: 'x', cwd: '/home/dana/site', base_instructions: { text: 'Be brief.' } },
  },
  {
    type: 'response_item',
    payload: {
      type: 'message',
      role: 'user',
      content: [{ type: 'input_text', text: '<environment_context>here' }],
    },
  },
  {
    type: 'response_item',
    payload: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Mend\nthe link.' }] },
  },
]

/** A home with a session of Claude Code, one of its subagents, a newer one of Codex and an older one of Gemini CLI. */
const inHome = (use: (run: (command: string) => ReturnType<typeof shell>) => Promise<void>): Promise<void> =>
  inDirectory(async (directory) => {
    const projects = join(directory, '.claude', 'projects', 'ledger')
    const sessions = join(directory, '.codex', 'sessions', '2026')
    await mkdir(projects, { recursive: true })
    await mkdir(sessions, { recursive: true })
    await copyFile(example, join(projects, 'one.jsonl'))
    await copyFile(example, join(projects, 'agent-1.jsonl'))
    await utimes(join(projects, 'one.jsonl'), 1_700_000_000, 1_700_000_000)
    await writeFile(
      join(sessions, 'rollout.jsonl'),
      rollout.map((line) => `${JSON.stringify(line)}\n`).join(''),
    )
    const chats = join(directory, '.gemini', 'tmp', 'blog', 'chats')
    await mkdir(join(chats, 'parent'), { recursive: true })
    await writeFile(join(chats, '..', '.project_root'), '/home/dana/blog')
    const session = {
      sessionId: 'g',
      projectHash: 'h',
      messages: [{ id: '1', type: 'user', content: 'Draft it.' }],
    }
    for (const file of ['session-1.json', 'parent/2.json'])
      await writeFile(join(chats, file), JSON.stringify(session, undefined, 2))
    await utimes(join(chats, 'session-1.json'), 1_600_000_000, 1_600_000_000)
    await use((command) =>
      shell(
        `HOME='${directory}' CLAUDE_CONFIG_DIR= CODEX_HOME= GEMINI_CLI_HOME= palimpsest ${command}`,
        directory,
      ),
    )
  })

test('import without a file lists the sessions of this machine, newest first', () =>
  inHome(async (run) => {
    const { stdout, code } = await run('import')
    expect(code).toBe(0)
    const rows = stdout
      .trimEnd()
      .split('\n')
      .map((row) => row.split('\t'))
    expect(rows.map(([, format, , , project, prompt]) => [format, project, prompt])).toEqual([
      ['codex', '/home/dana/site', 'Mend the link.'],
      ['claude-code', '/home/dana/ledger', expect.stringContaining('The monthly statement is off by a cent')],
      ['gemini-cli', '/home/dana/blog', 'Draft it.'],
    ])
    expect(rows[1]?.[0]).toBe('2023-11-14T22:13:20.000Z')
    const json = await run('import --format claude-code --json')
    expect(JSON.parse(json.stdout)).toMatchObject({
      sessions: [{ format: 'claude-code', project: '/home/dana/ledger' }],
    })
  }))

test('--last imports the newest of a format', () =>
  inHome(async (run) => {
    expect((await run('import --last')).stdout).toMatch(/^x {2}3 events added/)
    expect((await run('import --last --format claude-code')).stdout).toMatch(/34 events added/)
    expect(await run('import --last --format pi')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('there is no session of pi'),
    })
    expect(await run('import --last x.jsonl')).toMatchObject({ code: 2 })
  }))
