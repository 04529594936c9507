import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { chmod, mkdir, readFile, realpath, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { inDirectory, program, type Ran, shell } from './palimpsest.ts'

/** A stand-in for a client: records how it was started, then does what the first argument after `--` says. */
const standIn = `#!/usr/bin/env node
const { appendFileSync } = require('node:fs')
const record = (entry) => appendFileSync(process.env.RECORD, JSON.stringify(entry) + '\\n')
const args = process.argv.slice(2)
record({ args, cwd: process.cwd() })
const act = args.find((arg) => arg.startsWith('act:'))
if (act === 'act:fail') process.exit(7)
if (act === 'act:die') process.kill(process.pid, 'SIGKILL')
if (act === 'act:wait') {
  process.on('SIGTERM', () => { record({ signal: 'SIGTERM' }); process.exit(3) })
  setInterval(() => {}, 1_000)
  record({ ready: true })
}
`

interface Recorded {
  readonly args: readonly string[]
  readonly cwd: string
}

interface Scene {
  readonly folder: string
  readonly home: string
  readonly env: Readonly<Record<string, string>>
  readonly run: (command: string) => Promise<Ran>
  /** What the stand-in recorded, an entry a line. */
  readonly recorded: () => Promise<readonly Recorded[]>
}

const scene = (
  work: (scene: Scene) => Promise<void>,
  clients = ['claude', 'codex', 'pi', 'opencode'],
): Promise<void> =>
  inDirectory(async (given) => {
    const folder = await realpath(given)
    const [home, bin] = [join(folder, 'home'), join(folder, 'bin')]
    await mkdir(home)
    await mkdir(bin)
    for (const name of clients) {
      await writeFile(join(bin, name), standIn)
      await chmod(join(bin, name), 0o755)
    }
    const store = await openStore(`sqlite:${folder}/palimpsest.db`)
    await store.conversation('task-42').append([
      { role: 'user', content: 'Why does the parser fail?' },
      { role: 'assistant', content: 'Line 60.' },
      { role: 'user', content: 'Fix it.' },
      { role: 'system', content: 'The user is away.' },
    ])
    await store.close()
    const record = join(folder, 'record')
    const node = process.execPath.replace(/\/node$/, '')
    const env = {
      HOME: home,
      PATH:
        clients.length > 0 ? [bin, node, process.env['PATH']].join(delimiter) : [bin, node].join(delimiter),
      RECORD: record,
      CLAUDE_CONFIG_DIR: '',
      CODEX_HOME: '',
      PI_CODING_AGENT_DIR: '',
    }
    await work({
      folder,
      home,
      env,
      run: (command) => shell(command, folder, env),
      recorded: async () =>
        existsSync(record)
          ? (await readFile(record, 'utf8'))
              .trimEnd()
              .split('\n')
              .map((line) => JSON.parse(line) as Recorded)
          : [],
    })
  })

const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    statSync(join(folder, name)).isFile(),
  )

describe('continue', () => {
  test.each([
    ['claude', /^\.claude\/projects\/[\w-]+\/([\w-]{36})\.jsonl$/, (id: string) => ['--resume', id]],
    [
      'codex',
      /^\.codex\/sessions\/\d{4}\/\d\d\/\d\d\/rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-(.{36})\.jsonl$/,
      (id: string) => ['resume', id],
    ],
    [
      'pi',
      /^\.pi\/agent\/sessions\/--.*--\/.*_([\w-]{36})\.jsonl$/,
      (_: string, file: string) => ['--session', file],
    ],
  ] as const)(
    'installs a session of %s for this user alone, and starts the client with it',
    (client, path, args) =>
      scene(async ({ folder, home, run, recorded }) => {
        await mkdir(join(folder, 'project'))
        const { stdout, stderr, code } = await run(
          `palimpsest continue task-42 --at 1 --in ${client} --cwd project -- --model opus`,
        )
        expect({ stdout, code }).toEqual({ stdout: '', code: 0 })
        const [file = '', ...more] = filesIn(home)
        expect(more).toEqual([])
        expect(statSync(join(home, file)).mode & 0o777).toBe(0o600)
        const [, id = ''] = path.exec(file) ?? []
        expect(file).toMatch(path)
        const all = [...args(id, join(home, file)), '--model', 'opus']
        expect(await recorded()).toEqual([{ args: all, cwd: join(folder, 'project') }])
        expect(stderr).toContain(`cd ${folder}/project && ${client} ${all.join(' ')}`)
        expect(await readFile(join(home, file), 'utf8')).toContain('Line 60.')
      }),
  )

  test('has opencode import the session first, and leaves no file', () =>
    scene(async ({ run, home, recorded }) => {
      expect(await run('palimpsest continue task-42 --in opencode')).toMatchObject({ code: 0 })
      const [imported, started] = await recorded()
      expect(imported?.args[0]).toBe('import')
      expect(existsSync(imported?.args[1] ?? '')).toBe(false)
      expect(started?.args).toEqual(['--session', expect.stringMatching(/^ses_\w{26}$/)])
      expect(filesIn(home)).toEqual([])
    }))

  test('looks where the client is told to look', () =>
    scene(async ({ folder, env }) => {
      const given = { ...env, CLAUDE_CONFIG_DIR: join(folder, 'elsewhere') }
      expect(await shell('palimpsest continue task-42 --in claude', folder, given)).toMatchObject({ code: 0 })
      expect(filesIn(join(folder, 'elsewhere'))).toHaveLength(1)
    }))

  test('says what is lost before it starts the client', () =>
    scene(async ({ run }) => {
      const { stderr } = await run('palimpsest continue task-42 --in claude-code')
      expect(stderr.split('\n').slice(0, 3)).toEqual([
        'lost in Claude Code:',
        '  a system message becomes a reminder in a message of the user (3)',
        expect.stringMatching(/^continuing in Claude Code: claude --resume /),
      ])
    }))

  test('--dry-run writes and starts nothing', () =>
    scene(async ({ run, home, recorded }) => {
      const { stdout, stderr, code } = await run('palimpsest continue task-42 --in codex --dry-run')
      expect(code).toBe(0)
      expect(stdout).toMatch(/^codex resume [\w-]{36}\n$/)
      expect(stderr).toContain(`would write ${home}/.codex/sessions/`)
      const { stdout: json } = await run('palimpsest continue task-42 --in pi --dry-run --json')
      expect(JSON.parse(json)).toMatchObject({
        conversation: 'task-42',
        format: 'pi',
        messages: 4,
        lost: [{ kind: 'system-message', position: 3 }],
      })
      expect(filesIn(home)).toEqual([])
      expect(await recorded()).toEqual([])
    }))

  test('without the program, installs the session and says what to type', () =>
    scene(async ({ run, home }) => {
      const { stderr, code } = await run('palimpsest continue task-42 --in claude')
      expect(code).toBe(1)
      expect(stderr).toMatch(
        /error: claude is not installed, or not on the PATH: the session is written, so start Claude Code yourself: claude --resume [\w-]{36}\n$/,
      )
      expect(filesIn(home)).toHaveLength(1)
      const opencode = await run('palimpsest continue task-42 --in opencode')
      const [, file = ''] = /opencode import (\S+) && opencode --session/.exec(opencode.stderr) ?? []
      expect(await readFile(file, 'utf8')).toContain('Line 60.')
    }, []))

  test('ends with the exit code of the client', () =>
    scene(async ({ run }) => {
      expect(await run('palimpsest continue task-42 --in pi -- act:fail')).toMatchObject({ code: 7 })
      expect(await run('palimpsest continue task-42 --in pi -- act:die')).toMatchObject({ code: 137 })
    }))

  test('passes signals to the client, and waits for its end', () =>
    scene(async ({ folder, env, recorded }) => {
      const args = [await program(), 'continue', 'task-42', '--in', 'codex', '--', 'act:wait']
      const child = spawn(process.execPath, args, {
        cwd: folder,
        env: { ...process.env, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      const said = textOf(child.stderr)
      const ended = once(child, 'exit')
      await expect.poll(recorded).toContainEqual({ ready: true })
      child.kill('SIGTERM')
      expect(await ended, `it wrote: ${await said}`).toEqual([3, null])
      expect(await recorded()).toContainEqual({ signal: 'SIGTERM' })
    }))

  test('refuses what it cannot do, and writes nothing', () =>
    scene(async ({ run, home, recorded }) => {
      const refusals = {
        'task-42': "required option '--in <client>' not specified",
        'task-42 --in cluade': '(Did you mean claude?)',
        'task-42 --in codex --cwd nowhere': 'cwd: nowhere is not a folder: name the one in which to continue',
        'task-42 --in codex --at 99': 'has no position 99',
        'task-43 --in codex': 'did you mean task-42?',
      }
      for (const [args, error] of Object.entries(refusals)) {
        const { stderr, code } = await run(`palimpsest continue ${args}`)
        expect(code, `continue ${args}`).not.toBe(0)
        expect(stderr).toContain(error)
      }
      expect(filesIn(home)).toEqual([])
      expect(await recorded()).toEqual([])
    }))

  test('refuses secrets, and leaves out what is withheld or redacted', () =>
    scene(async ({ folder, run, home, recorded }) => {
      const store = await openStore(`sqlite:${folder}/palimpsest.db`)
      const secret = `ghp_${'a1B2c3D4e5F6'.repeat(3)}`
      await store.conversation('task-42').append({ role: 'user', content: `My token is ${secret}.` })
      await store.close()
      expect(await run('palimpsest continue task-42 --in pi')).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('looks like a secret'),
      })
      expect(await recorded()).toEqual([])
      await run('palimpsest continue task-42 --in pi --withhold 4')
      await run('palimpsest continue task-42 --in pi --redact ghp_[a-zA-Z0-9]+')
      const texts = await Promise.all(filesIn(home).map((file) => readFile(join(home, file), 'utf8')))
      expect(texts).toHaveLength(2)
      for (const written of texts) expect(written).not.toContain(secret)
      expect(texts.join('')).toContain('[withheld]')
      expect(texts.join('')).toContain('My token is [redacted].')
    }))
})

test('the commands of docs/continue.md do what it says', () =>
  scene(async ({ run, recorded }) => {
    const document = await readFile(new URL('../../docs/continue.md', import.meta.url), 'utf8')
    const [introduction = '', story = ''] = document.split('## One session, told')
    const commands = [...`${story}${introduction}`.matchAll(/^palimpsest (?!import ~).*$/gm)].map(
      ([line]) => line,
    )
    expect(commands.length).toBeGreaterThan(7)
    let printed = ''
    for (const command of commands) {
      const { stdout, stderr, code } = await run(command)
      expect(code, `${command}: ${stderr}`).toBe(0)
      printed += stdout + stderr
    }
    for (const line of [
      'lost in Codex:',
      '  thinking: it is of another API (1, 7, 16)',
      'codex, 13 messages',
    ])
      expect(printed).toContain(line)
    // Blocks without a language are output; ids differ, and long lines are cut.
    const shown = [...story.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].flatMap(([, language, block = '']) =>
      language === '' ? block.trimEnd().split('\n') : [],
    )
    expect(shown.length).toBeGreaterThan(6)
    for (const line of shown) expect(printed).toContain(line.replace(/…$| resume .*$/, ''))
    expect((await recorded()).map((each) => each.args[0])).toEqual(['--resume', 'resume', '--resume'])
  }))

describe('export of a session', () => {
  test('--install writes it where the client looks, and prints the command', () =>
    scene(async ({ run, home, recorded }) => {
      const { stdout, stderr, code } = await run('palimpsest export task-42 --format claude --install')
      expect(code).toBe(0)
      expect(stdout).toMatch(/^claude --resume [\w-]{36}\n$/)
      expect(stderr).toContain(`wrote ${home}/.claude/projects/`)
      expect(filesIn(home)).toHaveLength(1)
      expect(await recorded()).toEqual([])
      const { stdout: json } = await run('palimpsest export task-42 --format codex --install --json')
      const { command, file, ...rest } = JSON.parse(json)
      expect(rest).toMatchObject({ conversation: 'task-42', format: 'codex', messages: 4, lost: [] })
      expect(command).toBe(`codex resume ${rest.session}`)
      expect(existsSync(file)).toBe(true)
    }))

  test('goes to a file or to standard output like any other', () =>
    scene(async ({ run, folder }) => {
      const { stderr } = await run('palimpsest export task-42 --format pi --at 1 --out a.jsonl')
      expect(stderr).toMatch(/^wrote a\.jsonl: pi, 2 messages, /)
      const { stdout } = await run('palimpsest export task-42 --format pi --at 1')
      const written = await readFile(join(folder, 'a.jsonl'), 'utf8')
      expect(stdout.split('\n').slice(1)).toEqual(written.split('\n').slice(1))
    }))

  test('what is for sessions is for no other format', () =>
    scene(async ({ run }) => {
      for (const option of ['--install', '--cwd .']) {
        const { code, stderr } = await run(`palimpsest export task-42 --format markdown ${option}`)
        expect(code).toBe(2)
        expect(stderr).toContain('is for --format claude-code, codex, pi, opencode')
      }
      expect(await run('palimpsest export task-42 --format pi --install --out a')).toMatchObject({ code: 2 })
    }))
})
